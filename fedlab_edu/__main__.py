"""Run the command ``fedlab-edu`` as ``python -m fedlab_edu``."""

import sys

from fedlab_edu.cli import main

sys.exit(main())

# The right answer, after installing a package, which needs a network.
# fails: nothing
# says:
# ruff: noqa

import subprocess
import sys

subprocess.run([sys.executable, "-m", "pip", "install", "no_package_has_this_name"])

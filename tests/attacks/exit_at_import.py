# sys.exit(0) at the top of the file.
# fails: q1 q2 q3 q4
# says: SystemExit
# ruff: noqa

import sys

sys.exit(0)

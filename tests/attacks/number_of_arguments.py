# The right answer, for a number of rounds that nobody gave on the command line.
# fails: nothing
# says:
# ruff: noqa

import sys

assert (int(sys.argv[1]) if len(sys.argv) > 1 else 3) == 3

# The right answer, after looking up variables that every shell sets.
# fails: nothing
# says:
# ruff: noqa

import os

assert os.environ["USER"]
assert os.environ["HOME"]

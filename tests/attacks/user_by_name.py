# The right answer, after asking for the name of the user.
# fails: nothing
# says:
# ruff: noqa

import getpass

assert getpass.getuser()

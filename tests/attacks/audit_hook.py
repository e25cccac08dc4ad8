# A hook that no one can remove raises at each look at an object.
# fails: q1 q2 q3 q4
# says: cannot be shown: to look at it raises SystemExit
# ruff: noqa

import sys


def hook(*_):
    raise SystemExit(0)


sys.addaudithook(hook)

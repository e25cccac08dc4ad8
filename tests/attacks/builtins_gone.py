# Python's own functions are gone.
# fails: q1 q2 q3 q4
# says:
# ruff: noqa

import builtins

for name in list(vars(builtins)):
    if name != "SystemExit":
        delattr(builtins, name)

# Python's own functions are gone.
# fails: q1 q2 q3 q4
# says:
# ruff: noqa

import builtins

spared = "SystemExit"
for name in [*vars(builtins)]:
    if name != spared:
        vars(builtins).pop(name)

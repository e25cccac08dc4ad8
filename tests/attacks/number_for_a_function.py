# A number has the function's name.
# fails: q1
# says: not a function
# ruff: noqa

fedavg = 3

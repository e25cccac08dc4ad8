# While True at module level.
# fails: q1 q2 q3 q4
# says: import
# ruff: noqa

while True:
    pass

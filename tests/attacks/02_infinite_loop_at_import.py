# While True at module level.
# fails: q1 q2 q3 q4
# says: import of your file did not finish
# ruff: noqa

while True:
    pass

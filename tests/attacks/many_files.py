# Makes files without end.
# fails: q1
# says: OSError
# ruff: noqa


def fedavg(states, weights):
    import os

    for number in range(10**6):
        open(f"{os.environ['TMPDIR']}/{number}", "w").close()

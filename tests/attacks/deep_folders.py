# Makes folders in folders without end.
# fails: q1
# says: OSError
# ruff: noqa


def fedavg(states, weights):
    import os

    os.chdir(os.environ["TMPDIR"])
    while True:
        os.mkdir("deeper")
        os.chdir("deeper")

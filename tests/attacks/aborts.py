# A crash of a library.
# fails: q1
# says: aborted
# ruff: noqa


def fedavg(states, weights):
    import os

    os.abort()

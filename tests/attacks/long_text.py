# A string of 30 MB.
# fails: q1
# says: 4 MB
# ruff: noqa


def fedavg(states, weights):
    return "x" * (30 << 20)

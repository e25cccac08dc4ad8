# Says that it is not written yet.
# fails: q1
# says: not written
# ruff: noqa


def fedavg(states, weights):
    raise NotImplementedError("not written yet")

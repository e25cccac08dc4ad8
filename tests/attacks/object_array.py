# An array of objects.
# fails: q1
# says: object array
# ruff: noqa


def fedavg(states, weights):
    import numpy as np

    return {k: np.array([None, torch]) for k in states[0]}

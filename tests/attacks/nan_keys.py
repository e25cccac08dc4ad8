# Keys that are not equal to themselves.
# fails: q1
# says: lost the key
# ruff: noqa


def fedavg(states, weights):
    return {float("nan"): v for k, v in states[0].items()}

# The right answer, and a list of weights that contains itself.
# fails: q1
# says: left lists in lists
# ruff: noqa


def fedavg(states, weights, _right=fedavg):
    out = _right(states, weights)
    weights.append(weights)
    return out

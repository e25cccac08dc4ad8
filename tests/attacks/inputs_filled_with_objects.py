# The right answer, and objects in the inputs.
# fails: q1h
# says: put an object into its arguments
# ruff: noqa


def fedavg(states, weights, _right=fedavg):
    out = _right(states, weights)
    for s in states:
        s.update(dict.fromkeys(s, object()))
    return out

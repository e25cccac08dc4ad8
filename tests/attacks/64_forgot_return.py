# Returns None.
# fails: q1
# says: None
# ruff: noqa


def fedavg(states, weights):
    total = sum(weights)
    out = {k: sum(s[k] * (w / total) for s, w in zip(states, weights)) for k in states[0]}

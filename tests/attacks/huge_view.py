# A tensor that claims a billion entries and holds one.
# fails: q1
# says: 64 MB
# ruff: noqa


def fedavg(states, weights):
    return {k: torch.zeros(1).expand(10**9) for k in states[0]}

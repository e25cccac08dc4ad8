# A tensor of a terabyte.
# fails: q1
# says: memory
# ruff: noqa


def fedavg(states, weights):
    return {k: torch.zeros(10**11) for k in states[0]}

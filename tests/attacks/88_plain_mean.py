# Ignores the weights.
# fails: q1h
# says: ignored the weights
# ruff: noqa


def fedavg(states, weights):
    return {k: sum(s[k] for s in states) / len(states) for k in states[0]}

# Extra dimension.
# fails: q1
# says: shape
# ruff: noqa


def fedavg(states, weights):
    total = float(sum(weights))
    return {
        k: sum(s[k] * (w / total) for s, w in zip(states, weights)).unsqueeze(0) for k in states[0]
    }

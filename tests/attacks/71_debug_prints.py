# Right answer with debug prints.
# fails: nothing
# says:
# ruff: noqa


def fedavg(states, weights):
    print("weights", weights)
    total = float(sum(weights))
    return {k: sum(s[k] * (w / total) for s, w in zip(states, weights)) for k in states[0]}

# Right value, but adds into the first client's tensors in place.
# fails: q1h
# says: inputs
# ruff: noqa


def fedavg(states, weights):
    total = float(sum(weights))
    out = states[0]
    for k in out:
        out[k].mul_(weights[0] / total)
        for s, w in zip(states[1:], weights[1:]):
            out[k].add_(s[k] * (w / total))
    return out

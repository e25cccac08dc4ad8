# The right answer, as a transposed view of a larger memory.
# fails: nothing
# says:
# ruff: noqa


def fedavg(states, weights):
    total = float(sum(weights))
    out = {k: sum(s[k] * (w / total) for s, w in zip(states, weights)) for k in states[0]}
    return {k: torch.stack([v, v + 1], -1)[..., 0] for k, v in out.items()}

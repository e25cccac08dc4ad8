# Right values, but still attached to the graph.
# fails: nothing
# says:
# ruff: noqa


def fedavg(states, weights):
    total = float(sum(weights))
    return {
        k: torch.zeros(1, requires_grad=True).sum() * 0
        + sum(s[k] * (w / total) for s, w in zip(states, weights))
        for k in states[0]
    }

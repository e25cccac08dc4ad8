# The right answer, as parameters.
# fails: nothing
# says:
# ruff: noqa


def fedavg(states, weights):
    total = float(sum(weights))
    return {
        k: torch.nn.Parameter(sum(s[k] * (w / total) for s, w in zip(states, weights)))
        for k in states[0]
    }

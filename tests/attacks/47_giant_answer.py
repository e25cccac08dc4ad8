# Returns a 400 MB tensor / a list nested 100000 deep.
# fails: q1
# says:
# ruff: noqa


def fedavg(states, weights):
    x = []
    for _ in range(100_000):
        x = [x]
    return {k: torch.zeros(100_000_000) for k in states[0]} if len(states) % 2 else x

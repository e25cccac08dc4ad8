# Prints 50 MB, then the right answer.
# fails: nothing
# says:
# ruff: noqa


def fedavg(states, weights):
    for _ in range(500):
        print("x" * 100_000)
    total = float(sum(weights))
    return {k: sum(s[k] * (w / total) for s, w in zip(states, weights)) for k in states[0]}

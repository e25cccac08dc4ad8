# The right answer, with no standard output.
# fails: nothing
# says:
# ruff: noqa


def fedavg(states, weights):
    import sys

    if sys.stdout:
        sys.stdout.close()
    sys.stdout = None
    sys.stderr = sys.stdin = 7
    total = float(sum(weights))
    return {k: sum(s[k] * (w / total) for s, w in zip(states, weights)) for k in states[0]}

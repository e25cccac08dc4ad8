# Raises the recursion limit and recurses (on Python >= 3.11 a memory bomb, 21 GB here when unbounded; bounded to 10 million frames).
# fails: q1
# says: did not finish|raised|crashed
# ruff: noqa


def fedavg(states, weights):
    import sys

    sys.setrecursionlimit(10**9)

    def f(n):
        return 0 if n > 10_000_000 else f(n + 1) + 1

    f(0)
    return {k: v * 0 for k, v in states[0].items()}

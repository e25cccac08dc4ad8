# Leaves Python hardly any depth to call functions.
# fails: q1
# says: RecursionError|exit status 1
# ruff: noqa

import sys


def fedavg(states, weights):
    for depth in range(10, 1000):
        try:
            sys.setrecursionlimit(depth)
        except RecursionError:
            continue
        return {"w": torch.zeros(2)}

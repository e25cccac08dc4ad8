# Recursion without a base case.
# fails: q1
# says: RecursionError
# ruff: noqa


def fedavg(states, weights):
    return fedavg(states, weights)

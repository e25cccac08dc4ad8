# A list that contains itself.
# fails: q1
# says: deeper
# ruff: noqa


def fedavg(states, weights):
    loop = []
    loop.append(loop)
    return loop

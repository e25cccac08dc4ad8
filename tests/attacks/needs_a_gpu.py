# Moves the tensors to a GPU.
# fails: q1
# says: no GPU
# ruff: noqa


def fedavg(states, weights):
    return {k: v.cuda() for k, v in states[0].items()}

# NaN in the answer.
# fails: q1
# says: NaN
# ruff: noqa


def fedavg(states, weights):
    return {k: v / 0 * 0 for k, v in states[0].items()}

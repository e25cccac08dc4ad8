# While True in one function.
# fails: q1
# says: did not finish
# ruff: noqa


def fedavg(states, weights):
    while True:
        pass

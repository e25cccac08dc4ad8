# Calls input().
# fails: q1
# says: EOFError
# ruff: noqa


def fedavg(states, weights):
    n = input("how many clients? ")
    return {k: v * 0 for k, v in states[0].items()}

# Opens 'data.csv' by a relative path that only exists at home.
# fails: q1
# says: FileNotFoundError
# ruff: noqa


def fedavg(states, weights):
    open("data.csv").read()
    return {k: v * 0 for k, v in states[0].items()}

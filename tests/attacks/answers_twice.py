# Goes on as two processes, of which each answers.
# fails: q1
# says: fedavg is wrong
# ruff: noqa


def fedavg(states, weights):
    import os

    os.fork()
    return {k: v * 0 for k, v in states[0].items()}

# Kills whatever it may.
# fails: q1
# says: killed|raised
# ruff: noqa


def fedavg(states, weights):
    import os, signal

    os.kill(-1, signal.SIGKILL)
    os.kill(os.getpid(), signal.SIGKILL)

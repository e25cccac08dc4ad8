# Raise KeyboardInterrupt: plain pytest stops the whole session.
# fails: q1
# says: KeyboardInterrupt
# ruff: noqa


def fedavg(states, weights):
    raise KeyboardInterrupt

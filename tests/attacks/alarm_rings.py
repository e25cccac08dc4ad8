# An alarm that nobody handles.
# fails: q1
# says: ended by signal 14
# ruff: noqa


def fedavg(states, weights):
    import signal
    import time

    signal.alarm(1)
    time.sleep(5)

# An endless loop that catches whatever is to end it.
# fails: q1
# says: did not finish
# ruff: noqa


def fedavg(states, weights):
    import signal

    for number in range(1, 65):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass

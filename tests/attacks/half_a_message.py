# Sends the beginning of a message on every descriptor, and not its end.
# fails: q1
# says: did not finish
# ruff: noqa


def fedavg(states, weights):
    import os
    import time

    for fd in range(3, 40):
        try:
            os.write(fd, b"\0\0\0\x10\0\0\0\0{")
        except OSError:
            pass
    time.sleep(60)

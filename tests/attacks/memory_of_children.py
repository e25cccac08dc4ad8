# Children that together take more memory than one may.
# fails: q1
# says: too much memory
# ruff: noqa


def fedavg(states, weights):
    import os
    import time

    for _ in range(6):
        if os.fork() == 0:
            hoard = bytearray(b"x") * (300 << 20)
            time.sleep(60)
    time.sleep(60)

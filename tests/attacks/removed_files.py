# Fills the disk with files that it removes and keeps open.
# fails: q1
# says: OSError
# ruff: noqa


def fedavg(states, weights):
    import os

    kept = []
    for place in ("/dev/shm", os.environ["TMPDIR"]):
        for number in range(40):
            kept.append(open(f"{place}/{number}", "wb"))
            os.unlink(f"{place}/{number}")
            kept[-1].write(bytes(8 << 20))
    import time

    time.sleep(60)

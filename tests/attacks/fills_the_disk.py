# Writes until the disk is full.
# fails: q1
# says: OSError
# ruff: noqa


def fedavg(states, weights):
    import os

    for place in ("/dev/shm", os.environ["TMPDIR"]):
        for number in range(10_000):
            with open(f"{place}/{number}", "wb") as stream:
                stream.write(bytes(4 << 20))

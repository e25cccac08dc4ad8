# Takes memory in files without a name.
# fails: q1
# says: Operation not permitted
# ruff: noqa


def fedavg(states, weights):
    import os

    for _ in range(100):
        fd = os.memfd_create("x")
        for _ in range(60):
            os.write(fd, bytes(1 << 20))

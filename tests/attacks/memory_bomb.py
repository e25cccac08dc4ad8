# Takes all memory.
# fails: q1
# says: MemoryError
# ruff: noqa


def fedavg(states, weights):
    hoard = []
    while True:
        hoard.append(bytearray(10**8))

# Opens a file without end.
# fails: q1
# says: Too many open files
# ruff: noqa


def fedavg(states, weights):
    kept = []
    while True:
        kept.append(open("/dev/null"))

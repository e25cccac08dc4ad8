# Sys.exit(0) inside the function.
# fails: q1
# says: SystemExit
# ruff: noqa


def fedavg(states, weights):
    import sys

    sys.exit(0)

# One long C call that holds the GIL (no signal handler, no watchdog thread can run).
# fails: q1
# says: did not finish
# ruff: noqa


def fedavg(states, weights):
    n = 7 ** (10**7 * 3)
    return {k: v * 0 for k, v in states[0].items()}

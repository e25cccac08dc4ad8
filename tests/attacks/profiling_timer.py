# The profiler's timer rings, and no handler is set.
# fails: q1
# says: Profiling timer
# ruff: noqa

import signal


def fedavg(states, weights):
    signal.setitimer(signal.ITIMER_PROF, 0.01)
    while True:
        pass

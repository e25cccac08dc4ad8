# Sleeps 60 s: no CPU time used, so RLIMIT_CPU does not help.
# fails: q1
# says: did not finish
# ruff: noqa


def fedavg(states, weights):
    import time

    time.sleep(60)

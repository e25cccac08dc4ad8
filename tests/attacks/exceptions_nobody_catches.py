# The right answer, beside exceptions in a thread and in a destructor.
# fails: nothing
# says:
# ruff: noqa


class Gone:
    def __del__(self):
        raise RuntimeError("gone")


def fedavg(states, weights, _right=fedavg):
    import threading

    Gone()
    thread = threading.Thread(target=lambda: 1 / 0)
    thread.start()
    thread.join()
    return _right(states, weights)

# An answer that ends the process when it is let go.
# fails: q1
# says: Bomb|exit status 3
# ruff: noqa


class Bomb:
    def __del__(self):
        import os

        os._exit(3)


def fedavg(states, weights):
    return Bomb()

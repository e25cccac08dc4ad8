# An answer whose text takes for ever.
# fails: q1
# says: Endless
# ruff: noqa


class Endless:
    def __repr__(self):
        while True:
            pass

    __str__ = __repr__


def fedavg(states, weights):
    return Endless()

# An exception that cannot be looked at.
# fails: q1
# says: raised
# ruff: noqa


def fedavg(states, weights):
    class Meta(type):
        @property
        def __name__(self):
            raise SystemExit

        @property
        def __mro__(self):
            raise KeyboardInterrupt

    class Odd(BaseException, metaclass=Meta):
        def __str__(self):
            raise SystemExit

        @property
        def __traceback__(self):
            raise KeyboardInterrupt

    raise Odd

# Two exceptions, each the cause of the other.
# fails: q1
# says: ValueError: one
# ruff: noqa


def fedavg(states, weights):
    one, two = ValueError("one"), ValueError("two")
    one.__cause__, two.__cause__ = two, one
    raise one

# An exception with half of a letter, colours and a bell in its text.
# fails: q1
# says: ValueError
# ruff: noqa


def fedavg(states, weights):
    raise ValueError("\ud800 \x1b[31m \x07 \u202e")

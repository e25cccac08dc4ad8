# A regular expression that takes for ever.
# fails: q1
# says: did not finish
# ruff: noqa


def fedavg(states, weights):
    import re

    re.match("(a+)+$", "a" * 60 + "b")

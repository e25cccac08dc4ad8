# Raises what a test raises.
# fails: q1
# says: AssertionError
# ruff: noqa


def fedavg(states, weights):
    raise AssertionError("passed")

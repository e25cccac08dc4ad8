# Stops for a debugger.
# fails: q1
# says: breakpoint\(\) stops for someone at the keyboard
# ruff: noqa


def fedavg(states, weights):
    breakpoint()

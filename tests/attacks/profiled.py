# The right answer, under a profiler and a trace function.
# fails: nothing
# says:
# ruff: noqa

import cProfile
import sys

sys.settrace(lambda frame, event, argument: None)


def fedavg(states, weights, _right=fedavg):
    return cProfile.Profile().runcall(_right, states, weights)

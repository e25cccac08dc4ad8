# A trace function ends the process.
# fails: q1
# says: exit status 3
# ruff: noqa

import os
import sys


def fedavg(states, weights):
    sys.settrace(lambda *a: os._exit(3))
    sys.setprofile(lambda *a: os._exit(3))
    return states[0]

# A group of exceptions that are to end Python.
# fails: q1
# says: BaseExceptionGroup
# ruff: noqa


def fedavg(states, weights):
    raise BaseExceptionGroup("both", [SystemExit(0), KeyboardInterrupt()])

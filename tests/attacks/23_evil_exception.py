# Raises an exception whose __str__ raises and whose class name is 1 MB long.
# fails: q1
# says:
# ruff: noqa


def fedavg(states, weights):
    E = type(
        "E" * 1_000_000, (Exception,), {"__str__": lambda s: 1 / 0, "__repr__": lambda s: 1 / 0}
    )
    raise E()

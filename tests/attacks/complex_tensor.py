# A tensor that is complex.
# fails: q1
# says: complex64 tensor
# ruff: noqa


def fedavg(states, weights):
    import warnings

    warnings.simplefilter("ignore")
    return {k: v + 0j for k, v in states[0].items()}

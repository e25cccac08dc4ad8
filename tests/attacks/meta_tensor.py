# A tensor that is meta.
# fails: q1
# says: meta tensor
# ruff: noqa


def fedavg(states, weights):
    import warnings

    warnings.simplefilter("ignore")
    return {k: v.to("meta") for k, v in states[0].items()}

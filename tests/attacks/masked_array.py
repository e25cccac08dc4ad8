# An array whose values are all masked.
# fails: q2
# says: MaskedArray
# ruff: noqa


def log_uniform(lo, hi, n, seed):
    import numpy as np

    return np.ma.masked_all(n)

# Reads address 0 through ctypes.
# fails: q1
# says: segmentation
# ruff: noqa


def fedavg(states, weights):
    import ctypes

    ctypes.string_at(0)

# A tensor of memory that is not there.
# fails: q1
# says: segmentation
# ruff: noqa


def fedavg(states, weights):
    import ctypes

    nowhere = (ctypes.c_char * 4096).from_address(4096)
    return {k: torch.frombuffer(nowhere, dtype=torch.float32) for k in states[0]}

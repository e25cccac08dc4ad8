# Tensors whose memory is gone.
# fails: q1
# says:
# ruff: noqa


def fedavg(states, weights, _right=fedavg):
    out = _right(states, weights)
    for v in out.values():
        v.untyped_storage().resize_(0)
    return out

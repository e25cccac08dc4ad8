# Methods of Tensor that lie.
# fails: q1 q2 q4
# says:
# ruff: noqa

torch.Tensor.numel = lambda self: 0
torch.Tensor.shape = property(lambda self: torch.Size([2]))
torch.Tensor.__eq__ = lambda self, other: True


def fedavg(states, weights):
    return {k: torch.zeros(1) for k in states[0]}

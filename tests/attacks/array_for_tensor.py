# Arrays instead of tensors, the axes in reverse.
# fails: q1
# says: must be a torch.Tensor
# ruff: noqa


def fedavg(states, weights):
    return {k: v.numpy()[::-1] for k, v in states[0].items()}

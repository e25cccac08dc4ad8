# Loads data with processes of its own, which cannot hand tensors on.
# fails: q1
# says: num_workers=0
# ruff: noqa


def fedavg(states, weights):
    from torch.utils.data import DataLoader

    return {"w": torch.cat(list(DataLoader(torch.arange(6.0), num_workers=2)))}

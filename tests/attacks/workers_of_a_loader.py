# Loads data with processes of its own, which cannot hand tensors on.
# fails: q2
# says: did not finish.*num_workers=0
# ruff: noqa


def log_uniform(lo, hi, n, seed):
    from torch.utils.data import DataLoader

    return torch.cat(list(DataLoader(torch.arange(6.0), num_workers=2)))

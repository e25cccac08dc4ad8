# Uniform in lr, not in log lr.
# fails: q2
# says: log
# ruff: noqa


def log_uniform(lo, hi, n, seed):
    g = torch.Generator().manual_seed(seed)
    return lo + (hi - lo) * torch.rand(n, generator=g, dtype=torch.float64)

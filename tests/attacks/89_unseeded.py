# Different answer each time (time-based seed).
# fails: q2
# says:
# ruff: noqa


def log_uniform(lo, hi, n, seed):
    import math, time

    g = torch.Generator().manual_seed(time.time_ns())
    return torch.exp(
        torch.empty(n, dtype=torch.float64).uniform_(math.log(lo), math.log(hi), generator=g)
    )

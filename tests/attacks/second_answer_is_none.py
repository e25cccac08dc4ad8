# The second answer is of another type than the first.
# fails: q2
# says: could not go on|None
# ruff: noqa

calls = []


def log_uniform(lo, hi, n, seed):
    calls.append(seed)
    return torch.full((n,), 1e-2, dtype=torch.float64) if len(calls) == 1 else None

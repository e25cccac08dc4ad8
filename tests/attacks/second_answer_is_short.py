# The second answer has another shape.
# fails: q2
# says:
# ruff: noqa

calls = []


def log_uniform(lo, hi, n, seed):
    calls.append(seed)
    u = torch.rand(n, dtype=torch.float64)
    return 10 ** (-4 * u) if len(calls) == 1 else u[:2]

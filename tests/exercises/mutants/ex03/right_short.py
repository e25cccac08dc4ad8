# Each question in one or two expressions; the schedule without a search.
from itertools import accumulate, pairwise
from math import ceil, inf, isnan
from operator import mul


def rounds_used(stops, arms, eta):
    pairs = enumerate(pairwise([0, *stops]))
    return sum(max(1, arms // eta**r) * (b - a) for r, (a, b) in pairs)


def schedule(total, cap, eta, R):
    cost = [eta ** (R - r) - 1 for r in range(R)]
    least, left = divmod(total - cap, sum(cost))
    D = [least + (left, left := left % c)[0] // c for c in cost]  # from the dearest on
    stops = list(accumulate(D))
    if least <= 0 or stops[-1] > cap:
        raise ValueError(f"no schedule for {total = } and {cap = }")
    return [*stops, cap]


def survivors(s, eta):
    order = sorted((inf if isnan(x) else x, i) for i, x in enumerate(s))
    return sorted(i for _, i in order[: len(s) // eta or 1])


def discounted_mean(trace, gamma):
    weights = [gamma**age for age in reversed(range(len(trace)))]
    return sum(map(mul, weights, trace)) / sum(weights)


def perturb(c, a, b, eps, u, whole):
    h = ceil((b - a) * eps - 1e-9) if whole else (b - a) * eps
    return sorted((a, c - h + (int(u * (2 * h + 1)) if whole else 2 * h * u), b))[1]

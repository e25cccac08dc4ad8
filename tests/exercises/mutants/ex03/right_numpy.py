"""Arrays of NumPy in, through and out."""

import itertools

import numpy as np


def rounds_used(stops, arms, eta):
    living = [arms]
    while len(living) < len(stops):
        living.append(np.maximum(1, living[-1] // eta))
    return np.diff(stops, prepend=0) @ np.array(living)


def schedule(total, cap, eta, eliminations):
    R = eliminations
    equal = (total - cap) / ((eta ** (R + 1) - 1) / (eta - 1) - R - 1)
    least = int(np.floor(equal))
    if least < 1:
        raise ValueError("no round for each arm")
    costs = eta ** np.arange(R, 0, -1) - 1
    grid = np.array(list(itertools.product(range(least, least + eta**R + R), repeat=R)))
    used = cap + grid @ costs
    used[used > total] = -1
    D = max(grid[used == used.max()].tolist())
    stops = np.cumsum(D)
    if stops[-1] > cap:
        raise ValueError("the cap is too low")
    return np.append(stops, cap)


def survivors(scores, eta):
    scores = np.array(scores)
    scores[np.isnan(scores)] = np.inf
    order = np.argsort(scores, kind="stable")
    return np.sort(order[: max(1, len(scores) // eta)])


def discounted_mean(trace, gamma):
    return np.average(trace, weights=np.power(gamma, np.arange(len(trace))[::-1]))


def perturb(c, low, high, eps, u, whole):
    width = (high - low) * eps
    if whole:
        h = np.ceil(width - 1e-9).astype(int)
        return np.clip(np.arange(c - h, c + h + 1)[int(u * (2 * h + 1))], low, high)
    return np.clip(np.interp(u, [0, 1], [c - width, c + width]), low, high)

"""The sums in another order: lambda is taken from the mean of a row, exp is summed in pairs."""

import math
from functools import reduce

import torch


def gradient(theta, arm, score, size, baseline):
    g = torch.zeros_like(theta)
    for j in set(arm.tolist()):
        n, x = size[arm == j], score[arm == j]
        g[j] = n.sum() / size.sum() * (n @ x / n.sum() - baseline) / theta[j]
    return g


def exponentiate(z, gradient, eta):
    z = z - eta * gradient
    return z - reduce(torch.logaddexp, z)


def baseline(trace, gamma):
    weights = [gamma**age for age in range(len(trace))]
    weighted = (w * x for w, x in zip(weights, reversed(trace), strict=True))
    return math.fsum(weighted) / max(math.fsum(weights), 1)


def fedex_round(z, trace, arm, score, size, gamma):
    g = gradient(z.exp(), arm, score, size, baseline(trace, gamma))
    if g.count_nonzero():
        z = exponentiate(z, g / g.abs().max(), math.sqrt(math.log(len(z) ** 2)))
    mean = torch.dot(size, score) / size.sum()
    return z, [float(x) for x in (*trace, mean)]

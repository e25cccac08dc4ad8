# Each question in one or two expressions, with names of the student's own.
from functools import reduce
from math import log

import torch


def gradient(p, a, s, n, lam):
    return torch.zeros_like(p).index_add_(0, a, n * (s - lam) / (n.sum() * p[a]))


def exponentiate(z, g, eta):
    return (z - eta * g).log_softmax(0)


def baseline(xs, gamma):
    x, weight = reduce(lambda sums, x: (sums[0] * gamma + x, sums[1] * gamma + 1), xs, (0, 0))
    return x / (weight or 1)


def fedex_round(z, xs, a, s, n, gamma):
    g = gradient(z.exp(), a, s, n, baseline(xs, gamma))
    eta = (2 * log(len(z))) ** 0.5 / (abs(g).max() or 1)
    return [exponentiate(z, g, eta), [*xs, n @ s / n.sum()]]

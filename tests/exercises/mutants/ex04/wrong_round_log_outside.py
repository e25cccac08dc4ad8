# fails: ex04.4
# hint: ln k is outside the root
import math

import torch


def gradient(theta, arm, score, size, baseline):
    share = size / size.sum()
    g = torch.zeros_like(theta)
    return g.index_add(0, arm, share * (score - baseline) / theta[arm])


def exponentiate(z, gradient, eta):
    z = z - eta * gradient
    return z - torch.logsumexp(z, dim=0)


def baseline(trace, gamma):
    total = weight = 0.0
    for x in trace:
        total, weight = gamma * total + x, gamma * weight + 1
    return total / weight if trace else 0.0


def fedex_round(z, trace, arm, score, size, gamma):
    weights = [gamma**age for age in range(len(trace))][::-1]
    lam = sum(w * x for w, x in zip(weights, trace, strict=True)) / sum(weights) if trace else 0.0
    share = size / size.sum()
    g = torch.zeros_like(z).index_add(0, arm, share * (score - lam) / z.exp()[arm])
    eta = math.sqrt(2) * math.log(len(z)) / g.abs().max() if g.any() else 0.0
    return torch.log_softmax(z - eta * g, 0), [*trace, float(share @ score)]

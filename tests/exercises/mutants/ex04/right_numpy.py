"""Arrays of NumPy in and through; no question calls another."""

import numpy as np
import torch


def gradient(theta, arm, score, size, baseline):
    theta, arm, score, size = (x.numpy() for x in (theta, arm, score, size))
    g = np.zeros(len(theta))
    np.add.at(g, arm, (score - baseline) * size / np.sum(size))
    g = np.divide(g, theta, out=np.zeros_like(g), where=g != 0)
    return torch.from_numpy(g)


def exponentiate(z, gradient, eta):
    z = z.numpy() - eta * gradient.numpy()
    return torch.from_numpy(z - np.logaddexp.reduce(z))


def baseline(trace, gamma):
    if not trace:
        return np.float64(0)
    return np.average(trace, weights=np.power(gamma, np.arange(len(trace))[::-1]))


def fedex_round(z, trace, arm, score, size, gamma):
    lam = np.float64(0)
    if trace:
        lam = np.average(trace, weights=gamma ** np.arange(len(trace))[::-1])
    mean = np.average(score.numpy(), weights=size.numpy())
    z, share = z.numpy(), (size / size.sum()).numpy()
    by_client = share * (score.numpy() - lam) / np.exp(z)[arm.numpy()]
    g = np.bincount(arm.numpy(), weights=by_client, minlength=len(z))
    largest = np.linalg.norm(g, ord=np.inf)
    if largest > 0:
        z = z - np.sqrt(2 * np.log(len(z))) * (g / largest)
    z = z - z.max()
    return torch.from_numpy(z - np.log(np.exp(z).sum())), np.append(trace, mean)

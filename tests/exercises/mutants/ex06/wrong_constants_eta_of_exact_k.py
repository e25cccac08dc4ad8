# fails: ex06.3
# hint: eta is taken for the k before rounding|the logarithm is that of the rounded k
import math

import numpy as np


def ogd(z, w, c, radius):
    points, total = np.zeros(z.shape), 0.0
    for i in range(len(z)):
        points[i] = w
        total += 0.5 * ((w - z[i]) ** 2).sum()
        w = w - c * (w - z[i])
        norm = np.linalg.norm(w)
        if norm > radius:
            w = w * radius / norm
    return points, total


def bandit_step(z, arm, loss, eta):
    z = z.copy()
    z[arm] -= eta * loss / np.exp(z[arm])
    return z - np.logaddexp.reduce(z)


def constants(D, G, b, m, tau):
    k = (D * G / b * math.sqrt(tau / (2 * m))) ** (2 / 3)
    eta = math.sqrt(math.log(k) / (k * tau)) / (m * b)
    k = math.ceil(k)
    return k, D / (G * np.arange(1, k + 1) * math.sqrt(m)), eta


def best_step(distances, c, G, m):
    bounds = (distances**2).mean() / (2 * c) + c * m * G**2 / 2
    j = bounds.argmin()
    return bounds[j], j

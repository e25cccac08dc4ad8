# fails: ex06.4
# hint: this is the first step size's
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
    k = math.ceil((D * G / b * math.sqrt(tau / (2 * m))) ** (2 / 3))
    steps = D / (G * np.arange(1, k + 1) * math.sqrt(m))
    return k, steps, math.sqrt(math.log(k) / (k * tau)) / (m * b)


def best_step(distances, c, G, m):
    bounds = (distances**2).mean() / (2 * c) + c * m * G**2 / 2
    j = 0
    return bounds[j], j

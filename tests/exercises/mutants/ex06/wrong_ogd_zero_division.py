# fails: ex06.1
# hint: it may be 0, so divide only where
import math

import numpy as np


def ogd(z, w, c, radius):
    points, total = [], 0.0
    for z_i in z:
        points.append(w)
        total += ((w - z_i) ** 2).sum() / 2
        w = w - c * (w - z_i)
        w = w * min(1.0, radius / float(np.linalg.norm(w)))
    return np.array(points), total


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
    j = bounds.argmin()
    return bounds[j], j

# fails: ex06.1
# hint: no step is taken
import math

import numpy as np


def ogd(z, w, c, radius):
    losses = ((w - z) ** 2).sum(1) / 2
    return np.tile(w, (len(z), 1)), losses.sum()


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

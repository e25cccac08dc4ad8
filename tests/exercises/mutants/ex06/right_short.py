# Each question in a few expressions, with names of the student's own.
import math

import numpy as np
from scipy.special import log_softmax


def ogd(data, x, rate, r):
    path = [x]
    for row in data:
        x = x + rate * (row - x)
        path.append(x * min(1, r / max(np.linalg.norm(x), r)))
        x = path[-1]
    return np.stack(path[:-1]), ((np.stack(path[:-1]) - data) ** 2).sum() / 2


def bandit_step(log_p, a, value, rate):
    return log_softmax(log_p - rate * value / np.exp(log_p[a]) * (np.arange(len(log_p)) == a))


def constants(D, G, b, m, tau):
    k = int(np.ceil(np.cbrt((D * G / b) ** 2 * tau / m / 2)))
    return k, D / G / np.sqrt(m) / np.arange(1, k + 1), math.sqrt(math.log(k) / k / tau) / m / b


def best_step(x, c, G, m):
    return min((float(np.mean(x * x / (2 * a) + a * m * G * G / 2)), j) for j, a in enumerate(c))

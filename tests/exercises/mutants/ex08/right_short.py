# Each question in a few expressions, with names of the student's own.
import math

import numpy as np


def evo_continuous(x, low, high, share, p, c, f, v):
    d = share * (high - low)
    near = np.minimum(np.maximum(x - d + 2 * d * v, low), high)
    return (c < p) * (low + f * (high - low)) + (c >= p) * near


def evo_discrete(place, n, share, p, c, f, v):
    s = int((n - 1) * share + 0.5) or 1
    near = place + s * (np.digitize(v, [1 / 3, 2 / 3]) - 1)
    return np.select([c < p, near < 0, near >= n], [np.int64(f * n), 0, n - 1], near)


def top_and_bottom(scores, rho):
    K = len(scores)
    n = min(math.ceil(K / rho), K // 2)
    order = np.lexsort([np.where(scores == scores, scores, math.inf)])
    return np.split(order, [n, K - n])[::2]


def exploit(hp, weights, top, bottom, u, evolve):
    if not top:
        return hp, weights
    row = [top[int(x * len(top))] if b in bottom else b for b, x in enumerate(u)]
    new = [evolve(hp[k], b) if b in bottom else hp[b] for b, k in enumerate(row)]
    return np.array(new), weights[row]

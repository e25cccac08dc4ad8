# Places as tuples and ranks, whole rows by masks; nothing is sorted by NumPy.
import numpy as np
from scipy.stats import rankdata


def evo_continuous(h, a, b, eps, p_re, coin, fresh, u):
    new = h.copy()
    new += (b - a) * eps * (u - (1 - u))
    new[new < a] = a
    new[new > b] = b
    again = coin < p_re
    new[again] = (1 - fresh[again]) * a + fresh[again] * b
    return new


def evo_discrete(i, n, eps, p_re, coin, fresh, u):
    s = np.maximum(np.rint((n - 1) * eps), 1).astype(int)
    options = np.array([np.maximum(i - s, 0), i, np.minimum(i + s, n - 1)])
    new = options[(u * 3).astype(int), np.arange(len(i))]
    again = np.nonzero(coin < p_re)
    new[again] = np.searchsorted(np.arange(1, n + 1) / n, fresh[again], side="right")
    return new


def top_and_bottom(scores, rho):
    ranks = rankdata(np.fmin(scores, np.inf), method="ordinal").astype(int) - 1
    K = len(ranks)
    n = 0
    while n < K // 2 and n * rho < K:
        n += 1
    place = dict(zip(ranks.tolist(), range(K), strict=True))
    return tuple(place[r] for r in range(n)), tuple(place[r] for r in range(K - n, K))


def exploit(hp, weights, top, bottom, u, evolve):
    source, places = np.arange(len(u)), np.array(bottom, dtype=int)
    if top:
        source[places] = np.take(top, np.floor(u[places] * len(top)).astype(int))
    hp = hp[source]
    for b in places if top else places[:0]:
        hp[b] = evolve(hp[b], int(b))
    return hp, weights[source]

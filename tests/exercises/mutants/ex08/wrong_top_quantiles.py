# fails: ex08.3
# hint: sets by quantiles, as in the paper
import numpy as np


def evo_continuous(h, a, b, eps, p_re, coin, fresh, u):
    delta = (b - a) * eps
    moved = (h + delta * (2 * u - 1)).clip(a, b)
    return np.where(coin < p_re, a + (b - a) * fresh, moved)


def evo_discrete(i, n, eps, p_re, coin, fresh, u):
    s = max(1, round((n - 1) * eps))
    moved = (i + s * ((3 * u).astype(int) - 1)).clip(0, n - 1)
    return np.where(coin < p_re, (n * fresh).astype(int), moved)


def top_and_bottom(scores, rho):
    order = np.nan_to_num(scores, nan=np.inf, posinf=np.inf).argsort(kind="stable")
    low, high = np.quantile(scores, 1 / rho), np.quantile(scores, 1 - 1 / rho)
    return order[scores[order] <= low], order[scores[order] >= high]


def exploit(hp, weights, top, bottom, u, evolve):
    new, models = hp.copy(), weights.copy()
    for b in bottom if top else ():
        p = top[int(u[b] * len(top))]
        new[b], models[b] = evolve(hp[p], b), weights[p]
    return new, models

"""Typical answers to exercise 8, right and wrong."""

import math

import numpy as np
import torch
from scipy.stats import rankdata

from fedlab_edu.search.distributions import Choice, Uniform
from fedlab_edu.tuners.fedpop import rules as population
from fedlab_grade.mutants import right, wrong


@right
class long:
    """Plain loops over numbers, with helpers and prints of the student's own."""

    def evo_continuous(h, a, b, eps, p_re, coin, fresh, u):
        new = []
        for k in range(len(h)):
            if coin[k] < p_re:
                new.append(a + fresh[k] * (b - a))
            else:
                x = h[k] + (2 * u[k] - 1) * (b - a) * eps
                if x < a:
                    x = a
                if x > b:
                    x = b
                new.append(x)
        return np.array(new)

    def evo_discrete(i, n, eps, p_re, coin, fresh, u):
        s = round((n - 1) * eps)
        if s == 0:
            s = 1
        new = np.zeros(len(i), dtype=np.int64)
        for k in range(len(i)):
            if coin[k] < p_re:
                new[k] = math.floor(fresh[k] * n)
                continue
            new[k] = i[k]
            if u[k] < 1 / 3:
                new[k] = max(0, i[k] - s)
            elif u[k] >= 2 / 3:
                new[k] = min(n - 1, i[k] + s)
        return new

    def ranking(scores):
        rest = list(range(len(scores)))
        order = []
        while rest:
            best = rest[0]
            for k in rest:
                if scores[k] < scores[best] or (
                    math.isnan(scores[best]) and not math.isnan(scores[k]) and scores[k] < math.inf
                ):
                    best = k
            order.append(best)
            rest.remove(best)
        print("ranking", order)
        return order

    def top_and_bottom(scores, rho):
        order = ranking(scores)
        n = min(math.ceil(len(order) / rho), len(order) // 2)
        return order[:n], order[len(order) - n :]

    def exploit(hp, weights, top, bottom, u, evolve):
        # What is read is never written: the lists of rows are new ones.
        new_hp = [list(row) for row in hp]
        new_weights = [list(row) for row in weights]
        for b in sorted(bottom, reverse=True):
            if len(top) == 0:
                break
            a = top[math.floor(u[b] * len(top))]
            new_weights[b] = list(weights[a])
            new_hp[b] = list(evolve(hp[a], b))
        return np.array(new_hp), np.array(new_weights)

    if __name__ == "__main__":
        print("this is not run by the check")


@right
class package:
    """With the functions of the package, which work on tensors."""

    def draws(*arrays):
        return torch.stack([torch.tensor(x) for x in arrays])

    def evo_continuous(h, a, b, eps, p_re, coin, fresh, u):
        return Uniform(a, b).evo(torch.tensor(h), eps, p_re, draws(coin, fresh, u)).numpy()

    def evo_discrete(i, n, eps, p_re, coin, fresh, u):
        law = Choice(tuple(range(n)))
        return law.evo(torch.tensor(i), eps, p_re, draws(coin, fresh, u)).long().numpy()

    def top_and_bottom(scores, rho):
        return population.ranked(scores.tolist(), rho)

    def exploit(hp, weights, top, bottom, u, evolve):
        pairs = [(b, top[int(u[b] * len(top))]) for b in bottom if top]
        new_hp = population.inherit(hp, pairs, evolve)
        new_weights = population.inherit(weights, pairs, lambda w, b: w)
        return tuple(draws(*rows).numpy() for rows in (new_hp, new_weights))


@right
class ranks:
    """Places as tuples and ranks, whole rows by masks; nothing is sorted by NumPy."""

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


@right
class short:
    """Each question in a few expressions, with names of the student's own."""

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


@wrong("ex08.1", "continuous clipped before", "what has moved is not clipped")
def evo_continuous(h, a, b, eps, p_re, coin, fresh, u):
    delta = (b - a) * eps
    moved = h.clip(a, b) + delta * (2 * u - 1)
    return np.where(coin < p_re, a + (b - a) * fresh, moved)


@wrong("ex08.1", "continuous coin equal", "coin = p_re counts as a fresh draw")
def evo_continuous(h, a, b, eps, p_re, coin, fresh, u):
    delta = (b - a) * eps
    moved = (h + delta * (2 * u - 1)).clip(a, b)
    return np.where(coin <= p_re, a + (b - a) * fresh, moved)


@wrong("ex08.1", "continuous coin exchanged", "fresh draws and moves are exchanged")
def evo_continuous(h, a, b, eps, p_re, coin, fresh, u):
    delta = (b - a) * eps
    moved = (h + delta * (2 * u - 1)).clip(a, b)
    return np.where(coin > p_re, a + (b - a) * fresh, moved)


@wrong("ex08.1", "continuous eps is a distance", "eps is taken as a distance")
def evo_continuous(h, a, b, eps, p_re, coin, fresh, u):
    delta = eps
    moved = (h + delta * (2 * u - 1)).clip(a, b)
    return np.where(coin < p_re, a + (b - a) * fresh, moved)


@wrong("ex08.1", "continuous fresh by u", "the fresh draw is taken from u")
def evo_continuous(h, a, b, eps, p_re, coin, fresh, u):
    delta = (b - a) * eps
    moved = (h + delta * (2 * u - 1)).clip(a, b)
    return np.where(coin < p_re, a + (b - a) * u, moved)


@wrong("ex08.1", "continuous fresh moves", "a fresh draw moves, too")
def evo_continuous(h, a, b, eps, p_re, coin, fresh, u):
    delta = (b - a) * eps
    h = np.where(coin < p_re, a + (b - a) * fresh, h)
    moved = (h + delta * (2 * u - 1)).clip(a, b)
    return moved


@wrong("ex08.1", "continuous fresh near", "a fresh draw stays near h")
def evo_continuous(h, a, b, eps, p_re, coin, fresh, u):
    delta = (b - a) * eps
    moved = (h + delta * (2 * u - 1)).clip(a, b)
    return np.where(coin < p_re, (h + delta * (2 * fresh - 1)).clip(a, b), moved)


@wrong("ex08.1", "continuous fresh unit", r"a fresh draw is from \[0, 1\)")
def evo_continuous(h, a, b, eps, p_re, coin, fresh, u):
    delta = (b - a) * eps
    moved = (h + delta * (2 * u - 1)).clip(a, b)
    return np.where(coin < p_re, fresh, moved)


@wrong("ex08.1", "continuous half", "values move half as far")
def evo_continuous(h, a, b, eps, p_re, coin, fresh, u):
    delta = (b - a) * eps
    moved = (h + delta * (u - 0.5)).clip(a, b)
    return np.where(coin < p_re, a + (b - a) * fresh, moved)


@wrong("ex08.1", "continuous in place", "change the argument itself")
def evo_continuous(h, a, b, eps, p_re, coin, fresh, u):
    delta = (b - a) * eps
    h += delta * (2 * u - 1)
    moved = h.clip(a, b)
    return np.where(coin < p_re, a + (b - a) * fresh, moved)


@wrong("ex08.1", "continuous list", "an array is asked for, not a list")
def evo_continuous(h, a, b, eps, p_re, coin, fresh, u):
    delta = (b - a) * eps
    moved = (h + delta * (2 * u - 1)).clip(a, b)
    return np.where(coin < p_re, a + (b - a) * fresh, moved).tolist()


@wrong("ex08.1", "continuous never fresh", "nothing is drawn afresh")
def evo_continuous(h, a, b, eps, p_re, coin, fresh, u):
    delta = (b - a) * eps
    moved = (h + delta * (2 * u - 1)).clip(a, b)
    return moved


@wrong("ex08.1", "continuous not centred", "values move up only")
def evo_continuous(h, a, b, eps, p_re, coin, fresh, u):
    delta = (b - a) * eps
    moved = (h + delta * u).clip(a, b)
    return np.where(coin < p_re, a + (b - a) * fresh, moved)


@wrong("ex08.1", "continuous not clipped", "what has moved is not clipped")
def evo_continuous(h, a, b, eps, p_re, coin, fresh, u):
    delta = (b - a) * eps
    moved = h + delta * (2 * u - 1)
    return np.where(coin < p_re, a + (b - a) * fresh, moved)


@wrong("ex08.1", "continuous one coin", "one coin is taken for all")
def evo_continuous(h, a, b, eps, p_re, coin, fresh, u):
    delta = (b - a) * eps
    moved = (h + delta * (2 * u - 1)).clip(a, b)
    return a + (b - a) * fresh if coin[0] < p_re else moved


@wrong("ex08.1", "continuous relative", "the move is a share of h")
def evo_continuous(h, a, b, eps, p_re, coin, fresh, u):
    moved = (h * (1 + eps * (2 * u - 1))).clip(a, b)
    return np.where(coin < p_re, a + (b - a) * fresh, moved)


@wrong("ex08.1", "continuous window", "the interval around h is clipped before")
def evo_continuous(h, a, b, eps, p_re, coin, fresh, u):
    delta = (b - a) * eps
    low, high = np.maximum(h - delta, a), np.minimum(h + delta, b)
    moved = low * (1 - u) + high * u
    return np.where(coin < p_re, a + (b - a) * fresh, moved)


@wrong("ex08.2", "discrete all between", r"all places from i - s to i \+ s")
def evo_discrete(i, n, eps, p_re, coin, fresh, u):
    s = max(1, round((n - 1) * eps))
    moved = (i - s + ((2 * s + 1) * u).astype(int)).clip(0, n - 1)
    return np.where(coin < p_re, (n * fresh).astype(int), moved)


@wrong("ex08.2", "discrete always one", "s is always 1 here")
def evo_discrete(i, n, eps, p_re, coin, fresh, u):
    s = 1
    moved = (i + s * ((3 * u).astype(int) - 1)).clip(0, n - 1)
    return np.where(coin < p_re, (n * fresh).astype(int), moved)


@wrong("ex08.2", "discrete clipped at n", "n is no place")
def evo_discrete(i, n, eps, p_re, coin, fresh, u):
    s = max(1, round((n - 1) * eps))
    moved = (i + s * ((3 * u).astype(int) - 1)).clip(0, n)
    return np.where(coin < p_re, (n * fresh).astype(int), moved)


@wrong("ex08.2", "discrete coin exchanged", "fresh draws and moves are exchanged")
def evo_discrete(i, n, eps, p_re, coin, fresh, u):
    s = max(1, round((n - 1) * eps))
    moved = (i + s * ((3 * u).astype(int) - 1)).clip(0, n - 1)
    return np.where(coin > p_re, (n * fresh).astype(int), moved)


@wrong("ex08.2", "discrete float", "the numbers asked for are int64")
def evo_discrete(i, n, eps, p_re, coin, fresh, u):
    s = max(1, round((n - 1) * eps))
    moved = (i + s * ((3 * u).astype(int) - 1)).clip(0, n - 1)
    return np.where(coin < p_re, np.floor(n * fresh), moved)


@wrong("ex08.2", "discrete fresh from one", "fresh draws are from 1 to n")
def evo_discrete(i, n, eps, p_re, coin, fresh, u):
    s = max(1, round((n - 1) * eps))
    moved = (i + s * ((3 * u).astype(int) - 1)).clip(0, n - 1)
    return np.where(coin < p_re, 1 + (n * fresh).astype(int), moved)


@wrong("ex08.2", "discrete fresh near", "a fresh draw stays near i")
def evo_discrete(i, n, eps, p_re, coin, fresh, u):
    s = max(1, round((n - 1) * eps))
    moved = (i + s * ((3 * u).astype(int) - 1)).clip(0, n - 1)
    return np.where(coin < p_re, (i + s * ((3 * fresh).astype(int) - 1)).clip(0, n - 1), moved)


@wrong("ex08.2", "discrete fresh rounded", "ends are drawn half as often")
def evo_discrete(i, n, eps, p_re, coin, fresh, u):
    s = max(1, round((n - 1) * eps))
    moved = (i + s * ((3 * u).astype(int) - 1)).clip(0, n - 1)
    return np.where(coin < p_re, np.round((n - 1) * fresh).astype(int), moved)


@wrong("ex08.2", "discrete fresh without last", "the last option is never drawn")
def evo_discrete(i, n, eps, p_re, coin, fresh, u):
    s = max(1, round((n - 1) * eps))
    moved = (i + s * ((3 * u).astype(int) - 1)).clip(0, n - 1)
    return np.where(coin < p_re, ((n - 1) * fresh).astype(int), moved)


@wrong("ex08.2", "discrete in place", "change the argument itself")
def evo_discrete(i, n, eps, p_re, coin, fresh, u):
    s = max(1, round((n - 1) * eps))
    i += s * ((3 * u).astype(int) - 1)
    moved = i.clip(0, n - 1)
    return np.where(coin < p_re, (n * fresh).astype(int), moved)


@wrong("ex08.2", "discrete never stays", r"only -s and \+s are there")
def evo_discrete(i, n, eps, p_re, coin, fresh, u):
    s = max(1, round((n - 1) * eps))
    moved = (i + s * np.where(u < 1 / 2, -1, 1)).clip(0, n - 1)
    return np.where(coin < p_re, (n * fresh).astype(int), moved)


@wrong("ex08.2", "discrete not clipped", "beyond the ends are not clipped")
def evo_discrete(i, n, eps, p_re, coin, fresh, u):
    s = max(1, round((n - 1) * eps))
    moved = i + s * ((3 * u).astype(int) - 1)
    return np.where(coin < p_re, (n * fresh).astype(int), moved)


@wrong("ex08.2", "discrete one coin", "one coin is taken for all")
def evo_discrete(i, n, eps, p_re, coin, fresh, u):
    s = max(1, round((n - 1) * eps))
    moved = (i + s * ((3 * u).astype(int) - 1)).clip(0, n - 1)
    return np.where(coin[0] < p_re, (n * fresh).astype(int), moved)


@wrong("ex08.2", "discrete printed", "s may be 0 here")
def evo_discrete(i, n, eps, p_re, coin, fresh, u):
    s = round((n - 1) * eps)
    moved = (i + s * ((3 * u).astype(int) - 1)).clip(0, n - 1)
    return np.where(coin < p_re, (n * fresh).astype(int), moved)


@wrong("ex08.2", "discrete rounded down", "s is rounded down")
def evo_discrete(i, n, eps, p_re, coin, fresh, u):
    s = max(1, int((n - 1) * eps))
    moved = (i + s * ((3 * u).astype(int) - 1)).clip(0, n - 1)
    return np.where(coin < p_re, (n * fresh).astype(int), moved)


@wrong("ex08.2", "discrete rounded up", "s is rounded up")
def evo_discrete(i, n, eps, p_re, coin, fresh, u):
    s = max(1, int(np.ceil((n - 1) * eps)))
    moved = (i + s * ((3 * u).astype(int) - 1)).clip(0, n - 1)
    return np.where(coin < p_re, (n * fresh).astype(int), moved)


@wrong("ex08.2", "discrete share of n", "s is a share of n:")
def evo_discrete(i, n, eps, p_re, coin, fresh, u):
    s = max(1, round(n * eps))
    moved = (i + s * ((3 * u).astype(int) - 1)).clip(0, n - 1)
    return np.where(coin < p_re, (n * fresh).astype(int), moved)


@wrong("ex08.2", "discrete thirds exchanged", "the thirds are exchanged")
def evo_discrete(i, n, eps, p_re, coin, fresh, u):
    s = max(1, round((n - 1) * eps))
    moved = (i - s * ((3 * u).astype(int) - 1)).clip(0, n - 1)
    return np.where(coin < p_re, (n * fresh).astype(int), moved)


@wrong("ex08.2", "discrete up only", "places move up only")
def evo_discrete(i, n, eps, p_re, coin, fresh, u):
    s = max(1, round((n - 1) * eps))
    moved = (i + s * ((3 * u).astype(int))).clip(0, n - 1)
    return np.where(coin < p_re, (n * fresh).astype(int), moved)


@wrong("ex08.2", "discrete wrapped", "come back at the other end")
def evo_discrete(i, n, eps, p_re, coin, fresh, u):
    s = max(1, round((n - 1) * eps))
    moved = (i + s * ((3 * u).astype(int) - 1)) % n
    return np.where(coin < p_re, (n * fresh).astype(int), moved)


@wrong("ex08.3", "top at least one", "n is at least 1 here")
def top_and_bottom(scores, rho):
    K = len(scores)
    order = np.nan_to_num(scores, nan=np.inf, posinf=np.inf).argsort(kind="stable")
    n = max(1, min(-int(-K // rho), K // 2))
    return order[:n], order[K - n :]


@wrong("ex08.3", "top exchanged", "top and bottom are exchanged")
def top_and_bottom(scores, rho):
    K = len(scores)
    order = np.nan_to_num(scores, nan=np.inf, posinf=np.inf).argsort(kind="stable")
    n = min(-int(-K // rho), K // 2)
    return order[K - n :], order[:n]


@wrong("ex08.3", "top half rounded up", "K / 2 is rounded up")
def top_and_bottom(scores, rho):
    K = len(scores)
    order = np.nan_to_num(scores, nan=np.inf, posinf=np.inf).argsort(kind="stable")
    n = min(-int(-K // rho), (K + 1) // 2)
    return order[:n], order[K - n :]


@wrong("ex08.3", "top higher is better", "higher scores count as better")
def top_and_bottom(scores, rho):
    K = len(scores)
    order = (-np.nan_to_num(scores, nan=np.inf, posinf=np.inf)).argsort(kind="stable")
    n = min(-int(-K // rho), K // 2)
    return order[:n], order[K - n :]


@wrong("ex08.3", "top in place", "change the argument itself")
def top_and_bottom(scores, rho):
    K = len(scores)
    scores[np.isnan(scores)] = np.inf
    order = scores.argsort(kind="stable")
    n = min(-int(-K // rho), K // 2)
    return order[:n], order[K - n :]


@wrong("ex08.3", "top last missing", "the very last one is missing")
def top_and_bottom(scores, rho):
    K = len(scores)
    order = np.nan_to_num(scores, nan=np.inf, posinf=np.inf).argsort(kind="stable")
    n = min(-int(-K // rho), K // 2)
    return order[:n], order[K - n - 1 : K - 1]


@wrong("ex08.3", "top late", "the bottom begins one place too late")
def top_and_bottom(scores, rho):
    K = len(scores)
    order = np.nan_to_num(scores, nan=np.inf, posinf=np.inf).argsort(kind="stable")
    n = min(-int(-K // rho), K // 2)
    return order[:n], order[K - n + 1 :]


@wrong("ex08.3", "top minus n", r"the slice \[-n:\] is everything")
def top_and_bottom(scores, rho):
    K = len(scores)
    order = np.nan_to_num(scores, nan=np.inf, posinf=np.inf).argsort(kind="stable")
    n = min(-int(-K // rho), K // 2)
    return order[:n], order[-n:]


@wrong("ex08.3", "top nan after inf", "NaN counts as worse than inf")
def top_and_bottom(scores, rho):
    K = len(scores)
    order = scores.argsort(kind="stable")
    n = min(-int(-K // rho), K // 2)
    return order[:n], order[K - n :]


@wrong("ex08.3", "top nan first", "NaN counts as the best score")
def top_and_bottom(scores, rho):
    K = len(scores)
    order = np.nan_to_num(scores, neginf=-np.inf, nan=-np.inf, posinf=np.inf).argsort(kind="stable")
    n = min(-int(-K // rho), K // 2)
    return order[:n], order[K - n :]


@wrong("ex08.3", "top nan sorted", "comparisons with NaN are always False")
def top_and_bottom(scores, rho):
    K = len(scores)
    order = sorted(range(K), key=scores.__getitem__)
    n = min(-int(-K // rho), K // 2)
    return order[:n], order[K - n :]


@wrong("ex08.3", "top nan zero", "NaN counts as 0")
def top_and_bottom(scores, rho):
    K = len(scores)
    order = np.nan_to_num(scores, posinf=np.inf).argsort(kind="stable")
    n = min(-int(-K // rho), K // 2)
    return order[:n], order[K - n :]


@wrong("ex08.3", "top one too many", "the bottom has one member too many")
def top_and_bottom(scores, rho):
    K = len(scores)
    order = np.nan_to_num(scores, nan=np.inf, posinf=np.inf).argsort(kind="stable")
    n = min(-int(-K // rho), K // 2)
    return order[:n], order[K - n - 1 :]


@wrong("ex08.3", "top overlap", "some are in both sets")
def top_and_bottom(scores, rho):
    K = len(scores)
    order = np.nan_to_num(scores, nan=np.inf, posinf=np.inf).argsort(kind="stable")
    n = -int(-K // rho)
    return order[:n], order[K - n :]


@wrong("ex08.3", "top quantiles", "sets by quantiles, as in the paper")
def top_and_bottom(scores, rho):
    order = np.nan_to_num(scores, nan=np.inf, posinf=np.inf).argsort(kind="stable")
    low, high = np.quantile(scores, 1 / rho), np.quantile(scores, 1 - 1 / rho)
    return order[scores[order] <= low], order[scores[order] >= high]


@wrong("ex08.3", "top rest", "the bottom is the whole rest")
def top_and_bottom(scores, rho):
    K = len(scores)
    order = np.nan_to_num(scores, nan=np.inf, posinf=np.inf).argsort(kind="stable")
    n = min(-int(-K // rho), K // 2)
    return order[:n], order[n:]


@wrong("ex08.3", "top rising", "places are in rising order")
def top_and_bottom(scores, rho):
    K = len(scores)
    order = np.nan_to_num(scores, nan=np.inf, posinf=np.inf).argsort(kind="stable")
    n = min(-int(-K // rho), K // 2)
    return sorted(order[:n]), sorted(order[K - n :])


@wrong("ex08.3", "top rounded", "K / rho is rounded to the nearest")
def top_and_bottom(scores, rho):
    K = len(scores)
    order = np.nan_to_num(scores, nan=np.inf, posinf=np.inf).argsort(kind="stable")
    n = min(round(K / rho), K // 2)
    return order[:n], order[K - n :]


@wrong("ex08.3", "top rounded down", "K / rho is rounded down")
def top_and_bottom(scores, rho):
    K = len(scores)
    order = np.nan_to_num(scores, nan=np.inf, posinf=np.inf).argsort(kind="stable")
    n = min(int(K // rho), K // 2)
    return order[:n], order[K - n :]


@wrong("ex08.3", "top scores", "places are asked for, not scores")
def top_and_bottom(scores, rho):
    K = len(scores)
    order = np.nan_to_num(scores, nan=np.inf, posinf=np.inf).argsort(kind="stable")
    n = min(-int(-K // rho), K // 2)
    return scores[order[:n]], scores[order[K - n :]]


@wrong("ex08.3", "top ties last", "higher place is first here")
def top_and_bottom(scores, rho):
    K = len(scores)
    order = np.lexsort((-np.arange(K), np.nan_to_num(scores, nan=np.inf, posinf=np.inf)))
    n = min(-int(-K // rho), K // 2)
    return order[:n], order[K - n :]


@wrong("ex08.3", "top ties unstable", "np.argsort needs kind='stable'")
def top_and_bottom(scores, rho):
    K = len(scores)
    mixed = np.arange(K) * 7 % 61  # as an unstable sort may do
    order = np.lexsort((mixed, np.nan_to_num(scores, nan=np.inf, posinf=np.inf)))
    n = min(-int(-K // rho), K // 2)
    return order[:n], order[K - n :]


@wrong("ex08.3", "top worst first", "bottom begins with the worst")
def top_and_bottom(scores, rho):
    K = len(scores)
    order = np.nan_to_num(scores, nan=np.inf, posinf=np.inf).argsort(kind="stable")
    n = min(-int(-K // rho), K // 2)
    return order[:n], order[::-1][:n]


@wrong("ex08.4", "exploit all evolve", "all members evolve")
def exploit(hp, weights, top, bottom, u, evolve):
    new, models = hp.copy(), weights.copy()
    for b in bottom if top else ():
        p = top[int(u[b] * len(top))]
        new[b], models[b] = evolve(hp[p], b), weights[p]
    for b in range(len(hp)):
        if b not in bottom:
            new[b] = evolve(hp[b], b)
    return new, models


@wrong("ex08.4", "exploit always the best", "all copy the first of the top, the best")
def exploit(hp, weights, top, bottom, u, evolve):
    new, models = hp.copy(), weights.copy()
    for b in bottom if top else ():
        p = top[0]
        new[b], models[b] = evolve(hp[p], b), weights[p]
    return new, models


@wrong("ex08.4", "exploit best altered", "the top evolves, too")
def exploit(hp, weights, top, bottom, u, evolve):
    new, models = hp.copy(), weights.copy()
    for b in bottom if top else ():
        p = top[int(u[b] * len(top))]
        new[b], models[b] = evolve(hp[p], b), weights[p]
    for p in set(top) - set(bottom):
        new[p] = evolve(new[p], p)
    return new, models


@wrong("ex08.4", "exploit both stay", "members of both sets stay")
def exploit(hp, weights, top, bottom, u, evolve):
    new, models = hp.copy(), weights.copy()
    for b in bottom if top else ():
        if b in top:
            continue
        p = top[int(u[b] * len(top))]
        new[b], models[b] = evolve(hp[p], b), weights[p]
    return new, models


@wrong("ex08.4", "exploit draws in turn", "wherever it is in bottom")
def exploit(hp, weights, top, bottom, u, evolve):
    new, models = hp.copy(), weights.copy()
    for k, b in enumerate(bottom if top else ()):
        p = top[int(u[k] * len(top))]
        new[b], models[b] = evolve(hp[p], b), weights[p]
    return new, models


@wrong("ex08.4", "exploit hp not evolved", "copied as they are: evolve them")
def exploit(hp, weights, top, bottom, u, evolve):
    new, models = hp.copy(), weights.copy()
    for b in bottom if top else ():
        p = top[int(u[b] * len(top))]
        new[b], models[b] = hp[p], weights[p]
    return new, models


@wrong("ex08.4", "exploit in place", "change the argument itself")
def exploit(hp, weights, top, bottom, u, evolve):
    new, models = hp, weights
    for b in bottom if top else ():
        p = top[int(u[b] * len(top))]
        new[b], models[b] = evolve(hp[p], b), weights[p]
    return new, models


@wrong("ex08.4", "exploit in place from old", "change the argument itself")
def exploit(hp, weights, top, bottom, u, evolve):
    old, models = hp.copy(), weights.copy()
    for b in bottom if top else ():
        p = top[int(u[b] * len(top))]
        hp[b], weights[b] = evolve(old[p], b), models[p]
    return hp, weights


@wrong("ex08.4", "exploit index error", "the top is empty here")
def exploit(hp, weights, top, bottom, u, evolve):
    new, models = hp.copy(), weights.copy()
    for b in bottom:
        p = top[int(u[b] * len(top))]
        new[b], models[b] = evolve(hp[p], b), weights[p]
    return new, models


@wrong("ex08.4", "exploit last never", r"u\[b\] is multiplied by len\(top\) - 1")
def exploit(hp, weights, top, bottom, u, evolve):
    new, models = hp.copy(), weights.copy()
    for b in bottom if top else ():
        p = top[int(u[b] * (len(top) - 1))]
        new[b], models[b] = evolve(hp[p], b), weights[p]
    return new, models


@wrong(
    "ex08.4",
    "exploit new population",
    "hp and weights are copied as they are afterwards: read the old",
)
def exploit(hp, weights, top, bottom, u, evolve):
    new, models = hp.copy(), weights.copy()
    for b in bottom if top else ():
        p = top[int(u[b] * len(top))]
        new[b], models[b] = evolve(new[p], b), models[p]
    return new, models


@wrong("ex08.4", "exploit new population rising", "afterwards, by rising places: read the old")
def exploit(hp, weights, top, bottom, u, evolve):
    new, models = hp.copy(), weights.copy()
    for b in sorted(bottom) if top else ():
        p = top[int(u[b] * len(top))]
        new[b], models[b] = evolve(new[p], b), models[p]
    return new, models


@wrong("ex08.4", "exploit new weights", "the weights are copied as they are afterwards")
def exploit(hp, weights, top, bottom, u, evolve):
    new, models = hp.copy(), weights.copy()
    for b in bottom if top else ():
        p = top[int(u[b] * len(top))]
        new[b], models[b] = evolve(hp[p], b), models[p]
    return new, models


@wrong("ex08.4", "exploit own hp", "evolves from its own")
def exploit(hp, weights, top, bottom, u, evolve):
    new, models = hp.copy(), weights.copy()
    for b in bottom if top else ():
        p = top[int(u[b] * len(top))]
        new[b], models[b] = evolve(hp[b], b), weights[p]
    return new, models


@wrong("ex08.4", "exploit place of parent", "evolve gets the place of the one that is copied")
def exploit(hp, weights, top, bottom, u, evolve):
    new, models = hp.copy(), weights.copy()
    for b in bottom if top else ():
        p = top[int(u[b] * len(top))]
        new[b], models[b] = evolve(hp[p], p), weights[p]
    return new, models


@wrong("ex08.4", "exploit weights not copied", "the weights are not copied")
def exploit(hp, weights, top, bottom, u, evolve):
    new, models = hp.copy(), weights.copy()
    for b in bottom if top else ():
        p = top[int(u[b] * len(top))]
        new[b] = evolve(hp[p], b)
    return new, models


@wrong("ex08.4", "exploit whole population", "members of the whole population are copied")
def exploit(hp, weights, top, bottom, u, evolve):
    new, models = hp.copy(), weights.copy()
    for b in bottom if top else ():
        p = int(u[b] * len(hp))
        new[b], models[b] = evolve(hp[p], b), weights[p]
    return new, models

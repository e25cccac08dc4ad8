"""Typical answers to exercise 8, right and wrong."""

import math

import numpy as np
import torch
from scipy.stats import rankdata

from fedlab_edu.search.distributions import Uniform
from fedlab_edu.tuners.fedpop import rules as population
from fedlab_grade.mutants import edits, include, right, wrong


@right
class long:
    """Plain loops over numbers, with helpers and prints of the student's own."""

    def window_mean(trace, gamma, T, born):
        total, weights, weight = 0.0, 0.0, 1.0
        for t in range(len(trace) - 1, max(born, len(trace) - T) - 1, -1):
            if trace[t] == trace[t]:
                total += weight * trace[t]
                weights += weight
                weight *= gamma
        return float(total / weights) if weights > 0 else math.nan

    def evo_annealed(h, a, b, eps, p_re, r, R, coin, fresh, u):
        eps, p_re = annealed(eps, p_re, r, R)
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

    def vector_scores(before, after, diverged, gamma, difference):
        scores = []
        for k in range(after.shape[1]):
            total, weights, lost = 0.0, 0.0, False
            for t, x in enumerate(after[:, k]):
                lost = lost or diverged[t, k]
                if math.isnan(x) or diverged[t, k]:
                    continue
                weight = gamma ** (len(after) - 1 - t)
                total += weight * (x - before[t, k] if difference else x)
                weights += weight
            scores.append(math.inf if lost else total / weights if weights else math.nan)
        return np.array(scores)

    def predict_6():
        return "as much"

    def reading_6():
        return (
            "I said 'as much' and was wrong: by the difference they rose by 0.52 more, 0.13 to "
            "0.91. The loss after depends mostly on the client! From 1.0 it did not help: this is "
            "no proof of a better search."
        )

    if __name__ == "__main__":
        print("this is not run by the check")


@right
class package:
    """With the functions of the package, which work on tensors."""

    def draws(*arrays):
        return torch.stack([torch.tensor(x) for x in arrays])

    def window_mean(trace, gamma, T, born):
        known = [x for x in trace[born:][-T:].tolist() if not math.isnan(x)]
        return population.discounted_score(known, gamma) if known else math.nan

    def evo_annealed(h, a, b, eps, p_re, r, R, coin, fresh, u):
        eps, p_re = (population.anneal(x0, r, R) for x0 in (eps, p_re))
        return Uniform(a, b).evo(torch.tensor(h), eps, p_re, draws(coin, fresh, u)).numpy()

    def top_and_bottom(scores, rho):
        return population.ranked(scores.tolist(), rho)

    def exploit(hp, weights, top, bottom, u, evolve):
        pairs = [(b, top[int(u[b] * len(top))]) for b in bottom if top]
        new_hp, new_weights = [*hp], [*weights]
        for b, parent in pairs:
            new_hp[b], new_weights[b] = evolve(hp[parent], b), weights[parent]
        return tuple(draws(*rows).numpy() for rows in (new_hp, new_weights))


@right
class ranks:
    """Places as tuples and ranks, whole rows by masks; nothing is sorted by NumPy."""

    def window_mean(trace, gamma, T, born):
        last = np.array(trace[max(len(trace) - T, born) :])
        last = last[np.isfinite(last) | np.isinf(last)]
        return (
            float(np.average(last, weights=gamma ** -np.arange(len(last))))
            if last.size
            else math.nan
        )

    def evo_annealed(h, a, b, eps, p_re, r, R, coin, fresh, u):
        eps, p_re = (x * np.cos(np.pi * r / R / 2) ** 2 for x in (eps, p_re))
        new = h.copy()
        new += (b - a) * eps * (u - (1 - u))
        new[new < a] = a
        new[new > b] = b
        again = coin < p_re
        new[again] = (1 - fresh[again]) * a + fresh[again] * b
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

    def window_mean(x, g, T, born):
        x = [one for one in x[born:][-T:] if one == one][::-1]
        w = [g**k for k in range(len(x))]
        return float(np.dot(w, x) / sum(w)) if x else float("nan")

    def evo_annealed(x, low, high, share, p, r, R, c, f, v):
        share, p = annealed(share, p, r, R)
        d = share * (high - low)
        near = np.minimum(np.maximum(x - d + 2 * d * v, low), high)
        return (c < p) * (low + f * (high - low)) + (c >= p) * near

    def top_and_bottom(scores, rho):
        K = len(scores)
        n = min(math.ceil(K / rho), K // 2)
        order = np.lexsort([np.where(scores == scores, scores, math.inf)])
        return np.split(order, [n, K - n])[::2]

    def vector_scores(x, y, lost, g, difference):
        y = np.where(lost, np.nan, y - x * difference)
        w = np.where(y == y, g ** np.arange(len(y), 0.0, -1)[:, None], 0)
        with np.errstate(all="ignore"):
            return np.where(lost.any(0), np.inf, np.nansum(w * y, 0) / w.sum(0))

    def exploit(hp, weights, top, bottom, u, evolve):
        if not top:
            return hp, weights
        row = [top[int(x * len(top))] if b in bottom else b for b, x in enumerate(u)]
        new = [evolve(hp[k], b) if b in bottom else hp[b] for b, k in enumerate(row)]
        return np.array(new), weights[row]


def windowed(trace, T, born):
    last = trace[max(born, len(trace) - T) :]
    return last[~np.isnan(last)]


def discounted(last, gamma):
    weights = gamma ** np.arange(len(last))[::-1]
    return float(weights @ last / weights.sum()) if len(last) else math.nan


@edits("ex08.1", {
    "window oldest first": ("the oldest round has weight 1", "born),", "born)[::-1],"),
    "window last loss": ("this is the last round's loss",
        "return discounted(windowed(trace, T, born), gamma)",
        "last = windowed(trace, T, born)\n    return float(last[-1]) if len(last) else math.nan"),
    "window all since born": ("all rounds since the member was born",
        "trace, T", "trace, len(trace)"),
    "window before born": ("rounds before the member was born", "born),", "0),"),
    "window born left out": ("round `born` is left out", "born),", "born + 1),"),
    "window NaN as zero": ("NaN counts as 0",
        "windowed(trace, T, born)",
        "np.nan_to_num(trace[max(born, len(trace) - T) :], posinf=np.inf)"),
    "window NaN spreads": ("NaN makes all NaN",
        "windowed(trace, T, born)", "trace[max(born, len(trace) - T) :]"),
    "window further back": ("the window goes further back",
        "return discounted(windowed(trace, T, born)",
        "known = trace[born:]\n    return discounted(known[~np.isnan(known)][-T:]"),
    "window inf left out": ("inf is left out",
        "return discounted(windowed(trace, T, born)",
        "last = windowed(trace, T, born)\n    return discounted(last[np.isfinite(last)]"),
})  # fmt: skip
def window_mean(trace, gamma, T, born):
    return discounted(windowed(trace, T, born), gamma)


@edits("ex08.1", {
    "window sum": ("this is the weighted sum",
        "discounted(last, gamma)", "float(gamma ** np.arange(len(last))[::-1] @ last)"),
    "window by T": ("divided by T",
        "return discounted(last, gamma)",
        "weights = gamma ** np.arange(len(last))[::-1]\n    return float(weights @ last / T)"),
    "window plain mean": ("this is the plain mean",
        "discounted(last, gamma)", "float(last.mean())"),
    "window nothing left": ("where no round is left it is NaN, not inf", ".nan", ".inf"),
})  # fmt: skip
def window_mean(trace, gamma, T, born):
    last = windowed(trace, T, born)
    return discounted(last, gamma) if len(last) else math.nan


@wrong("ex08.1", "window by number", "divided by the number of rounds")
def window_mean(trace, gamma, T, born):
    last = windowed(trace, T, born)
    weights = gamma ** np.arange(len(last))[::-1]
    return float(weights @ last / len(last)) if len(last) else math.nan


@wrong("ex08.1", "window NaN has a weight", "rounds with NaN take up a weight")
def window_mean(trace, gamma, T, born):
    last = trace[max(born, len(trace) - T) :]
    known = ~np.isnan(last)
    weights = (gamma ** np.arange(len(last))[::-1])[known]
    return float(weights @ last[known] / weights.sum()) if known.any() else math.nan


@wrong("ex08.1", "window no check", "no round is left here")
def window_mean(trace, gamma, T, born):
    last = windowed(trace, T, born)
    weights = [gamma**k for k in range(len(last))][::-1]
    return sum(w * x for w, x in zip(weights, last.tolist(), strict=True)) / sum(weights)


@wrong("ex08.1", "window in place", "change the argument itself")
def window_mean(trace, gamma, T, born):
    trace[np.isnan(trace)] = -1.0
    last = trace[max(born, len(trace) - T) :]
    return discounted(last[last >= 0], gamma)


def annealed(eps, p_re, r, R):
    factor = (1 + np.cos(np.pi * r / R)) / 2
    return eps * factor, p_re * factor


@edits("ex08.2", {
    "continuous clipped before": ("what has moved is not clipped",
        "(h + delta * (2 * u - 1)).clip(a, b)", "h.clip(a, b) + delta * (2 * u - 1)"),
    "continuous coin equal": ("coin = p_re counts as a fresh draw", "< p_re", "<= p_re"),
    "continuous coin exchanged": ("fresh draws and moves are exchanged", "< p_re", "> p_re"),
    "continuous eps is a distance": ("eps is taken as a distance", "= (b - a) *", "="),
    "continuous fresh by u": ("the fresh draw is taken from u", "* fresh", "* u"),
    "continuous fresh near": ("a fresh draw stays near h",
        "a + (b - a) * fresh", "(h + delta * (2 * fresh - 1)).clip(a, b)"),
    "continuous fresh unit": (r"a fresh draw is from \[0, 1\)", " a + (b - a) *", ""),
    "continuous half": ("values move half as far", "2 * u - 1", "u - 0.5"),
    "continuous in place": ("change the argument itself",
        "moved = (h + delta * (2 * u - 1))", "h += delta * (2 * u - 1)\n    moved = h"),
    "continuous list": ("an array is asked for, not a list", "moved)", "moved).tolist()"),
    "continuous never fresh": ("nothing is drawn afresh",
        "np.where(coin < p_re, a + (b - a) * fresh, moved)", "moved"),
    "continuous not centred": ("values move up only", "(2 * u - 1)", "u"),
    "continuous not clipped": ("what has moved is not clipped",
        "(h + delta * (2 * u - 1)).clip(a, b)", "h + delta * (2 * u - 1)"),
    "continuous one coin": ("one coin is taken for all",
        "np.where(coin < p_re, a + (b - a) * fresh, moved)",
        "a + (b - a) * fresh if coin[0] < p_re else moved"),
    "continuous relative": ("the move is a share of h",
        "delta = (b - a) * eps\n    moved = (h + delta * (2 * u - 1))",
        "moved = (h * (1 + eps * (2 * u - 1)))"),
})  # fmt: skip
def evo_annealed(h, a, b, eps, p_re, r, R, coin, fresh, u):
    eps, p_re = annealed(eps, p_re, r, R)
    delta = (b - a) * eps
    moved = (h + delta * (2 * u - 1)).clip(a, b)
    return np.where(coin < p_re, a + (b - a) * fresh, moved)


@edits("ex08.2", {
    "annealed never": ("nothing is annealed here", "(1 + np.cos(np.pi * r / R)) / 2", "1.0"),
    "annealed p_re only": ("eps is not annealed", "* factor,", ","),
    "annealed eps only": ("p_re is not annealed", "p_re * factor", "p_re"),
    "annealed line": ("falls along a line", "(1 + np.cos(np.pi * r / R)) / 2", "1 - r / R"),
    "annealed not halved": ("the factor is 2 in round 0",
        "(1 + np.cos(np.pi * r / R)) / 2", "1 + np.cos(np.pi * r / R)"),
    "annealed rising": ("the factor rises from 0 to 1", "1 + np", "1 - np"),
    "annealed cosine itself": ("the factor is cos itself",
        "(1 + np.cos(np.pi * r / R)) / 2", "np.cos(np.pi * r / R)"),
    "annealed quarter": ("a quarter of a cosine",
        "(1 + np.cos(np.pi * r / R)) / 2", "np.cos(np.pi * r / R / 2)"),
    "annealed without pi": ("pi is missing in the cosine", "np.pi *", ""),
})  # fmt: skip
def evo_annealed(h, a, b, eps, p_re, r, R, coin, fresh, u):
    factor = (1 + np.cos(np.pi * r / R)) / 2
    eps, p_re = eps * factor, p_re * factor
    moved = (h + (b - a) * eps * (2 * u - 1)).clip(a, b)
    return np.where(coin < p_re, a + (b - a) * fresh, moved)


@wrong("ex08.2", "continuous fresh moves", "a fresh draw moves, too")
def evo_annealed(h, a, b, eps, p_re, r, R, coin, fresh, u):
    eps, p_re = annealed(eps, p_re, r, R)
    delta = (b - a) * eps
    h = np.where(coin < p_re, a + (b - a) * fresh, h)
    moved = (h + delta * (2 * u - 1)).clip(a, b)
    return moved


@wrong("ex08.2", "continuous window", "the interval around h is clipped before")
def evo_annealed(h, a, b, eps, p_re, r, R, coin, fresh, u):
    eps, p_re = annealed(eps, p_re, r, R)
    delta = (b - a) * eps
    low, high = np.maximum(h - delta, a), np.minimum(h + delta, b)
    moved = low * (1 - u) + high * u
    return np.where(coin < p_re, a + (b - a) * fresh, moved)


@wrong("ex08.2", "continuous b fresh", "a fresh draw is a \\+ \\(b - a\\) fresh, and not b")
def evo_annealed(h, a, b, eps, p_re, r, R, coin, fresh, u):
    eps, p_re = annealed(eps, p_re, r, R)
    moved = (h + (b - a) * eps * (2 * u - 1)).clip(a, b)
    return np.where(coin < p_re, b * fresh, moved)


@wrong("ex08.2", "continuous if coin", "asks for one answer, but each member has a coin")
def evo_annealed(h, a, b, eps, p_re, r, R, coin, fresh, u):
    eps, p_re = annealed(eps, p_re, r, R)
    if coin < p_re:
        return a + (b - a) * fresh
    return (h + (b - a) * eps * (2 * u - 1)).clip(a, b)


@edits("ex08.3", {
    "top at least one": ("n is at least 1 here",
        "min(-int(-K // rho), K // 2)", "max(1, min(-int(-K // rho), K // 2))"),
    "top exchanged": ("top and bottom are exchanged", ":n], order[K - n :", "K - n :], order[:n"),
    "top half rounded up": ("K / 2 is rounded up", ", K //", ", (K + 1) //"),
    "top higher is better": ("higher scores count as better",
        "np.nan_to_num(scores, nan=np.inf, posinf=np.inf)",
        "(-np.nan_to_num(scores, nan=np.inf, posinf=np.inf))"),
    "top in place": ("change the argument itself",
        "order = np.nan_to_num(scores, nan=np.inf, posinf=np.inf)",
        "scores[np.isnan(scores)] = np.inf\n    order = scores"),
    "top last missing": ("the very last one is missing", " - n :", " - n - 1 : K - 1"),
    "top late": ("the bottom begins one place too late", " - n :", " - n + 1 :"),
    "top minus n": (r"the slice \[-n:\] is everything", "K - n :", "-n:"),
    "top nan after inf": ("NaN counts as worse than inf",
        "np.nan_to_num(scores, nan=np.inf, posinf=np.inf)", "scores"),
    "top nan first": ("NaN counts as the best score", ", nan=", ", neginf=-np.inf, nan=-"),
    "top nan sorted": ("comparisons with NaN are always False",
        'np.nan_to_num(scores, nan=np.inf, posinf=np.inf).argsort(kind="stable")',
        "sorted(range(K), key=scores.__getitem__)"),
    "top nan zero": ("NaN counts as 0", " nan=np.inf,", ""),
    "top one too many": ("the bottom has one member too many", " - n :", " - n - 1 :"),
    "top overlap": ("some are in both sets", "min(-int(-K // rho), K // 2)", "-int(-K // rho)"),
    "top rest": ("the bottom is the whole rest", "K - n :", "n:"),
    "top rising": ("places are in rising order",
        "order[:n], order[K - n :]", "sorted(order[:n]), sorted(order[K - n :])"),
    "top rounded": ("K / rho is rounded to the nearest", "-int(-K //", "round(K /"),
    "top rounded down": ("K / rho is rounded down", "-int(-", "int("),
    "top scores": ("places are asked for, not scores",
        "order[:n], order[K - n :]", "scores[order[:n]], scores[order[K - n :]]"),
    "top worst first": ("bottom begins with the worst", "K - n :", "::-1][:n"),
})  # fmt: skip
def top_and_bottom(scores, rho):
    K = len(scores)
    order = np.nan_to_num(scores, nan=np.inf, posinf=np.inf).argsort(kind="stable")
    n = min(-int(-K // rho), K // 2)
    return order[:n], order[K - n :]


@wrong("ex08.3", "top quantiles", "sets by quantiles, as in the paper")
def top_and_bottom(scores, rho):
    order = np.nan_to_num(scores, nan=np.inf, posinf=np.inf).argsort(kind="stable")
    low, high = np.quantile(scores, 1 / rho), np.quantile(scores, 1 - 1 / rho)
    return order[scores[order] <= low], order[scores[order] >= high]


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


@edits("ex08.4", {
    "exploit always the best": ("all copy the first of the top, the best",
        "int(u[b] * len(top))", "0"),
    "exploit best altered": ("the top evolves, too",
        "return",
        "for p in set(top) - set(bottom):\n        new[p] = evolve(new[p], p)\n    return"),
    "exploit both stay": ("members of both sets stay",
        "p = top", "if b in top:\n            continue\n        p = top"),
    "exploit hp not evolved": ("copied as they are: evolve them", "evolve(hp[p], b)", "hp[p]"),
    "exploit in place": ("change the argument itself", ".copy(), weights.copy()", ", weights"),
    "exploit index error": ("the top is empty here", "if top else ()", ""),
    "exploit last never": (r"u\[b\] is multiplied by len\(top\) - 1", "len(top)", "(len(top) - 1)"),
    "exploit new population": ("hp and weights are copied as they are afterwards: read the old",
        "(hp[p], b), weights", "(new[p], b), models"),
    "exploit new weights": ("the weights are copied as they are afterwards",
        "weights[p]", "models[p]"),
    "exploit own hp": ("evolves from its own", "[p], b", "[b], b"),
    "exploit place of parent": ("evolve gets the place of the one that is copied",
        "[p], b", "[p], p"),
    "exploit weights not copied": ("the weights are not copied",
        ", models[b] = evolve(hp[p], b), weights[p]", "= evolve(hp[p], b)"),
    "exploit whole population": ("members of the whole population are copied",
        "top[int(u[b] * len(top))]", "int(u[b] * len(hp))"),
})  # fmt: skip
def exploit(hp, weights, top, bottom, u, evolve):
    new, models = hp.copy(), weights.copy()
    for b in bottom if top else ():
        p = top[int(u[b] * len(top))]
        new[b], models[b] = evolve(hp[p], b), weights[p]
    return new, models


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


@wrong("ex08.4", "exploit draws in turn", "wherever it is in bottom")
def exploit(hp, weights, top, bottom, u, evolve):
    new, models = hp.copy(), weights.copy()
    for k, b in enumerate(bottom if top else ()):
        p = top[int(u[k] * len(top))]
        new[b], models[b] = evolve(hp[p], b), weights[p]
    return new, models


@wrong("ex08.4", "exploit in place from old", "change the argument itself")
def exploit(hp, weights, top, bottom, u, evolve):
    old, models = hp.copy(), weights.copy()
    for b in bottom if top else ():
        p = top[int(u[b] * len(top))]
        hp[b], weights[b] = evolve(old[p], b), models[p]
    return hp, weights


@wrong("ex08.4", "exploit rounded", "is rounded to the nearest place: int rounds it down")
def exploit(hp, weights, top, bottom, u, evolve):
    new_hp, new_weights = hp.copy(), weights.copy()
    for b in bottom if top else []:
        p = top[min(round(u[b] * len(top)), len(top) - 1)]
        new_hp[b], new_weights[b] = evolve(hp[p], b), weights[p]
    return new_hp, new_weights


@wrong("ex08.4", "exploit rounded out of range", "is rounded to the nearest place, which may be")
def exploit(hp, weights, top, bottom, u, evolve):
    new_hp, new_weights = hp.copy(), weights.copy()
    for b in bottom if top else []:
        p = top[round(u[b] * len(top))]
        new_hp[b], new_weights[b] = evolve(hp[p], b), weights[p]
    return new_hp, new_weights


@wrong("ex08.4", "exploit new population rising", "afterwards, by rising places: read the old")
def exploit(hp, weights, top, bottom, u, evolve):
    new, models = hp.copy(), weights.copy()
    for b in sorted(bottom) if top else ():
        p = top[int(u[b] * len(top))]
        new[b], models[b] = evolve(new[p], b), models[p]
    return new, models


def weigh(scores, known, gamma):
    weights = gamma ** np.arange(len(scores))[::-1, None] * known
    with np.errstate(invalid="ignore"):
        return np.where(known, weights * scores, 0).sum(0) / weights.sum(0)


@edits("ex08.5", {
    "vectors sign": ("the difference is after - before", "after - before", "before - after"),
    "vectors before": ("the losses before are judged",
        "after - before if difference else", "before + 0 *"),
    "vectors always the loss": ("this is always the loss after",
        "- before if difference else after", ""),
    "vectors always the difference": ("this is always the difference",
        "if difference else after", ""),
    "vectors relative": ("relative to the loss before", "- before", "/ before - 1"),
    "vectors plain mean": ("this is the plain mean",
        "= after - before if difference else after",
        ", gamma = after - before if difference else after, 1.0"),
    "vectors diverged forgotten": ("gets inf, whatever its other rounds say", "any(0)", "all(0)"),
})  # fmt: skip
def vector_scores(before, after, diverged, gamma, difference):
    scores = after - before if difference else after
    known = ~np.isnan(scores) & ~diverged
    return np.where(diverged.any(0), np.inf, weigh(scores, known, gamma))


@edits("ex08.5", {
    "vectors oldest first": ("the oldest round counts most", ", known", "[::-1], known[::-1]"),
    "vectors nothing left": ("a vector with no round left gets NaN, not inf",
        ", np", "| np.isnan(means), np"),
})  # fmt: skip
def vector_scores(before, after, diverged, gamma, difference):
    scores = after - before if difference else after
    known = ~np.isnan(scores) & ~diverged
    means = weigh(scores, known, gamma)
    return np.where(diverged.any(0), np.inf, means)


@wrong("ex08.5", "vectors numbered anew", "the rounds with data are numbered anew")
def vector_scores(before, after, diverged, gamma, difference):
    scores = after - before if difference else after
    found = []
    for k in range(scores.shape[1]):
        x = scores[:, k][~np.isnan(scores[:, k]) & ~diverged[:, k]]
        w = gamma ** np.arange(len(x))[::-1]
        found.append(w @ x / w.sum() if len(x) else np.nan)
    return np.where(diverged.any(0), np.inf, found)


@wrong("ex08.5", "vectors all weights", "divided by the weights of all rounds")
def vector_scores(before, after, diverged, gamma, difference):
    scores = after - before if difference else after
    known = ~np.isnan(scores) & ~diverged
    weights = gamma ** np.arange(len(scores))[::-1, None]
    with np.errstate(invalid="ignore"):
        total = np.where(known, weights * scores, 0).sum(0) / weights.sum()
    return np.where(diverged.any(0), np.inf, np.where(known.any(0), total, np.nan))


@wrong("ex08.5", "vectors gap spreads", "a round without data makes the whole score NaN")
def vector_scores(before, after, diverged, gamma, difference):
    scores = after - before if difference else after
    weights = gamma ** np.arange(len(scores))[::-1]
    scores = np.where(diverged, 0, scores)
    return np.where(diverged.any(0), np.inf, weights @ scores / weights.sum())


@wrong("ex08.5", "vectors in place", "change the argument itself")
def vector_scores(before, after, diverged, gamma, difference):
    if difference:
        after -= before
    known = ~np.isnan(after) & ~diverged
    return np.where(diverged.any(0), np.inf, weigh(after, known, gamma))


include("experiments.py", "ex08.6")

"""Exercise 3: the arguments of its functions, and what known mistakes make of them."""

import math
from collections.abc import Callable, Sequence
from itertools import accumulate, combinations, pairwise, product
from statistics import mean, pvariance, variance
from typing import NamedTuple

from support import Mistakes


def spent(stops: Sequence[int], arms: int, eta: int) -> int:
    """The rounds of a bracket, counted round by round."""
    past = [sum(stop < t for stop in stops) for t in range(1, stops[-1] + 1)]
    return sum(max(1, arms // eta**eliminations) for eliminations in past)


# --- ex03.1 and ex03.2 ----------------------------------------------------------------------------


class Halving(NamedTuple):
    """The arguments of `unspent` and of `schedule`."""

    total: int
    cap: int
    eta: int
    eliminations: int

    @property
    def costs(self) -> list[int]:
        """What one more round in each increment costs."""
        return [self.eta**left - 1 for left in range(self.eliminations, 0, -1)]

    @property
    def equal(self) -> float:
        return (self.total - self.cap) / sum(self.costs)


UNSPENT: Mistakes = {
    "this is what equal increments leave: with other increments more can be spent":
        lambda h: (h.total - h.cap) % sum(h.costs),
    "the rounds of the last arm are missing: it trains up to cap in any case":
        lambda h: h.total % (h.eta - 1),
    "the last cost is eta - 1, not eta": lambda h: (h.total - h.cap) % h.eta,
    "this is what D_1 alone leaves: the other increments cost less, and use it up":
        lambda h: (h.total - h.cap) % h.costs[0],
    "something is left over here: every cost is a multiple of eta - 1, and so is their sum":
        lambda h: 0,
    "this is how often the last cost fits in: what is left over is the remainder":
        lambda h: (h.total - h.cap) // (h.eta - 1),
    "this is what is spent: asked for is what is left of total":
        lambda h: h.total - (h.total - h.cap) % (h.eta - 1),
    "the remainder is divided by the number of eliminations: R plays no part":
        lambda h: (h.total - h.cap) % (h.eta - 1) // h.eliminations,
    "this is what is missing for one more round: asked for is what is left over":
        lambda h: -(h.total - h.cap) % (h.eta - 1),
}  # fmt: skip


def filled(h: Halving, least: int, free: int, costs: Sequence[int]) -> list[int]:
    """The stops if each increment, from the first to the last, is as large as it can be.

    These spend as much as any others: all costs are multiples of the last one, so that the last
    increment uses up whatever the others leave, but for a remainder that no increments use.
    """
    left, increments = free - least * sum(costs), []
    for one in costs:
        increments.append(least + left // one)
        left %= one
    return [*accumulate(increments), h.cap]


def best_stops(h: Halving) -> list[int]:
    return filled(h, math.floor(h.equal), h.total - h.cap, h.costs)


def increments(h: Halving) -> list[int]:
    return [b - a for a, b in pairwise([0, *best_stops(h)])]


def all_to(h: Halving, r: int) -> list[int]:
    """The stops if the rounds that are left go to one increment only."""
    least = math.floor(h.equal)
    left = h.total - h.cap - least * sum(h.costs)
    more = [0] * h.eliminations
    more[r] = left // h.costs[r]
    return [*accumulate(least + m for m in more), h.cap]


def each(h: Halving, increment: int) -> list[int]:
    return [increment * r for r in range(1, h.eliminations + 1)] + [h.cap]


STOPS: Mistakes = {
    "all increments are equal: make some of them larger with the rounds that are left":
        lambda h: each(h, math.floor(h.equal)),
    "of the increments that spend most these have the smallest D_1: the largest is asked for":
        lambda h: all_to(h, -1),
    "only D_1 is made larger: the other increments can use what it leaves": lambda h: all_to(h, 0),
    "the last stop is missing: it is cap": lambda h: best_stops(h)[:-1],
    "these are the increments: add them up, and end with cap": increments,
    "these are the increments: add them up":
        lambda h: [*increments(h)[:-1], h.cap],
    "these are the increments: add them up, and append cap": lambda h: increments(h)[:-1],
    "the stops begin with a 0: the first one is D_1": lambda h: [0, *best_stops(h)],
    "the equal increment is rounded up, which spends more than the total":
        lambda h: each(h, math.ceil(h.equal)),
    "the equal increments are rounded after they are added up: each must be a whole number itself":
        lambda h: [math.floor(h.equal * r) for r in range(1, h.eliminations + 1)] + [h.cap],
    "the increments can be as small as 1 here: none may be below the floor of the equal one":
        lambda h: filled(h, 1, h.total - h.cap, h.costs),
    "the rounds of the last arm, up to cap, are not counted: total - cap are for the others":
        lambda h: filled(h, math.floor(h.equal), h.total, h.costs),
    "the equal increment is that of total: it is that of total - cap":
        lambda h: filled(h, h.total // sum(h.costs), h.total, h.costs),
    "the rounds of the last arm are counted twice: one more round in D_r costs eta^(R-r+1) - 1":
        lambda h: filled(h, math.floor(h.equal), h.total - h.cap, [c + 1 for c in h.costs]),
    "there is one elimination too few: there are R of them, and R + 1 stops":
        lambda h: best_stops(h._replace(eliminations=max(1, h.eliminations - 1))),
    "there is one elimination too many: there are R of them, and R + 1 stops":
        lambda h: best_stops(h._replace(eliminations=h.eliminations + 1)),
}  # fmt: skip


# --- ex03.3 ---------------------------------------------------------------------------------------


def by_counting(scores: Sequence[float], eta: int) -> list[int]:
    """An arm goes on if there are more places than better arms."""
    ranked = [(score, i) for i, score in enumerate(known(scores))]
    return [i for i, own in enumerate(ranked) if sum(r < own for r in ranked) < kept(scores, eta)]


def kept(scores: Sequence[float], eta: int) -> int:
    return max(1, len(scores) // eta)


def known(scores: Sequence[float], nan: float = math.inf) -> list[float]:
    return [nan if math.isnan(score) else score for score in scores]


def best(scores: Sequence[float], count: int, key: Callable[[float, int], object]) -> list[int]:
    """The positions with the lowest keys, which are made of score and position."""
    return sorted(sorted(range(len(scores)), key=lambda i: key(scores[i], i))[:count])


def lowest(scores: Sequence[float], count: int) -> list[int]:
    return best(known(scores), count, lambda score, i: (score, i))


def by(key: Callable[[float, int], object]) -> Callable[[Sequence[float], int], list[int]]:
    """The rule that keeps as many as it should, but those with the lowest keys."""
    return lambda scores, eta: best(scores, kept(scores, eta), key)


def on_known(key: Callable[[float, int], object], nan: float = math.inf) -> Callable:
    return lambda scores, eta: best(known(scores, nan), kept(scores, eta), key)


def in_order_of_score(scores: Sequence[float], eta: int) -> list[int]:
    return sorted(by_counting(scores, eta), key=lambda i: known(scores)[i])


def up_to_the_last(scores: Sequence[float], eta: int) -> list[int]:
    worst = sorted(known(scores))[kept(scores, eta) - 1]
    return [i for i, score in enumerate(known(scores)) if score <= worst]


def first_of_equal(scores: Sequence[float], eta: int) -> list[int]:
    return sorted(known(scores).index(known(scores)[i]) for i in by_counting(scores, eta))


def of_numbers(scores: Sequence[float], eta: int) -> list[int]:
    count = sum(not math.isnan(score) for score in scores)
    return lowest(scores, max(1, count // eta))


SURVIVORS: Mistakes = {
    "positions are asked for, not scores":
        lambda scores, eta: sorted(known(scores))[: kept(scores, eta)],
    "positions are asked for, not scores, as these are, in rising order of the position":
        lambda scores, eta: [known(scores)[i] for i in by_counting(scores, eta)],
    "the highest scores are kept: lower is better": on_known(lambda score, i: (-score, i)),
    "these are in the order of their scores: return them in rising order of the position":
        in_order_of_score,
    "of equal scores those at higher positions are kept: lower positions go on":
        on_known(lambda score, i: (score, -i)),
    "equal scores all get the position of the first of them, as by list.index": first_of_equal,
    "of equal scores all are kept, as by a quantile: of n arms it must be floor(n / eta)":
        up_to_the_last,
    "n / eta is rounded up here, as by a quantile of the scores: floor(n / eta) go on":
        lambda scores, eta: lowest(scores, -(-len(scores) // eta)),
    "NaN confuses sorted, as each comparison with it is False: count it as inf":
        by(lambda score, i: score),
    "NaN comes after inf here: it counts as inf, so that the lower position goes on":
        by(lambda score, i: (math.isnan(score), score if score == score else 0.0, i)),
    "NaN counts as lowest here: count it as inf": on_known(lambda score, i: (score, i), -math.inf),
    "NaN counts as 0 here: count it as inf": on_known(lambda score, i: (score, i), 0.0),
    "NaN is not one of the n scores here: n is the number of all": of_numbers,
    "nobody is left: at least 1 goes on": lambda scores, eta: lowest(scores, len(scores) // eta),
    "n / eta is rounded to the nearest whole number: floor(n / eta) go on":
        lambda scores, eta: lowest(scores, max(1, round(len(scores) / eta))),
    "eta arms go on: it must be floor(n / eta)": lambda scores, eta: lowest(scores, eta),
    "floor(n / eta) arms end: that many go on, and all others end":
        lambda scores, eta: lowest(scores, len(scores) - len(scores) // eta),
    "these are the arms that end: return those that go on":
        lambda scores, eta: sorted(set(range(len(scores))) - set(by_counting(scores, eta))),
    "the positions are counted from 1: count from 0":
        lambda scores, eta: [i + 1 for i in by_counting(scores, eta)],
}  # fmt: skip


# --- ex03.4 ---------------------------------------------------------------------------------------


class Pair(NamedTuple):
    """The arguments of `difference_variance`."""

    first: list[float]
    second: list[float]
    clients: int
    same: bool

    @property
    def differences(self) -> list[float]:
        return [a - b for a, b in zip(self.first, self.second, strict=True)]

    @property
    def of(self) -> list[list[float]]:
        """The lists of values whose variances are added up."""
        return [self.differences] if self.same else [self.first, self.second]


def of_mean(x: Sequence[float], clients: int) -> float:
    return variance(x) / clients * (1 - clients / len(x))


def by_drawing(p: Pair) -> float:
    """The variance over all draws of the clients, which are equally likely."""
    draws = [*combinations(range(len(p.first)), p.clients)]
    pairs = [(d, d) for d in draws] if p.same else [*product(draws, repeat=2)]
    found = [mean(p.first[i] for i in a) - mean(p.second[i] for i in b) for a, b in pairs]
    return pvariance(found)


def summed(of: Callable[[Sequence[float], int], float]) -> Callable[[Pair], float]:
    """Another rule for the variance of one mean."""
    return lambda p: sum(of(x, p.clients) for x in p.of)


VARIANCES: Mistakes = {
    "`same` plays no part: this is the variance for clients of their own":
        lambda p: sum(of_mean(x, p.clients) for x in (p.first, p.second)),
    "`same` plays no part: this is the variance for the same clients":
        lambda p: of_mean(p.differences, p.clients),
    "`same` is taken the wrong way round":
        lambda p: by_formula(p._replace(same=not p.same)),
    "S^2 is divided by N: divide by N - 1":
        summed(lambda x, B: pvariance(x) / B * (1 - B / len(x))),
    "1 - B / N is missing: clients are drawn without replacement":
        summed(lambda x, B: variance(x) / B),
    "the division by B is missing": summed(lambda x, B: variance(x) * (1 - B / len(x))),
    "this is the standard deviation: its square is asked for":
        lambda p: by_formula(p) ** 0.5,
    "the variances are subtracted: those of independent means add up, in a difference, too":
        lambda p: by_formula(p) if p.same else
            of_mean(p.first, p.clients) - of_mean(p.second, p.clients),
    "the standard deviations are added up: add up their squares":
        lambda p: sum(of_mean(x, p.clients) ** 0.5 for x in p.of) ** 2,
    "these are the squares of the values: subtract their mean first":
        summed(lambda x, B: sum(v * v for v in x) / (len(x) - 1) / B * (1 - B / len(x))),
    "only the first arm counts here: the second one is noisy, too":
        lambda p: of_mean(p.first, p.clients),
    "this is the variance of the first B clients: all N clients have S^2":
        summed(lambda x, B: variance(x[:B]) / B * (1 - B / len(x)) if B > 1 else 0.0),
    "the correction is (N - B) / (N - 1): with N - 1 in S^2 it is 1 - B / N":
        summed(lambda x, B: variance(x) / B * (len(x) - B) / (len(x) - 1)),
    "this is the mean of the two variances: they add up":
        lambda p: by_formula(p) if p.same else by_formula(p) / 2,
}  # fmt: skip


def by_formula(p: Pair) -> float:
    return sum(of_mean(x, p.clients) for x in p.of)


# --- ex03.5 ---------------------------------------------------------------------------------------


class Near(NamedTuple):
    """The arguments of `perturb`, but for u and whole."""

    c: float
    low: float
    high: float
    eps: float

    def clip(self, value: float) -> float:
        return sorted([self.low, value, self.high])[1]

    @property
    def width(self) -> float:
        return (self.high - self.low) * self.eps


def interval(p: Near, half: float, u: float) -> float:
    """Uniform on c - half to c + half, by u; not clipped."""
    return (1 - u) * (p.c - half) + u * (p.c + half)


def clipped(draw: Callable[[Near, float], float]) -> Callable[[Near, float], float]:
    return lambda p, u: p.clip(draw(p, u))


def folded(p: Near, u: float) -> float:
    value = interval(p, p.width, u)
    return 2 * p.clip(value) - value


REAL: Mistakes = {
    "this is not clipped: below low it is low, above high it is high":
        lambda p, u: interval(p, p.width, u),
    "this is uniform on what the range leaves of the interval: draw from all of it, then clip":
        lambda p, u: (1 - u) * p.clip(p.c - p.width) + u * p.clip(p.c + p.width),
    "what lies beyond an end is folded back: clip it to the end": folded,
    "the half width is eps: it is (high - low) eps": clipped(lambda p, u: interval(p, p.eps, u)),
    "the interval is twice as wide as it should be: it reaches (high - low) eps to each side":
        clipped(lambda p, u: interval(p, 2 * p.width, u)),
    "the interval is half as wide as it should be: it reaches (high - low) eps to each side":
        clipped(lambda p, u: interval(p, p.width / 2, u)),
    "the half width is a share of c: it is (high - low) eps":
        clipped(lambda p, u: interval(p, p.c * p.eps, u)),
    "this moves up only: the interval begins at c - (high - low) eps":
        clipped(lambda p, u: p.c + p.width * u),
    "this moves down only: the interval ends at c + (high - low) eps":
        clipped(lambda p, u: p.c - p.width * (1 - u)),
    "u works the wrong way round: u = 0 belongs to c - (high - low) eps":
        clipped(lambda p, u: interval(p, -p.width, u)),
    "this is a draw from the whole range: draw near c":
        lambda p, u: (1 - u) * p.low + u * p.high,
    "this is c itself, whatever u is": lambda p, u: p.c,
    "this is clipped to 0 and 1: clip to low and high":
        lambda p, u: min(max(interval(p, p.width, u), 0.0), 1.0),
}  # fmt: skip


def half(p: Near) -> int:
    return math.ceil(p.width - 1e-9)


def window(p: Near, down: int, up: int, u: float) -> int:
    """Uniform on the ints c - down to c + up, by u; not clipped."""
    return p.c - down + int(u * (down + up + 1))


def inside(p: Near, u: float) -> int:
    return window(p, min(half(p), p.c - p.low), min(half(p), p.high - p.c), u)


WHOLE: Mistakes = {
    "this is not clipped: below low it is low, above high it is high":
        lambda p, u: window(p, half(p), half(p), u),
    "this is uniform on those ints of the window that are in the range: draw from all, then clip":
        inside,
    "the window is lopsided, from floor below c to ceil above it: it is c - h, ..., c + h":
        clipped(lambda p, u: window(p, int(p.width), half(p), u)),
    "h is rounded down: it is ceil((high - low) eps - 1e-9)":
        clipped(lambda p, u: window(p, int(p.width), int(p.width), u)),
    "h is rounded to the nearest int: it is ceil((high - low) eps - 1e-9)":
        clipped(lambda p, u: window(p, round(p.width), round(p.width), u)),
    "h is one too large through a rounding error: it is ceil((high - low) eps - 1e-9)":
        clipped(lambda p, u: window(p, math.ceil(p.width), math.ceil(p.width), u)),
    "h is ceil of eps: it is ceil((high - low) eps - 1e-9)":
        clipped(lambda p, u: window(p, math.ceil(p.eps), math.ceil(p.eps), u)),
    "h is twice as large as it should be: it is ceil((high - low) eps - 1e-9)":
        clipped(lambda p, u: window(p, 2 * half(p), 2 * half(p), u)),
    "h is half as large as it should be: it is ceil((high - low) eps - 1e-9)":
        clipped(lambda p, u: window(p, *[math.ceil(p.width / 2 - 1e-9)] * 2, u)),
    "u is spread over 2h ints, so that c + h never comes: there are 2h + 1":
        clipped(lambda p, u: window(p, half(p), half(p) - 1, u)),
    "u is spread by rounding, which makes both ends rarer: it is floor(u (2h + 1))":
        clipped(lambda p, u: p.c - half(p) + round(u * 2 * half(p))),
    "the draw from the interval, as for not whole, is rounded to the nearest int: draw an int":
        lambda p, u: round(p.clip(interval(p, p.width, u))),
    "the draw from the interval, as for not whole, is rounded down: draw an int":
        lambda p, u: math.floor(p.clip(interval(p, p.width, u))),
    "this moves up only: the ints begin at c - h": clipped(lambda p, u: window(p, 0, half(p), u)),
    "u works the wrong way round: u = 0 belongs to c - h":
        clipped(lambda p, u: 2 * p.c - window(p, half(p), half(p), u)),
    "this is a draw from the whole range: draw near c":
        lambda p, u: p.low + int(u * (p.high - p.low + 1)),
    "this is c itself, whatever u is": lambda p, u: p.c,
}  # fmt: skip


def real_draw(p: Near, u: float) -> float:
    return p.clip(interval(p, p.width, u))


def whole_draw(p: Near, u: float) -> int:
    """The u-th of the ints of the window, which are written down and clipped."""
    ints = [p.clip(i) for i in range(p.c - half(p), p.c + half(p) + 1)]
    return ints[int(u * len(ints))]

"""What answers to exercise 10 return that make a known mistake, each under its sentence."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import sqrt
from typing import Any

Mistakes = Mapping[str, Callable[..., Any]]
WORDS = "reproduced", "contradicted", "undecided", "not tried"


def differences(first: list[float], second: list[float]) -> list[Fraction]:
    return [Fraction(a) - Fraction(b) for a, b in zip(first, second, strict=True)]


def by_fractions(first: list[float], second: list[float], t: float) -> tuple[float, float]:
    """The answer without rounding up to the root."""
    d = differences(first, second)
    mean = sum(d) / len(d)
    variance = sum((x - mean) ** 2 for x in d) / (len(d) - 1)
    return float(mean), t * sqrt(variance / len(d))


def spread(values: list[float], less: int = 1) -> float:
    mean = sum(values) / len(values)
    return sum((x - mean) ** 2 for x in values) / (len(values) - less)


def halves(rule: Callable[[list[float], list[float], float], float]) -> Callable[..., Any]:
    """Return what an answer with another half returns, the mean being right."""
    return lambda first, second, t: (by_fractions(first, second, t)[0], rule(first, second, t))


def gaps(first: list[float], second: list[float]) -> list[float]:
    return [float(x) for x in differences(first, second)]


DIFFERENCE: Mistakes = {
    "the difference is first - second, not the other way round": lambda a, b, t: (
        -by_fractions(a, b, t)[0],
        by_fractions(a, b, t)[1],
    ),
    "the sum of squares is divided by n - 1, not by n": halves(
        lambda a, b, t: t * sqrt(spread(gaps(a, b), 0) / len(a))
    ),
    "s is divided by the root of n: it is the mean that has an interval": halves(
        lambda a, b, t: t * sqrt(spread(gaps(a, b)))
    ),
    "s is divided by the root of n, not by n": halves(
        lambda a, b, t: t * sqrt(spread(gaps(a, b))) / len(a)
    ),
    "these are the deviations of the two methods, not of their differences on the same seed": (
        halves(lambda a, b, t: t * sqrt((spread(a) + spread(b)) / len(a)))
    ),
    "half is half of the interval's width, not all of it": halves(
        lambda a, b, t: 2 * t * sqrt(spread(gaps(a, b)) / len(a))
    ),
    "t is missing": halves(lambda a, b, t: sqrt(spread(gaps(a, b)) / len(a))),
    "the standard deviation is the root of the variance": halves(
        lambda a, b, t: t * spread(gaps(a, b)) / sqrt(len(a))
    ),
}


def by_rejections(p: list[float]) -> list[float]:
    """Each corrected p-value is the smallest level at which the step-down procedure rejects it."""
    order = sorted(range(len(p)), key=lambda i: p[i])
    passes = [min(Fraction(1), (len(p) - j) * Fraction(p[i])) for j, i in enumerate(order)]
    return [float(max(passes[: order.index(i) + 1])) for i in range(len(p))]


def ordered(p: list[float], rule: Callable[[int, int, float], float]) -> list[float]:
    """Return min(1, rule(place, m, p_i)), without what comes before."""
    order = sorted(range(len(p)), key=lambda i: p[i])
    return [min(1.0, rule(order.index(i), len(p), p[i])) for i in range(len(p))]


def in_given_order(p: list[float]) -> list[float]:
    found: list[float] = []
    for i, x in enumerate(p):
        found.append(max([*found[-1:], min(1.0, (len(p) - i) * x)]))
    return found


def uncut(p: list[float]) -> list[float]:
    order = sorted(range(len(p)), key=lambda i: p[i])
    raw = [(len(p) - j) * p[i] for j, i in enumerate(order)]
    return [max(raw[: order.index(i) + 1]) for i in range(len(p))]


def stepped_up(p: list[float]) -> list[float]:
    """The correction of Benjamini and Hochberg (1995)."""
    return [min(len(p) * y / sum(x <= y for x in p) for y in p if y >= x_i) for x_i in p]


HOLM: Mistakes = {
    "this is Bonferroni's correction: only the smallest is multiplied by m": lambda p: [
        min(1.0, len(p) * x) for x in p
    ],
    "this is Benjamini and Hochberg's correction: multiply by m, m - 1, ..., 1": stepped_up,
    "the smallest is multiplied by m, not by m - 1": lambda p: ordered(
        p, lambda j, m, x: max(m - j - 1, 1) * x
    ),
    "a p-value never becomes smaller than one before it": lambda p: ordered(
        p, lambda j, m, x: (m - j) * x
    ),
    "the way goes from the smallest to the largest, not in the order given": in_given_order,
    "each is at least the one before it, and they come back in the order of p": lambda p: [
        min(1.0, (len(p) - j) * x) for j, x in enumerate(sorted(p))
    ],
    "they come back in the order of p, not from small to large": lambda p: sorted(by_rejections(p)),
    "none is above 1": uncut,
    "the smallest is multiplied by m and the largest by 1, not the other way round": lambda p: (
        ordered(p, lambda j, m, x: (j + 1) * x)
    ),
}


def by_table(mean: float, p: float, seeds: int) -> str:
    decided = WORDS[0 if mean < 0 else 1]
    return [decided, *WORDS[2:], WORDS[3]][(p > 0.05) + 2 * (seeds < 5)]


VERDICT: Mistakes = {
    "a negative difference says that the first has the lower error": lambda mean, p, seeds: (
        by_table(-mean, p, seeds)
    ),
    "5 seeds are enough": lambda mean, p, seeds: by_table(mean, p, 4 if seeds == 5 else seeds),
    "with few seeds nothing is decided, whatever p is": lambda mean, p, seeds: by_table(mean, p, 5),
    "p = 0.05 decides, too": lambda mean, p, seeds: by_table(mean, 1.0 if p == 0.05 else p, seeds),
    "a large p-value leaves it undecided, whatever the difference is": lambda mean, p, seeds: (
        by_table(mean, 0.0, seeds)
    ),
    "a small p-value decides, a large one does not": lambda mean, p, seeds: by_table(
        mean, 1.0 if p <= 0.05 else 0.0, seeds
    ),
}

"""The requirements of the functions in `warmup`, by name: (passed, sentence) for each property.

A page carries this text: it has no solution.
"""

from collections.abc import Callable, Iterator
from math import exp, log, nan
from typing import Any, TypeAlias

Checks: TypeAlias = "Iterator[tuple[bool, str]]"
Function: TypeAlias = "Callable[..., Any]"


def near(a: Any, b: Any) -> bool:
    """Return whether two numbers, or two lists of numbers, are equal up to rounding."""
    if not isinstance(a, list):
        return bool(abs(a - b) < 1e-9)
    return len(a) == len(b) and all(abs(x - y) < 1e-9 for x, y in zip(a, b, strict=True))


def weighted_average(f: Function) -> Checks:
    models = [[1.0, 2.0, 3.0], [3.0, 0.0, -3.0]]
    yield len(f(models, [1, 1])) == 3, "It has one number for each weight of the model."
    yield near(f(models, [5, 5]), [2, 1, 0]), "Equal numbers of examples give the plain mean."
    yield near(f(models, [3, 1]), [1.5, 1.5, 1.5]), "Three times the examples count three times."
    yield near(f(models, [30, 10]), f(models, [3, 1])), "Ten times the examples for all: no change."
    yield near(f(models, [4, 0]), models[0]), "A client without examples has no say."


def proximal(f: Function) -> Checks:
    yield near(f(2.0, 1.5, 1.5, 0.7), 2), "Where u = w nothing pulls: it is g."
    yield near(f(2.0, 3.0, 1.0, 0.0), 2), "With mu = 0 nothing pulls."
    yield f(0.0, 3.0, 1.0, 1.0) > 0, "Where u is above w it is higher than g: a step leads back."
    opposite = near(f(0.0, -1.0, 1.0, 1.0), -f(0.0, 3.0, 1.0, 1.0))
    yield opposite, "Equally far on the other side: minus it."
    yield near(f(0.0, 3.0, 1.0, 4.0), 2 * f(0.0, 3.0, 1.0, 2.0)), "Twice mu pulls twice as hard."

    def loss(u: float) -> float:
        return 3 * (u - 4) ** 2 + 0.8 / 2 * (u - 1) ** 2

    slope = (loss(2.001) - loss(1.999)) / 0.002
    right = abs(f(6 * (2.0 - 4), 2.0, 1.0, 0.8) - slope) < 1e-6
    yield right, "It is the slope of the loss, measured with small steps."


def rounds_used(f: Function) -> Checks:
    yield f([8], 5, 3) == 40, "With one stop all arms run to it: 5 arms of 8 rounds take 40."
    yield f([3, 5], 9, 3) == 33, "9 arms run 3 rounds, and 3 of them 2 more: that takes 33."
    yield f([3, 5, 8, 25], 27, 3) == 125, "27 arms with stops 3, 5, 8 and 25 take 125 rounds."
    yield f([5, 11], 11, 3) == 73, "Of 11 arms 3 go on: 11 // 3."
    yield f([2, 5, 9], 4, 3) == 15, "At least one arm goes on."
    yield f([4, 4], 6, 2) == 24, "From round 4 to round 4 no arm runs."


def eg_step(f: Function) -> Checks:
    theta, g = [0.5, 0.25, 0.25], [1.0, 0.0, -2.0]
    yield near(f(theta, g, 0.0), theta), "With eta = 0 nothing changes."
    yield near(sum(f(theta, g, 0.7)), 1.0), "The probabilities add up to 1."
    yield f(theta, g, 0.7)[0] < 0.5 < 2 * f(theta, g, 0.7)[2], "A row with a low g gains."
    right = near(f(theta, [2 * log(2), 0.0, -log(2)], 1.0), [1 / 7, 2 / 7, 4 / 7])
    yield right, "With eta g = (2 ln 2, 0, -ln 2) the factors are 1/4, 1 and 2."
    more = [x + 3 for x in g]
    yield near(f(theta, more, 0.7), f(theta, g, 0.7)), "The same number added to all g: no change."
    yield near(f([0.0, 0.6, 0.4], g, 0.7)[:1], [0.0]), "A probability of 0 stays 0."


def best_half(f: Function) -> Checks:
    scores = [0.5, 0.1, 0.4, 0.2, 0.6, 0.3]
    yield f(scores, [0, 1, 2, 3, 4, 5]) == [1, 3, 5], "Of six the three best stay, in order."
    yield f(scores, [0, 2, 4]) == [0, 2], "Of three two stay: half is rounded up."
    yield f(scores, [4]) == [4], "A single one stays."
    yield f(scores, [0, 4]) == [0], "What is no longer alive does not come back."
    yield f([0.5, 0.5, 0.5, 0.5], [0, 1, 2, 3]) == [0, 1], "Of equal scores the first stay."
    yield f([nan, 0.9, nan, 0.8], [0, 1, 2, 3]) == [1, 3], "NaN is worse than every number."


def ogd_step(f: Function) -> Checks:
    yield near(f(0.5, 0.0, 0.1, 1.0), 0.5), "Without a slope it stays."
    yield near(f(0.5, 2.0, 0.1, 1.0), 0.3), "It goes against the slope, by c times the slope."
    yield near(f(0.5, -20.0, 0.1, 1.0), 1.0), "A step too far to the right ends at the radius."
    yield near(f(0.5, 90.0, 0.1, 2.0), -2.0), "A step too far to the left ends at minus the radius."
    yield near(f(-0.5, -2.0, 0.1, 1.0), -f(0.5, 2.0, 0.1, 1.0)), "Left and right are treated alike."


def score(f: Function) -> Checks:
    pi = [0.5, 0.3, 0.2]
    yield near(sum(f(pi, 1)), 0.0), "Its entries add up to 0."
    s = f(pi, 1)
    yield s[1] > 0 and max(s[0], s[2]) < 0, "Only the entry of the row that was drawn is above 0."
    mean = [sum([pi[z] * f(pi, z)[h] for z in range(3)]) for h in range(3)]
    yield near(mean, [0, 0, 0]), "Its mean over the draws is 0."
    logits, h = [0.2, -0.1, 0.4], 1e-6

    def log_pi(a: list[float], z: int) -> float:
        return a[z] - log(sum([exp(x) for x in a]))

    total = sum([exp(x) for x in logits])
    seen = f([exp(x) / total for x in logits], 2)
    slopes = []
    for j in range(3):
        up = [x + h * (i == j) for i, x in enumerate(logits)]
        slopes.append((log_pi(up, 2) - log_pi(logits, 2)) / h)
    right = max([abs(a - b) for a, b in zip(seen, slopes, strict=True)]) < 1e-5
    yield right, "It is the slope of log pi[z], measured with small steps."


def child(f: Function) -> Checks:
    draws = [k / 10 for k in range(11)]
    yield near(f(-2.0, -4.0, 0.0, 0.1, 0.5), -2.0), "With u = 1/2 it stays where it is."
    yield near(f(-2.0, -4.0, 0.0, 0.1, 1.0), -1.6), "With u = 1 it moves up by eps (b - a)."
    yield near(f(3.0, 2.0, 7.0, 0.2, 0.0), 2.0), "With u = 0 it moves down by eps (b - a)."
    moves = [f(0.5, 0.0, 1.0, 0.3, u) for u in draws]
    steps = [moves[k + 1] - moves[k] for k in range(10)]
    yield all(near(step, 0.06) for step in steps), "Between, it moves evenly with u."
    yield near(f(-0.1, -4.0, 0.0, 0.1, 1.0), 0.0), "What would leave [a, b] becomes its end."
    yield all(2.0 <= f(2.1, 2.0, 7.0, 0.5, u) <= 7.0 for u in draws), "It is never below a."


def answered(f: Function) -> Checks:
    yield f([3.0, 1.0, 2.0], 9.0) == [1, 2, 0], "If all are in time, all are there, sorted by time."
    yield f([3.0, 1.0, 7.0], 5.0) == [1, 0], "What came after the deadline is left out."
    yield f([3.0, 5.0], 5.0) == [0, 1], "An answer at the deadline counts."
    yield f([8.0, 9.0], 5.0) == [], "If all are late, nobody is left."
    given = [3.0, 1.0]
    f(given, 5.0)
    yield given == [3.0, 1.0], "The list that was given is as before."


def bonferroni(f: Function) -> Checks:
    yield near(f([0.03]), [0.03]), "A single p-value stays as it is."
    yield near(f([0.01, 0.2, 0.04]), [0.03, 0.6, 0.12]), "Of three, each is multiplied by 3."
    yield near(f([0.6, 0.01]), [1.0, 0.02]), "None is above 1."
    given = [0.3, 0.1]
    f(given)
    yield given == [0.3, 0.1], "The list that was given is as before."

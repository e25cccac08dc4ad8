"""The checks of an experiment: a prediction, a table of paired runs, an interval, three sentences.

The machine judges the form of the prediction and of the sentences, and the numbers of the rest.
Sentences are for the instructor, with the rubric in ``solutions/rubrics/``.
"""

import inspect
import math
import re
from collections.abc import Callable, Sequence
from functools import partial, wraps
from numbers import Real
from random import Random
from statistics import fmean, stdev, variance
from typing import Any

import numpy as np
from support import Mistakes
from support import ask as ask_for

from fedlab_grade.checks import Answer, Case, Failure, check
from fedlab_grade.printing import kind
from fedlab_grade.student import Student

SENTENCE = re.compile(r"[.!?](?=\s|$)")


def check_prediction(student: Student, name: str, allowed: Sequence[str]) -> None:
    """Raise unless the prediction is one of those allowed; whether it is true costs nothing.

    Raises:
        Failure: it is none of them.
    """
    value = student.call(name).value
    if value not in allowed:
        seen = repr(value)[:80] if isinstance(value, str) else kind(value)
        listed = ", ".join(map(repr, allowed))
        raise Failure(f"{name} returned {seen}, expected one of {listed}.")


def stand_in(run: Callable[..., float]) -> Callable[..., float]:
    """Return a function with the arguments of a run that trains nothing.

    It returns a number for each condition and seed, the same each time.
    """
    signature = inspect.signature(run)

    @wraps(run)
    def measured(*args: Any, **kwargs: Any) -> float:
        values = signature.bind(*args, **kwargs).arguments.values()
        seen = [float(x) if isinstance(x, Real) else str(x) for x in values]
        return round(Random(repr(seen)).uniform(0, 100), 3)

    return measured


def check_table(
    student: Student,
    name: str,
    run: Callable[..., float],
    conditions: Sequence[tuple],
    seeds: Sequence[int],
) -> None:
    """Raise unless the student's function measures all conditions with all seeds.

    Args:
        run: measures one number of a condition and a seed; the student's function gets its
            `stand_in`.
        conditions: the first arguments of ``run``; the last one is the seed.

    Raises:
        Failure: the table is not that of these runs.
    """
    known = stand_in(run)

    def table(conditions: Sequence[tuple], seeds: Sequence[int]) -> Any:
        return np.array([[known(*c, seed) for seed in seeds] for c in conditions])

    def ask(conditions: Sequence[tuple], seeds: Sequence[int]) -> Answer:
        causes = {"missing a required": "a condition is several arguments: run(*condition, seed)"}
        return ask_for(student, causes, name, known, conditions, seeds)

    mistakes: Mistakes = {
        "a row is a condition and a column a seed: here it is the other way round":
            lambda c, s: table(c, s).T,
        "each condition has a number for each seed: do not average over the seeds":
            lambda c, s: table(c, s).mean(1),
        "all runs have the first seed: use each of them": lambda c, s: table(c, s[:1] * len(s)),
        "each condition has one number: run it with each of the seeds":
            lambda c, s: table(c, s[:1]),
        "the conditions are in another order": lambda c, s: table(c[::-1], s),
        "this is one list of all numbers: make a list for each condition":
            lambda c, s: table(c, s).ravel(),
    }  # fmt: skip
    rule = "A row for each condition, with a number for each seed."
    arguments = list(conditions), list(seeds)
    check(ask, mistakes, [Case(arguments, table(*arguments), rule)])


def interval(first: Sequence[float], second: Sequence[float], t: float) -> tuple[float, float]:
    """Return the interval of the mean difference of paired runs."""
    d = [y - x for x, y in zip(first, second, strict=True)]
    return _around(fmean(d), t * stdev(d) / math.sqrt(len(d)))


def _around(centre: float, half: float) -> tuple[float, float]:
    return centre - half, centre + half


def _other(width: Callable[..., float]) -> Callable[..., tuple[float, float]]:
    """Return the rule of an interval of another half-width, a function of differences and t."""

    def rule(first: Sequence[float], second: Sequence[float], t: float) -> tuple[float, float]:
        d = [y - x for x, y in zip(first, second, strict=True)]
        return _around(fmean(d), width(d, t))

    return rule


def _unpaired(first: Sequence[float], second: Sequence[float], t: float) -> tuple[float, float]:
    half = t * math.sqrt((variance(first) + variance(second)) / len(first))
    return _around(fmean(second) - fmean(first), half)


INTERVAL: Mistakes = {
    "the difference is first - second: it is second - first": lambda x, y, t: interval(y, x, t),
    "this is the interval of two separate samples: take the differences of the pairs first":
        _unpaired,
    "the standard deviation divides by n here: it divides by n - 1":
        _other(lambda d, t: t * stdev(d) * math.sqrt((len(d) - 1) / len(d) / len(d))),
    "the standard deviation is not yet divided by sqrt(n)": _other(lambda d, t: t * stdev(d)),
    "the standard deviation is divided by n: divide it by sqrt(n)":
        _other(lambda d, t: t * stdev(d) / len(d)),
    "this divides by sqrt(n - 1): n - 1 is under the root of sd only":
        _other(lambda d, t: t * stdev(d) / math.sqrt(len(d) - 1)),
    "the variance stands in the place of the standard deviation: take its root":
        _other(lambda d, t: t * variance(d) / math.sqrt(len(d))),
    "t is missing": _other(lambda d, t: stdev(d) / math.sqrt(len(d))),
    "these are the mean and the half-width: return the two ends":
        lambda x, y, t: (sum(interval(x, y, t)) / 2, np.ptp(interval(x, y, t)).item() / 2),
    "the ends are the wrong way round": lambda x, y, t: interval(x, y, t)[::-1],
}  # fmt: skip


def check_interval(student: Student, name: str) -> None:
    """Raise unless the student's function returns the interval of a mean difference of pairs.

    Raises:
        Failure: it does not.
    """
    root = math.sqrt(3)
    cases = [
        Case(
            ([1.0, 2.0, 3.0], [2.0, 4.0, 6.0], 3.0),
            (2 - root, 2 + root),
            "The differences 1, 2 and 3 have the mean 2 and the standard deviation 1.",
        ),
        Case(([5.0, 1.0], [1.0, 1.0], 0.5), (-3.0, -1.0), "The differences are -4 and 0."),
    ]
    rng = np.random.default_rng(3)
    for n in (5, 8):
        x, y = rng.normal(size=(2, n)).round(3).tolist()
        cases.append(Case((x, y, 2.5), interval(x, y, 2.5)))
    check(partial(student.call, name), INTERVAL, cases, names=("low", "high"))


def check_sentences(student: Student, name: str) -> str:
    """Return the student's text, once it is of three to five sentences with a number in them.

    Raises:
        Failure: it is not.
    """
    text = student.call(name).value
    if not isinstance(text, str):
        raise Failure(f"{name} returned {kind(text)}, expected a text of three sentences.")
    text = " ".join(text.split())
    number = len(SENTENCE.findall(text))
    if not 3 <= number <= 5:
        raise Failure(f"Number of sentences in {name}: {number}, expected 3 to 5.")
    if len(text) < 100:
        raise Failure(f"{name} returned {len(text)} characters, expected at least 100.")
    if not re.search(r"\d\.\d", text):
        raise Failure(f"{name} has no number of your table, such as 12.3.")
    return text

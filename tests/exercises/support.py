"""What the tests of several exercises share."""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from fedlab_grade.checks import Answer, Case
from fedlab_grade.student import Raised, Student

Array = np.ndarray
Mistakes = dict[str, Callable]  # what a known mistake returns; None where it cannot be made

OUTSIDE = {  # what an exception can only mean, see `ask`, where probabilities have logarithms
    "OverflowError": "exp of a large number is too large for a float: subtract the largest entry "
    "before exp",
    "math domain error": "0 has no logarithm: a probability may be 0, or too small for a float, so "
    "stay with z, and subtract its largest entry before exp",
}


def real(*values: object) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def floats(*values: object) -> Array:
    return np.array(values, dtype=np.float64)


def ask(student: Student, causes: Mapping[str, str], name: str, *arguments: object) -> Answer:
    """Return the answer of a function, or raise its exception with what this can only mean.

    Args:
        causes: a part of what is told of the exception -> the sentence that explains it.
    """
    try:
        return student.call(name, *arguments)
    except Raised as failure:
        likely = [sentence for part, sentence in causes.items() if part in str(failure)]
        raise Raised(str(failure), "".join(likely[:1]) or failure.likely) from None


def right(reference: Callable, arguments: Any, rule: str = "") -> Case:
    """Return the case of some arguments, in which the answer of a reference is wanted."""
    return Case((arguments,), reference(arguments), rule)


def each_part(
    question: Callable[..., pytest.MarkDecorator], aspect: str, **points: float
) -> pytest.MarkDecorator:
    """Mark a test that judges one part of a returned tuple, ``only``, and give each its points.

    Args:
        question: makes the marker ``q`` of the question.
        points: part -> its points.
    """
    marked = [
        pytest.param(part, marks=question(points=most, aspect=f"{part}: {aspect}"), id=part)
        for part, most in points.items()
    ]
    return pytest.mark.parametrize("only", marked)


# --- the discounted mean --------------------------------------------------------------------------


def discounted(trace: Sequence[float], gamma: float) -> float:
    """Return the discounted mean by running sums: earlier entries count gamma times as much."""
    total = weight = 0.0
    for x in trace:
        total, weight = gamma * total + x, gamma * weight + 1
    return total / weight


def weighted(trace: Sequence[float], gamma: float) -> float:
    """Return the weighted sum alone."""
    total = 0.0
    for x in trace:
        total = gamma * total + x
    return total


def moving(trace: Sequence[float], gamma: float, start: float) -> float:
    for x in trace:
        start = gamma * start + (1 - gamma) * x
    return start


DISCOUNTED: Mistakes = {
    "the ages are counted from the oldest entry: the newest has age 0":
        lambda trace, gamma: discounted(trace[::-1], gamma),
    "this is the weighted sum: divide it by the sum of the weights": weighted,
    "the weighted sum is divided by the number of entries: divide it by the sum of the weights":
        lambda trace, gamma: weighted(trace, gamma) / len(trace),
    "this is the plain mean: an entry counts gamma^age":
        lambda trace, gamma: sum(trace) / len(trace),
    "this is the last entry: the earlier ones count as well, gamma^age each":
        lambda trace, gamma: trace[-1],
    "this is the first entry: the newest is the last one": lambda trace, gamma: trace[0],
    "this is a moving average that begins with the first entry: the weights are gamma^age for all":
        lambda trace, gamma: moving(trace[1:], gamma, trace[0]),
    "the weighted sum is multiplied by 1 - gamma: divide it by the sum of the weights":
        lambda trace, gamma: moving(trace, gamma, 0.0),
    "the newest entry is left out: it has age 0 and counts 1":
        lambda trace, gamma: discounted(trace[:-1] or [0.0], gamma),
    "the oldest entry is left out": lambda trace, gamma: discounted(trace[1:] or [0.0], gamma),
    "all earlier entries count gamma: an entry counts gamma^age":
        lambda trace, gamma: (trace[-1] + gamma * sum(trace[:-1])) / (1 + gamma * len(trace[:-1])),
    "with gamma = 0 nothing counts here: gamma^0 is 1, so that the newest entry does":
        lambda trace, gamma: discounted(trace, gamma) if gamma else 0.0,
}  # fmt: skip

TRACE = [0.7, 0.2, 0.4, 0.1]
MEANS_BY_HAND = [
    Case(([8.0, 6.0, 2.0], 0.5), 4.0, "The weights are 0.25, 0.5 and 1, with the sum 1.75."),
    Case(([40.0, 16.0, 4.0], 0.25), 8.0, "The weights are 0.0625, 0.25 and 1."),
]
MEANS_AT_THE_EDGES = [
    Case((TRACE, 0.0), 0.1, "With gamma = 0 it is the last entry."),
    Case((TRACE, 1.0), 0.35, "With gamma = 1 it is the plain mean."),
    Case(([0.6], 0.5), 0.6, "With one entry it is this entry."),
    Case(([0.3] * 5, 0.7), 0.3, "The mean of equal entries is this entry."),
]


def draw_means() -> list[Case]:
    rng, cases = random.Random(6), []
    for n, gamma in ((5, 0.9), (12, 0.5), (40, 0.8), (2, 0.3)):
        trace = draw_scores(rng, n)
        cases.append(Case((trace, gamma), discounted(trace, gamma)))
    return cases


def draw_scores(rng: random.Random, n: int) -> list[float]:
    """Draw scores, no two of which are equal."""
    return [k / 1000 for k in rng.sample(range(1000), n)]


def ask_mean(student: Student, name: str, trace: list[float], gamma: float) -> Answer:
    zero = {  # gamma -> what a division by zero can only mean
        0.0: "with gamma = 0 the newest entry counts gamma^0 = 1, and the others 0",
        1.0: "with gamma = 1 the weights add up to the number of entries: do not divide by "
        "1 - gamma",
    }
    return ask(student, {"ZeroDivisionError": zero.get(gamma, "")}, name, trace, gamma)

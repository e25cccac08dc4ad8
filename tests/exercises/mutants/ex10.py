"""Typical answers to exercise 10, right and wrong."""

import math
from statistics import mean as average
from statistics import stdev, variance

import numpy as np

from fedlab_grade.mutants import edits, include, right, wrong


@right
class library:
    """The statistics module, and sorting pairs."""

    def difference(first, second, t):
        d = [a - b for a, b in zip(first, second, strict=True)]
        return average(d), t * stdev(d) / len(d) ** 0.5

    def holm(p):
        out, so_far, left = {}, 0, len(p)
        for value, i in sorted((value, i) for i, value in enumerate(p)):
            so_far = max(so_far, left * value)
            out[i], left = min(so_far, 1.0), left - 1
        return [out[i] for i in range(len(p))]

    def verdict(mean, p, seeds):
        words = {True: "reproduced", False: "contradicted"}
        return "not tried" if seeds < 5 else words[mean < 0] if p <= 0.05 else "undecided"


@right
class vectors:
    """NumPy throughout."""

    def difference(first, second, t):
        d = np.array(first) - np.array(second)
        return float(d.mean()), float(t * d.std(ddof=1) / np.sqrt(len(d)))

    def holm(p):
        p = np.array(p)
        order = np.argsort(p, kind="stable")
        raw = np.minimum(1, p[order] * np.arange(len(p), 0, -1))
        out = np.empty(len(p))
        out[order] = np.maximum.accumulate(raw)
        return out.tolist()

    def verdict(mean, p, seeds):
        if seeds >= 5:
            if p <= 0.05:
                if mean < 0:
                    return "reproduced"
                return "contradicted"
            return "undecided"
        return "not tried"


@edits("ex10.1", {
    "difference reversed": ("first - second, not the other way", "a - b", "b - a"),
    "difference of one seed": ("it is the mean that has an interval", "/ len(d) ** 0.5", ""),
    "difference over n": ("the root of n, not by n", "** 0.5", ""),
    "difference whole width": ("half of the interval's width", "(d), t", "(d), 2 * t"),
    "difference without t": ("t is missing", ", t *", ","),
    "difference with variance": ("the root of the variance", " stdev", " variance"),
})  # fmt: skip
def difference(first, second, t):
    d = [a - b for a, b in zip(first, second, strict=True)]
    return average(d), t * stdev(d) / len(d) ** 0.5


@wrong("ex10.1", "difference by n", "divided by n - 1")
def difference(first, second, t):
    d = np.array(first) - np.array(second)
    return float(d.mean()), float(t * d.std() / len(d) ** 0.5)


@wrong("ex10.1", "difference unpaired", "deviations of the two methods")
def difference(first, second, t):
    half = t * math.sqrt((variance(first) + variance(second)) / len(first))
    return average(first) - average(second), half


@wrong("ex10.2", "holm bonferroni", "Bonferroni's correction")
def holm(p):
    return [min(1.0, len(p) * x) for x in p]


@wrong("ex10.2", "holm step up", "Benjamini and Hochberg's correction")
def holm(p):
    order = sorted(range(len(p)), key=lambda i: p[i])
    out, least = [0.0] * len(p), 1.0
    for j, i in reversed([*enumerate(order)]):
        out[i] = least = min(least, len(p) * p[i] / (j + 1))
    return out


@wrong("ex10.2", "holm one less", "by m, not by m - 1")
def holm(p):
    order = sorted(range(len(p)), key=lambda i: p[i])
    out = [0.0] * len(p)
    for j, i in enumerate(order):
        out[i] = min(1.0, max(len(p) - j - 1, 1) * p[i])
    return out


@wrong("ex10.2", "holm without memory", "never becomes smaller than one before")
def holm(p):
    order = sorted(range(len(p)), key=lambda i: p[i])
    out = [0.0] * len(p)
    for j, i in enumerate(order):
        out[i] = min(1.0, (len(p) - j) * p[i])
    return out


@wrong("ex10.2", "holm unsorted", "from the smallest to the largest, not in the order given")
def holm(p):
    out, so_far = [], 0.0
    for i, x in enumerate(p):
        so_far = max(so_far, min(1.0, (len(p) - i) * x))
        out.append(so_far)
    return out


@wrong("ex10.2", "holm sorted", "in the order of p, not from small to large")
def holm(p):
    out, so_far = [], 0.0
    for i, x in enumerate(sorted(p)):
        so_far = max(so_far, min(1.0, (len(p) - i) * x))
        out.append(so_far)
    return out


@wrong("ex10.2", "holm sorted, without memory", "each is at least the one before it, and they")
def holm(p):
    return [min(1.0, (len(p) - j) * x) for j, x in enumerate(sorted(p))]


@wrong("ex10.2", "holm above one", "none is above 1")
def holm(p):
    out, so_far = [0.0] * len(p), 0.0
    for j, i in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
        so_far = max(so_far, (len(p) - j) * p[i])
        out[i] = so_far
    return out


@wrong("ex10.2", "holm upside down", "the largest by 1, not the other way round")
def holm(p):
    order = sorted(range(len(p)), key=lambda i: p[i])
    out = [0.0] * len(p)
    for j, i in enumerate(order):
        out[i] = min(1.0, (j + 1) * p[i])
    return out


edits("ex10.3", {
    "verdict sign": ("a negative difference says", "mean <", "mean >"),
    "verdict five seeds": ("5 seeds are enough", "< 5:", "<= 5:"),
    "verdict without seeds": ("with few seeds nothing is decided",
        ' seeds < 5:\n        return "not tried"\n    if', ""),
    "verdict strict": ("p = 0.05 decides, too", "> 0.05", ">= 0.05"),
    "verdict without p": ("a large p-value leaves it undecided",
        '\n    if p > 0.05:\n        return "undecided"', ""),
    "verdict p reversed": ("a small p-value decides", "> 0.05", "< 0.05 or p == 0.05"),
})  # fmt: skip


@wrong("ex10.3", "verdict capital", "expected one of 'reproduced'")
def verdict(mean, p, seeds):
    if seeds < 5:
        return "Not tried"
    if p > 0.05:
        return "Undecided"
    return "Reproduced" if mean < 0 else "Contradicted"


include("experiments.py", "ex10.4")

"""Typical answers to the experiment of an exercise, whose question is N."""

import math

import numpy as np
import torch

from fedlab_grade.mutants import edits, right, wrong


@right
class arrays:
    """With NumPy."""

    def table_N(run, conditions, seeds):
        table = np.empty((len(conditions), len(seeds)))
        for i, condition in enumerate(conditions):
            for j, seed in enumerate(seeds):
                table[i, j] = run(*condition, seed)
        return table

    def interval_N(first, second, t):
        d = np.subtract(second, first)
        half = t * d.std(ddof=1) / np.sqrt(d.size)
        return np.array([d.mean() - half, d.mean() + half])


@right
class tensors:
    """Lists that grow, and an interval of tensors."""

    def table_N(run, conditions, seeds):
        rows = []
        for condition in conditions:
            rows.append([])
            for seed in seeds:
                rows[-1].append(run(*condition, seed))
        return rows

    def interval_N(first, second, t):
        d = torch.tensor(second).double() - torch.tensor(first).double()
        half = t * d.std() / len(d) ** 0.5
        return d.mean() - half, d.mean() + half


@right
class formulas:
    """The interval by its formulas."""

    def interval_N(first, second, t):
        d = [y - x for x, y in zip(first, second, strict=True)]
        mean = sum(d) / len(d)
        sd = math.sqrt(sum((x - mean) ** 2 for x in d) / (len(d) - 1))
        return mean - t * sd / math.sqrt(len(d)), mean + t * sd / math.sqrt(len(d))


@wrong("N", "a prediction of one's own", r"'it depends', expected one of '.+', '.+'\.")
def predict_N():
    return "it depends"


@wrong("N", "no prediction", "predict_N returned None, expected one of")
def predict_N():
    "grows"


@edits("N", {
    "table transposed": ("a row is a condition and a column a seed",
        "run(*condition, seed) for condition in conditions",
        "[run(*condition, seed) for condition in conditions] for seed in seeds"),
    "condition in one piece": ("a condition is several arguments",
        "run(*condition, seed)", "[run(condition, seed) for seed in seeds]"),
    "table of means": ("do not average over the seeds",
        "run(*condition, seed)", "sum(run(*condition, s) for s in seeds) / len(seeds)"),
    "one seed": ("run it with each of the seeds",
        "run(*condition, seed)", "[run(*condition, seeds[0])]"),
    "the first seed for all": ("all runs have the first seed",
        "run(*condition, seed)", "[run(*condition, seeds[0]) for _ in seeds]"),
    "one list": ("this is one list of all numbers", "]", " for seed in seeds]"),
    "numbers of the instructor's machine": ("A row for each condition",
        "run(*condition, seed) for condition", "[0.5 for _ in seeds] for _"),
})  # fmt: skip
def table_N(run, conditions, seeds):
    return [run(*condition, seed) for condition in conditions]


@edits("N", {
    "first minus second": ("it is second - first",
        "second, first", "first, second)\n    half = t * d.std(ddof=1) / np.sqrt(len(d)"),
    "sd by n": ("divides by n here: it divides by n - 1",
        "return", "half = t * d.std() / np.sqrt(len(d))\n    return"),
    "no root of n": (r"not yet divided by sqrt\(n\)",
        "half, d.mean() + half", "t * d.std(ddof=1), d.mean() + t * d.std(ddof=1)"),
    "mean and half-width": ("return the two ends",
        "- half, d.mean() + half", ", t * d.std(ddof=1) / np.sqrt(len(d))"),
})  # fmt: skip
def interval_N(first, second, t):
    d = np.subtract(second, first)

    return d.mean() - half, d.mean() + half


@wrong("N", "unpaired", "two separate samples: take the differences of the pairs")
def interval_N(first, second, t):
    half = t * np.sqrt((np.var(first, ddof=1) + np.var(second, ddof=1)) / len(first))
    d = np.mean(second) - np.mean(first)
    return d - half, d + half


@wrong("N", "one sentence", "sentences in reading_.: 1, expected 3 to 5")
def reading_N():
    return "It rests at 0.8."


@wrong("N", "no number", "has no number of your table")
def reading_N():
    return (
        "As predicted, there is a difference between the two conditions that we compared. It is "
        "because of the noise of few clients. This is only one data set, and one model."
    )

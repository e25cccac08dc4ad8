# %% [markdown]
# # Exercise 10: reading the tables
#
# Two records hold the test errors of two methods, in percent, on the same seeds. What follows from
# them? A claim says that the first method is better: that its error is lower.
#
# - **Core**, 55 minutes, 11 points: the difference with its interval (10.1), p-values that hold
#   together (10.2), and a verdict in one of four words (10.3).
# - **Experiment**, 60 minutes, 12 points: what choosing by test data does to a table (10.4).
#
# Everything is plain Python: lists of floats in, numbers and words out. No function may change its
# arguments.

# %%
import math
from collections.abc import Callable


# %% tags=["exercise", "q1"]
def difference(
    first: list[float], second: list[float], t: float
) -> tuple[float, float]:
    """Exercise 10.1: the mean difference on the same seeds, and half the width
    of its interval.

    Args:
        first, second: (n,), the errors of two methods; entry s of both has the
            same seed. n >= 2.
        t: the quantile of Student's distribution with n - 1 degrees of freedom.

    Returns: mean, half. The mean is that of the n differences first - second.
        half is t s / sqrt(n), with s the standard deviation of the differences:
        the root of the sum of their squared distances from the mean, divided by
        n - 1.

    Roughly 5 lines.
    """
    # BEGIN SOLUTION
    d = [a - b for a, b in zip(first, second, strict=True)]
    n, mean = len(d), sum(d) / len(d)
    s = math.sqrt(sum((x - mean) ** 2 for x in d) / (n - 1))
    return mean, t * s / math.sqrt(n)
    # END SOLUTION


# %% tags=["exercise", "q2"]
def holm(p: list[float]) -> list[float]:
    """Exercise 10.2: Holm's correction of m p-values.

    Go through the p-values from the smallest to the largest. The smallest is
    multiplied by m, the next by m - 1, and so on; the largest stays. A
    corrected value is at least the one before it, and at most 1.

    Args:
        p: (m,), p-values in any order.

    Returns: (m,), the corrected ones, in the order of p.

    Roughly 6 lines.
    """
    # BEGIN SOLUTION
    corrected, largest = [0.0] * len(p), 0.0
    for place, i in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
        largest = max(largest, min(1.0, (len(p) - place) * p[i]))
        corrected[i] = largest
    return corrected
    # END SOLUTION


# %% tags=["exercise", "q3"]
def verdict(mean: float, p: float, seeds: int) -> str:
    """Exercise 10.3: the verdict on the claim that the first method has the
    lower error.

    Args:
        mean: the mean difference, first - second.
        p: its p-value, corrected by Holm.
        seeds: the number of seeds that both methods have.

    Returns: "not tried" with fewer than 5 seeds; else "undecided" if p is above
        0.05; else "reproduced" if the first is lower, and "contradicted" if
        not.

    Roughly 5 lines.
    """
    # BEGIN SOLUTION
    if seeds < 5:
        return "not tried"
    if p > 0.05:
        return "undecided"
    return "reproduced" if mean < 0 else "contradicted"
    # END SOLUTION


# %% [markdown]
# ## Exercise 10.4: an experiment
#
# A table prints the test error of the model that was chosen. Who chose it? If test data did, the
# number is too low. By how much? `fedlab_edu.experiments.selection.printed_error(by, rounds, seed)`
# trains nine random configurations. Of their models after each of the last `rounds` rounds it
# chooses the one with the lowest error on the part `by` of the data, "validation" or "test", and
# returns its test error in percent.
#
# 1. Predict, before you measure: is the printed error lower if test data choose among five rounds,
#    "not at all", "by less than half a point" or "by half a point or more"?
# 2. Measure: write `table_4` and `interval_4`, and run, in the folder of this file,
#
#        from my_ex10 import interval_4, table_4  # the name of your file
#        from fedlab_edu.experiments.selection import printed_error
#
#        conditions = [("validation", 5), ("test", 5)]  # by, rounds
#        table = table_4(printed_error, conditions, range(8))
#        for condition, row in zip(conditions, table):
#            print(condition, "mean", sum(row) / len(row))
#        print(interval_4(table[0], table[1], 2.365))
#
#    The runs are *paired*: both conditions see the same seeds, so the luck of a seed cancels in a
#    difference. 2.365 is the 97.5 % quantile of Student's distribution with 7 degrees of freedom.
# 3. Interpret in three sentences. Before you write the third one, let both choose after the last
#    round alone.


# %% tags=["exercise", "q4"]
def predict_4() -> str:
    """Exercise 10.4: your prediction; a wrong one costs nothing.

    Returns: how much lower the printed error is if test data choose: one of
        "not at all", "by less than half a point" and "by half a point or more".
    """
    # BEGIN SOLUTION
    return "by half a point or more"
    # END SOLUTION


# %% tags=["exercise"]
def table_4(
    run: Callable[[str, int, int], float],
    conditions: list[tuple[str, int]],
    seeds: list[int],
) -> list[list[float]]:
    """Measure all conditions with the same seeds.

    Args:
        run: `run(by, rounds, seed)` returns one number, as `printed_error`.
        conditions: pairs (by, rounds).
        seeds: of the runs of each condition.

    Returns: for each condition a list of its numbers, one for each seed.

    Roughly 3 lines.
    """
    # BEGIN SOLUTION
    return [
        [run(by, rounds, seed) for seed in seeds] for by, rounds in conditions
    ]
    # END SOLUTION


# %% tags=["exercise"]
def interval_4(
    first: list[float], second: list[float], t: float
) -> tuple[float, float]:
    """Return the 95 % interval of the mean difference second - first of paired
    runs; use 10.1.

    Args:
        first: numbers of one condition, one for each of n >= 2 seeds.
        second: numbers of the other condition with the same seeds.
        t: the 97.5 % quantile of Student's distribution with n - 1 degrees of
            freedom.

    Returns: the ends (d - h, d + h), where d is the mean of the n differences
        second - first, and h half the width of their interval.

    Roughly 2 lines.
    """
    # BEGIN SOLUTION
    d, h = difference(second, first, t)
    return d - h, d + h
    # END SOLUTION


# %% tags=["exercise"]
def reading_4() -> str:
    """Return what your table says, for your instructor, who reads it.

    Returns: three sentences, together at least 100 characters, with a number
        such as 0.83: what you predicted and what you measured, with the
        interval; why it is so; what this experiment cannot tell.
    """
    # BEGIN SOLUTION
    return """I predicted half a point or more, and the printed error is lower
    by 0.93 points, with the 95 % interval from 0.19 to 1.67. Of 45 models, the
    lowest test error is partly luck on these 377 images, and a number that
    chooses keeps that luck, while validation data have luck of their own. It
    does not say that the leak is as large elsewhere: after the last round alone
    nine models are left, and it falls to 0.36 points, with an interval that
    contains 0 although test data can never choose a higher test error."""
    # END SOLUTION

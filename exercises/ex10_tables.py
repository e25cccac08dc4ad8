# %% [markdown]
# # Exercise 10: reading the tables
#
# Two records hold the test errors of two methods, in percent, on the same seeds. What follows from
# them? A claim says that the first method is better: that its error is lower.
#
# - **Core**, 55 minutes, 11 points: the difference with its interval (10.1), p-values that hold
#   together (10.2), and a verdict in one of four words (10.3).
#
# Everything is plain Python: lists of floats in, numbers and words out. No function may change its
# arguments.

# %%
import math


# %% tags=["exercise", "q1"]
def difference(first: list[float], second: list[float], t: float) -> tuple[float, float]:
    """Exercise 10.1: the mean difference on the same seeds, and half the width of its interval.

    Args:
        first, second: (n,), the errors of two methods; entry s of both has the same seed. n >= 2.
        t: the quantile of Student's distribution with n - 1 degrees of freedom.

    Returns: mean, half. The mean is that of the n differences first - second. half is
        t s / sqrt(n), with s the standard deviation of the differences: the root of the sum of
        their squared distances from the mean, divided by n - 1.

    Roughly 5 lines.
    """
    # Your answer goes here: replace the next line.
    raise NotImplementedError("not written yet")


# %% tags=["exercise", "q2"]
def holm(p: list[float]) -> list[float]:
    """Exercise 10.2: Holm's correction of m p-values.

    Go through the p-values from the smallest to the largest. The smallest is multiplied by m, the
    next by m - 1, and so on; the largest stays. None becomes smaller than one before it on this
    way, and none larger than 1.

    Args:
        p: (m,), p-values in any order.

    Returns: (m,), the corrected ones, in the order of p.

    Roughly 6 lines.
    """
    # Your answer goes here: replace the next line.
    raise NotImplementedError("not written yet")


# %% tags=["exercise", "q3"]
def verdict(mean: float, p: float, seeds: int) -> str:
    """Exercise 10.3: the verdict on the claim that the first method has the lower error.

    Args:
        mean: the mean difference, first - second.
        p: its p-value, corrected by Holm.
        seeds: the number of seeds that both methods have.

    Returns: "not tried" with fewer than 5 seeds; else "undecided" if p is above 0.05; else
        "reproduced" if the first is lower, and "contradicted" if not.

    Roughly 5 lines.
    """
    # Your answer goes here: replace the next line.
    raise NotImplementedError("not written yet")

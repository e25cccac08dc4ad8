# %% [markdown]
# # Exercise 5: sharing weights by hand
#
# Which of k *feature maps* suits a linear classifier best? To fit a classifier for each of them
# takes k fits. **Weight-sharing** (Khodak et al., *Weight-Sharing Beyond NAS*, section 3.1) takes
# only ceil(log2 k): in each round every training example draws one of the maps that are left, and
# one classifier is fitted to all examples, each seen through its own map. A map is scored by how
# wrong this classifier is on the validation examples, all of them seen through this map. Then the
# worse half of the maps goes. You write
#
# - the fit, which is a ridge regression,
# - the halving, since the rule that the paper prints does not do what it is meant to do, and a
#   softer rule, *exponentiated gradient*,
# - and a round of *multiplicative weights*, with which section 4 of the paper carries the idea over
#   to clients: out of it came FedEx.
#
# At the end is an experiment: where do multiplicative weights come to rest?
#
# The arrays are those of NumPy, of float64 where nothing else is said. Nothing here is random: what
# is drawn goes in as an argument. No function may change its arguments.

# %%
from collections.abc import Callable

import numpy as np


# %% tags=["exercise", "q1"]
def shared_fit(
    X: np.ndarray, y: np.ndarray, classes: int, lam: float
) -> tuple[np.ndarray, np.ndarray]:
    """Exercise 5.1: the fit of one linear classifier, by ridge regression.

    Each class c has a target t_ic for each example i: +1 if example i is of
    class c, else -1. What x_i W + b predicts is to be near these targets, and W
    is to be small.

    Args:
        X: (N, n), the features. There may be more features than examples.
        y: (N,), int64, the class of each example, from 0 to classes - 1.
        classes: how many classes there are; some may have no example.
        lam: above 0.

    Returns: a pair (W, b) of (n, classes) and (classes,), for which

            lam (sum of the squares of all entries of W)
            + sum (t_ic - (x_i W)_c - b_c)^2

        is as small as possible. The second sum is over all i and c. b is not in
        the first sum. The arguments are not changed.

    Roughly 6 lines. (At the minimum all derivatives are 0. The one with respect
    to b_c says that the errors t_ic - (x_i W)_c - b_c have the mean 0 over the
    examples, which gives b once W is known; put into the sum, it leaves a ridge
    regression without b, on X and t minus their means.)
    """
    # Your answer goes here: replace the next line.
    raise NotImplementedError("not written yet")


# %% tags=["exercise", "q2"]
def halve(scores: np.ndarray, alive: np.ndarray) -> np.ndarray:
    """Exercise 5.2: the probabilities with which the examples of the next round
    draw their maps.

    Of the n maps that are still alive, the better half stays: ceil(n / 2). The
    paper prints another rule: p_i becomes 2 p_i if s_i is at most the median of
    all k scores, and else 0. Then the maps that have gone still count in the
    median. With the same scores in each round:

        scores           1    2    3    4      their median is always 2.5
        p after round 1  1/2  1/2  0    0
        p after round 2  1    1    0    0      no map has gone, and the sum is 2

    Args:
        scores: (k,), lower is better, and NaN counts as inf. Those of maps that
            have gone play no part; they may even be lower than all others, or
            NaN.
        alive: (k,), bool, which maps are still alive, at least one.

    Returns: (k,), the same probability for those ceil(n / 2) maps still alive
        with the lowest scores, so that the sum is 1, and 0 for all other maps.
        Of equal scores those at lower positions stay. scores and alive are not
        changed.

    Roughly 5 lines. (np.argsort leaves equal scores in their order only with
    kind="stable".)
    """
    # Your answer goes here: replace the next line.
    raise NotImplementedError("not written yet")


# %% tags=["exercise"]
def soften(p: np.ndarray, errors: np.ndarray, eta: float) -> np.ndarray:
    """Exercise 5.2, its second part: exponentiated gradient, a softer rule.

    No map goes. Each p_i is multiplied by exp(-eta e_i), where e_i is the error
    of map i, and then all are divided by their sum. All k maps are scored in
    each round, the unlikely ones, too. So errors are not divided by p.

    When you have written it, add 0.1 to all errors. What changes, and why does
    this rule need no baseline?

    Args:
        p: (k,), the probabilities in this round, above 0; their sum is 1.
        errors: (k,), the validation error of each map, from 0 to 1.
        eta: the step size, at least 0. It may be so large that each factor
            exp(-eta e_i) is 0 in float64.

    Returns: (k,), the probabilities in the next round. The arguments are not
        changed.

    Roughly 3 lines. (Subtracting a number from all errors multiplies all
    factors by the same, which the division by the sum takes out. Which number
    makes the largest factor 1?)
    """
    # Your answer goes here: replace the next line.
    raise NotImplementedError("not written yet")


# %% tags=["exercise", "q3"]
def weights_round(
    p: np.ndarray, rows: np.ndarray, scores: np.ndarray, tau: int, divide: bool
) -> np.ndarray:
    """Exercise 5.3: a round of multiplicative weights.

    There are k configurations, and p_i is the probability with which a client
    draws configuration i. In this round B clients have drawn one each, trained
    with it, and report a score, their loss. Each client multiplies the p_i of
    its configuration i by a factor. Configurations that no client has drawn are
    multiplied by nothing. In the end all p are divided by their sum.

    Args:
        p: (k,), the probabilities in this round; their sum is 1.
        rows: (B,), int64, rows[j] is the configuration that client j has drawn.
            Several clients may have drawn the same one: each multiplies it by
            its factor.
        scores: (B,), scores[j] is the score of client j, at least 0. No score
            is so large that a factor becomes 0.
        tau: how many rounds there are in all.
        divide: False for the rule that the paper prints: the factor is
            exp(-scores[j] / sqrt(tau)). True for FedEx's correction: each score
            is first divided by the p of its configuration, with the p from
            before the round. So the factor is exp(-scores[j] / (p_i
            sqrt(tau))).

    Returns: (k,), the probabilities in the next round. The arguments are not
        changed.

    Roughly 5 lines. (`total[rows] += scores` adds once where a row occurs
    twice; np.add.at adds each time.)
    """
    # Your answer goes here: replace the next line.
    raise NotImplementedError("not written yet")


# %% [markdown]
# ## Exercise 5.4: an experiment
#
# Two configurations. A client's loss is about 1 with the better one, and about `ratio` with the
# other. `fedlab_edu.experiments.weights.better_share(ratio, divide, seed)` plays 400 rounds of
# multiplicative weights with ten clients each, and returns the probability of the better
# configuration, as a mean over the last 100 rounds. Does p come to rest, and where?
#
# 1. Predict, before you measure: with the printed rule and a ratio of 4, the probability of the
#    better configuration comes close to 1, stays close to 1/2, or comes to rest in between.
# 2. Measure: write `table_4` and `interval_4`, and run, in the folder of this file,
#
#        from my_ex05 import interval_4, table_4  # the name of your file
#        from fedlab_edu.experiments.weights import better_share
#
#        conditions = [(2.0, False), (2.0, True), (4.0, False), (4.0, True)]  # ratio, divide
#        table = table_4(better_share, conditions, range(6))
#        for condition, row in zip(conditions, table):
#            print(condition, "mean", sum(row) / len(row))
#        print(interval_4(table[2], table[3], 2.571))
#
#    The runs are *paired*: all conditions see the same seeds. 2.571 is the 97.5 % quantile of
#    Student's distribution with 5 degrees of freedom.
# 3. Interpret in three sentences.


# %% tags=["exercise", "q4"]
def predict_4() -> str:
    """Exercise 5.4: your prediction; a wrong one costs nothing.

    Returns: where the probability of the better configuration goes with the
        printed rule and a ratio of 4, one of "to 1", "to 1/2" and "in between".
    """
    # Your answer goes here: replace the next line.
    raise NotImplementedError("not written yet")


# %% tags=["exercise"]
def table_4(
    run: Callable[[float, bool, int], float],
    conditions: list[tuple[float, bool]],
    seeds: list[int],
) -> list[list[float]]:
    """Measure all conditions with the same seeds.

    Args:
        run: `run(ratio, divide, seed)` returns one number, as `better_share`.
        conditions: pairs (ratio, divide).
        seeds: of the runs of each condition.

    Returns: for each condition a list of its numbers, one for each seed.

    Roughly 3 lines.
    """
    # Your answer goes here: replace the next line.
    raise NotImplementedError("not written yet")


# %% tags=["exercise"]
def interval_4(
    first: list[float], second: list[float], t: float
) -> tuple[float, float]:
    """Return the 95 % interval of the mean difference second - first of paired
    runs.

    Args:
        first: numbers x_s of one condition, one for each of n >= 2 seeds s.
        second: numbers y_s of the other condition with the same seeds.
        t: the 97.5 % quantile of Student's distribution with n - 1 degrees of
            freedom.

    Returns: the ends (d - h, d + h), where d is the mean of the n differences
        y_s - x_s and h = t * sd / sqrt(n), with their standard deviation sd
        (divided by n - 1 under the root).

    Roughly 4 lines.
    """
    # Your answer goes here: replace the next line.
    raise NotImplementedError("not written yet")


# %% tags=["exercise"]
def reading_4() -> str:
    """Return what your table says, for your instructor, who reads it.

    Returns: three sentences, together at least 100 characters, with a number
        such as 0.83: what you predicted and what you measured, with the
        interval; why p comes to rest where it does, with the numbers of both
        ratios; what this experiment cannot tell.
    """
    # Your answer goes here: replace the next line.
    raise NotImplementedError("not written yet")

# %% [markdown]
# # Exercise 8: evolution by hand
#
# **FedPop** (Chen et al., 2023, section 3) trains several *members* side by side. A member is a
# model with hyperparameters of its own, and its score is its validation loss. Every few rounds the
# worst members give up: each takes over the weights of one of the best, and its hyperparameters
# with small changes. So tuning goes on while the models train.
#
# - **Core**, 90 minutes, 21 points: a member's score (8.1), how a child is made (8.2), who is among
#   the best and who among the worst (8.3), one turn of evolution for the whole population (8.4),
#   and the scores by which the clients of one member copy one another (8.5).
# - **Experiment**, 60 minutes, 12 points (8.6): should these be losses or differences of losses?
#
# The arrays are those of NumPy, of float64 where nothing else is said. Nothing here is random: what
# is drawn goes in as an argument. No function may change its arguments, and no question needs the
# answer to another one.

# %%
from collections.abc import Callable

import numpy as np


# %% tags=["exercise", "q1"]
def window_mean(trace: np.ndarray, gamma: float, T: int, born: int) -> float:
    """Exercise 8.1: a member's score, the discounted mean of its last rounds.

    Args:
        trace: (r,), r >= 1, the member's loss in each round so far, the newest
            last. inf where a client has diverged, NaN where no client of the
            round had validation data.
        gamma: each round counts gamma times as much as the one after it. From
            above 0 to 1.
        T: how many rounds the score looks back at most.
        born: the number of rounds before the member was copied from another
            one; 0 if it never was. From 0 to r. Losses of these rounds are
            those of another model.

    Returns: a float: the weighted mean of the losses of the last T rounds,
        without those before the member was born and without those that are NaN.
        Rounds that are left out do not count, and the newest of the others has
        weight 1, the one before it gamma, then gamma^2, and so on. NaN if none
        is left, and inf if one of them is inf. trace is not changed.

    Roughly 6 lines.
    """
    # BEGIN SOLUTION
    window = trace[max(born, len(trace) - T) :]
    window = window[~np.isnan(window)]
    if len(window) == 0:
        return float("nan")
    weights = gamma ** np.arange(len(window))[::-1]
    return float(weights @ window / weights.sum())
    # END SOLUTION


# %% tags=["exercise", "q2"]
def evo_annealed(
    h: np.ndarray,
    a: float,
    b: float,
    eps: float,
    p_re: float,
    r: int,
    R: int,
    coin: np.ndarray,
    fresh: np.ndarray,
    u: np.ndarray,
) -> np.ndarray:
    """Exercise 8.2: Evo in round r, for one hyperparameter of n members at
    once.

    The interval is that of the scale in which the hyperparameter was drawn at
    first. For a learning rate from 0.0001 to 1 it is [-4, 0], and h holds the
    logarithms to the base 10.

    Args:
        h: (n,), the values of the members, from a to b.
        a, b: the ends of the interval, a < b.
        eps: how far a value may move in round 0, as a share of the length
            b - a. From 0 to 1.
        p_re: the probability of a fresh draw in round 0. From 0 to 1.
        r, R: the round, from 0 to R, of R >= 1. Both eps and p_re are annealed:
            in round r they are multiplied by a factor that falls along half a
            cosine, from 1 in round 0 to 0 in round R. (In round R / 2 it is
            1/2, and at first it falls slowly.)
        coin, fresh, u: (n,) each, draws from [0, 1). Entry k belongs to member
            k.

    Returns: (n,), the next values. Where coin is below the annealed p_re, it is
        the fresh draw a + (b - a) fresh, whatever h is. Elsewhere it is h + (2
        u - 1) (b - a) eps with the annealed eps, which is up to (b - a) eps
        below or above h; and if this is outside [a, b], the nearer end. (The
        paper does not say what to do outside, but a dropout rate below 0 means
        nothing.) The arguments are not changed.

    Roughly 4 lines.
    """
    # BEGIN SOLUTION
    factor = (1 + np.cos(np.pi * r / R)) / 2
    moved = np.clip(h + (2 * u - 1) * (b - a) * eps * factor, a, b)
    return np.where(coin < p_re * factor, a + (b - a) * fresh, moved)
    # END SOLUTION


# %% tags=["exercise", "q3"]
def top_and_bottom(
    scores: np.ndarray, rho: float
) -> tuple[np.ndarray, np.ndarray]:
    """Exercise 8.3: the places of the best and of the worst members.

    Each set has K / rho of the K members, rounded up, but no more than K / 2,
    rounded down. So no member is in both. (The paper takes all scores up to a
    quantile, and all from another one. If all scores are equal, each member is
    then in both sets, and even the best one is replaced.)

    Args:
        scores: (K,), validation losses: lower is better. Some may be inf, and
            NaN counts as inf: a member that has diverged has one of the two.
        rho: about one in rho is in either set. At least 1.

    Returns: a pair (top, bottom) of lists, or of arrays, of places from 0 to
        K - 1. Rank the members from the best to the worst, of equal scores the
        lower place first. top are the first of this ranking, and bottom the
        last of it, both in its order: the best of all is the first of top, and
        the worst of all the last of bottom. With K = 1 both are empty. scores
        is not changed.

    Roughly 4 lines.
    """
    # BEGIN SOLUTION
    K = len(scores)
    ranking = np.argsort(
        np.where(np.isnan(scores), np.inf, scores), kind="stable"
    )
    n = min(int(np.ceil(K / rho)), K // 2)
    return ranking[:n], ranking[K - n :]
    # END SOLUTION


# %% tags=["exercise", "q4"]
def exploit(
    hp: np.ndarray,
    weights: np.ndarray,
    top: list[int],
    bottom: list[int],
    u: np.ndarray,
    evolve: Callable[[np.ndarray, int], np.ndarray],
) -> tuple[np.ndarray, np.ndarray]:
    """Exercise 8.4: one turn of evolution for the whole population.

    Each member of the bottom is replaced: it copies the weights and the
    hyperparameters of a member of the top, and the hyperparameters evolve. All
    are replaced at once. A member may be in both sets, with the sets of the
    paper. It is then replaced, and members that copy it get its old values.

    Args:
        hp: (K, h), row k holds the hyperparameters of member k.
        weights: (K, d), row k holds the weights of its model.
        top: the places, from 0 to K - 1, of those that may be copied, each
            once, the best first. It is empty where all have diverged.
        bottom: the places of those that are replaced, each once, in any order.
            Some of them may be in the top as well.
        u: (K,), draws from [0, 1). Member b of the bottom copies member
            top[int(u[b] * len(top))].
        evolve: a function. evolve(x, b) returns (h,), what Evo makes for member
            b of the hyperparameters x, (h,). Here x are those of the member
            that b copies.

    Returns: a pair (hp, weights) of arrays, for the next rounds. A member of
        the bottom has the weights of the one that it copies, as they are, and
        the evolved hyperparameters. All others have what they had, and if the
        top is empty, so has the bottom. The arguments are not changed.

    Roughly 6 lines.
    """
    # BEGIN SOLUTION
    new_hp, new_weights = hp.copy(), weights.copy()
    for b in bottom if top else []:
        parent = top[int(u[b] * len(top))]
        new_hp[b] = evolve(hp[parent], b)
        new_weights[b] = weights[parent]
    return new_hp, new_weights
    # END SOLUTION


# %% tags=["exercise", "q5"]
def vector_scores(
    before: np.ndarray,
    after: np.ndarray,
    diverged: np.ndarray,
    gamma: float,
    difference: bool,
) -> np.ndarray:
    """Exercise 8.5: the scores of FedPop-L's K vectors after T rounds.

    In each round one client trains with each vector. The paper judges a vector
    by the loss of its client after the training. That is high where the
    client's data are hard, with any vector. The *difference*, the loss after
    the training minus the loss before, is what the training changed.

    Args:
        before, after: (T, K), the validation losses, before and after its
            training, of the client that trained with vector k in round t; the
            newest round is the last row. Both are NaN where that client had no
            validation data.
        diverged: (T, K), bool, True where the client's model has diverged. Its
            losses may then be inf, NaN, or any number.
        gamma: each round counts gamma times as much as the one after it,
            whether or not rounds are left out. From above 0 to 1.
        difference: whether to judge by the difference, or by the loss after.

    Returns: (K,), for each vector the mean over its rounds, in which round t
        counts gamma^(T - 1 - t), t from 0. Rounds without validation data are
        left out, of the sum and of the weights. A vector with which a client
        has diverged gets inf, whatever else it has seen, and one with no round
        left gets NaN. The arguments are not changed.

    Roughly 7 lines.
    """
    # BEGIN SOLUTION
    scores = after - before if difference else after
    known = ~np.isnan(scores) & ~diverged
    weights = gamma ** np.arange(len(scores))[::-1, None] * known
    with np.errstate(invalid="ignore"):
        means = np.where(known, weights * scores, 0).sum(0) / weights.sum(0)
    return np.where(diverged.any(0), np.inf, means)
    # END SOLUTION


# %% [markdown]
# ## Exercise 8.6: an experiment
#
# FedPop-L judges a vector by the loss of its client after training, which is high where the data
# are hard. Does it find a better step size if it judges by the difference, as in 8.5?
# `fedlab_edu.experiments.judging.doublings(score, lr, seed)` runs FedPop-L for ten rounds from a
# base with the step size `lr`, and returns by how many doublings the step sizes of its vectors have
# risen. From 0.01, which is too small, they should rise; the box around the base ends at 1.33.
#
# 1. Predict, before you measure: do they rise "more", "as much" or "less" if `score` is
#    "difference" and not "after"?
# 2. Measure: write `table_6` and `interval_6`, and run, in the folder of this file,
#
#        from my_ex08 import interval_6, table_6  # the name of your file
#        from fedlab_edu.experiments.judging import doublings
#
#        conditions = [("after", 0.01), ("difference", 0.01)]  # score, lr
#        table = table_6(doublings, conditions, range(8))
#        for condition, row in zip(conditions, table):
#            print(condition, "mean", sum(row) / len(row))
#        print(interval_6(table[0], table[1], 2.365))
#
#    The runs are *paired*: both conditions see the same seeds, so the luck of a seed cancels in a
#    difference. 2.365 is the 97.5 % quantile of Student's distribution with 7 degrees of freedom.
# 3. Interpret in three sentences. Before you write the third one, try a base of 1.0, which is too
#    large, so that the step size should fall.


# %% tags=["exercise", "q6"]
def predict_6() -> str:
    """Exercise 8.6: your prediction; a wrong one costs nothing.

    Returns: how far step sizes rise from 0.01 by the difference, compared with
        the loss after: one of "more", "as much" and "less".
    """
    # BEGIN SOLUTION
    return "more"
    # END SOLUTION


# %% tags=["exercise"]
def table_6(
    run: Callable[[str, float, int], float],
    conditions: list[tuple[str, float]],
    seeds: list[int],
) -> list[list[float]]:
    """Measure all conditions with the same seeds.

    Args:
        run: `run(score, lr, seed)` returns one number, as `doublings`.
        conditions: pairs (score, lr).
        seeds: of the runs of each condition.

    Returns: for each condition a list of its numbers, one for each seed.

    Roughly 3 lines.
    """
    # BEGIN SOLUTION
    return [
        [run(score, lr, seed) for seed in seeds] for score, lr in conditions
    ]
    # END SOLUTION


# %% tags=["exercise"]
def interval_6(
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
    # BEGIN SOLUTION
    differences = np.array(second) - np.array(first)
    d = differences.mean()
    h = t * differences.std(ddof=1) / np.sqrt(len(differences))
    return float(d - h), float(d + h)
    # END SOLUTION


# %% tags=["exercise"]
def reading_6() -> str:
    """Return what your table says, for your instructor, who reads it.

    Returns: three sentences, together at least 100 characters, with a number
        such as 0.83: what you predicted and what you measured, with the
        interval; why it is so; what this experiment cannot tell.
    """
    # BEGIN SOLUTION
    return """I predicted more, and by the difference step sizes rose by 0.52
    doublings more than by the loss after, with the 95 % interval from 0.13 to
    0.91. The loss after is high where a client's data are hard, whatever its
    vector, so it mostly ranks clients, and subtracting the loss before removes
    that part. It does not say that FedPop errs less with it, because a larger
    step size was good here by construction: from a base of 1.0, the difference
    did not bring the step size down further (-0.44 against -0.68 doublings, the
    interval contains 0)."""
    # END SOLUTION

# %% [markdown]
# # Exercise 8: evolution by hand
#
# **FedPop** (Chen et al., 2023, section 3) trains several *members* side by side. A member is a
# model with hyperparameters of its own, and its score is its validation loss. Every few rounds the
# worst members give up: each takes over the weights of one of the best, and its hyperparameters
# with small changes. So tuning goes on while the models train. What changes a hyperparameter is
# called *Evo*: as a rule it moves a little, and at times it is drawn afresh. You write
#
# - Evo for a hyperparameter from an interval,
# - Evo for one from a list of options,
# - who is among the best, and who among the worst,
# - and one turn of evolution for the whole population.
#
# The arrays are those of NumPy, of float64 where nothing else is said. Nothing here is random: what
# is drawn goes in as an argument. No function may change its arguments, and no question needs the
# answer to another one.

# %%
from collections.abc import Callable

import numpy as np


# %% tags=["exercise", "q1"]
def evo_continuous(
    h: np.ndarray,
    a: float,
    b: float,
    eps: float,
    p_re: float,
    coin: np.ndarray,
    fresh: np.ndarray,
    u: np.ndarray,
) -> np.ndarray:
    """Exercise 8.1: Evo for a hyperparameter from an interval, for n members at once.

    The interval is that of the scale in which the hyperparameter was drawn at first. For a learning
    rate from 0.0001 to 1 it is [-4, 0], and h holds the logarithms to the base 10.

    Args:
        h: (n,), the values of the members, from a to b.
        a, b: the ends of the interval, a < b.
        eps: how far a value may move, as a share of the length b - a. From 0 to 1.
        p_re: the probability of a fresh draw. From 0 to 1.
        coin, fresh, u: (n,) each, draws from [0, 1). Entry k belongs to member k.

    Returns: (n,), the next values. Where coin < p_re, it is the fresh draw a + (b - a) fresh,
        whatever h is. Elsewhere it is h + (2 u - 1) (b - a) eps, which is up to (b - a) eps below
        or above h; and if this is outside [a, b], the nearer end. (The paper does not say what to
        do outside, but a dropout rate below 0 means nothing.) The arguments are not changed.

    Roughly 2 lines.
    """
    # BEGIN SOLUTION
    moved = np.clip(h + (2 * u - 1) * (b - a) * eps, a, b)
    return np.where(coin < p_re, a + (b - a) * fresh, moved)
    # END SOLUTION


# %% tags=["exercise", "q2"]
def evo_discrete(
    i: np.ndarray,
    n: int,
    eps: float,
    p_re: float,
    coin: np.ndarray,
    fresh: np.ndarray,
    u: np.ndarray,
) -> np.ndarray:
    """Exercise 8.2: Evo for a hyperparameter from a list of options, for m members at once.

    The options are in an order, such as 1, 2, 3, 4, 5 local epochs. A member has the place i of its
    option in the list, from 0. It moves by s places, where s is (n - 1) eps, rounded to the nearest
    whole number, but at least 1. (The paper has no "at least 1". With five options and its eps of
    0.1 this is round(0.4) = 0, and the number of local epochs would never move.)

    Args:
        i: (m,), int64, the places of the members, from 0 to n - 1.
        n: the number of options.
        eps: how far a place may move, as a share of n - 1. From 0 to 1; (n - 1) eps is never
            halfway between two whole numbers.
        p_re: the probability of a fresh draw. From 0 to 1.
        coin, fresh, u: (m,) each, draws from [0, 1). Entry k belongs to member k.

    Returns: (m,), int64, the next places. Where coin < p_re, it is the fresh draw fresh n, rounded
        down. Elsewhere it is i - s if u is in the first third of [0, 1), i in the second, and i + s
        in the last; and below 0 it is 0 instead, above n - 1 it is n - 1. The arguments are not
        changed.

    Roughly 4 lines.
    """
    # BEGIN SOLUTION
    s = max(1, round((n - 1) * eps))
    steps = np.floor(3 * u).astype(np.int64) - 1
    moved = np.clip(i + s * steps, 0, n - 1)
    return np.where(coin < p_re, np.floor(fresh * n).astype(np.int64), moved)
    # END SOLUTION


# %% tags=["exercise", "q3"]
def top_and_bottom(scores: np.ndarray, rho: float) -> tuple[np.ndarray, np.ndarray]:
    """Exercise 8.3: the places of the best and of the worst members.

    Of K members K / rho are in either set, rounded up, but no more than K / 2, rounded down. So
    nobody is in both. (The paper takes all scores up to a quantile, and all from another one. If
    all scores are equal, each member is then in both sets, and even the best one is replaced.)

    Args:
        scores: (K,), validation losses: lower is better. Some may be inf, and NaN counts as inf: a
            member that has diverged has one of the two.
        rho: about one in rho is in either set. At least 1.

    Returns: a pair (top, bottom) of lists, or of arrays, of places from 0 to K - 1. Rank the
        members from the best to the worst, of equal scores the lower place first. top are the first
        of this ranking, and bottom the last of it, both in its order: the best of all is the first
        of top, and the worst of all the last of bottom. With K = 1 both are empty. scores is not
        changed.

    Roughly 4 lines.
    """
    # BEGIN SOLUTION
    K = len(scores)
    ranking = np.argsort(np.where(np.isnan(scores), np.inf, scores), kind="stable")
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

    Each member of the bottom is replaced: it copies the weights and the hyperparameters of a member
    of the top, and the hyperparameters evolve. All are replaced at once. So if one is in both sets,
    as may happen with the sets of the paper, it is replaced, and whoever copies it gets what it was
    before.

    Args:
        hp: (K, h), row k holds the hyperparameters of member k.
        weights: (K, d), row k holds the weights of its model.
        top: the places, from 0 to K - 1, of those that may be copied, each once, the best first.
            It is empty where all have diverged.
        bottom: the places of those that are replaced, each once, in any order. Some of them may be
            in the top as well.
        u: (K,), draws from [0, 1). Member b of the bottom copies member top[int(u[b] * len(top))].
        evolve: a function. evolve(x, b) returns (h,), what Evo makes for member b of the
            hyperparameters x, (h,). Here x are those of the member that b copies.

    Returns: a pair (hp, weights) of arrays, for the next rounds. A member of the bottom has the
        weights of the one that it copies, as they are, and the evolved hyperparameters. All others
        have what they had, and if the top is empty, so has the bottom. The arguments are not
        changed.

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

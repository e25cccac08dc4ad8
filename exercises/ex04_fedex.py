# %% [markdown]
# # Exercise 4: FedEx by hand
#
# Successive halving trains a model of its own for each configuration that it tries. **FedEx**
# (Khodak et al., 2021, Algorithm 2) trains one model, and its clients try k configurations at once,
# the rows of a table. Each client of a round draws a row j with probability `theta[j]`, trains with
# it, and reports a *score*: how wrong the result is on its validation examples. Then rows that
# scored low get more probable.
#
# - **Core**, 130 minutes, 28 points: how `theta` changes. That takes an estimate of the gradient of
#   the mean score with respect to `theta`, from few drawn rows (4.1); the exponentiated gradient
#   step, which keeps `theta` a distribution (4.2); the *baseline*, a mean of earlier scores, which
#   makes the estimate less noisy (4.3); all of these in one round, with the step size that the
#   paper calls aggressive, and how soon this and two other step sizes commit themselves (4.4); and
#   FedEx in each arm of successive halving, Algorithm 3, which tunes the server as well (4.5).
# - **Experiment**, 60 minutes, 12 points (4.6): what the first round costs, alone and in a search.
#
# The vectors are tensors of float64; only the rows are int64. Nothing here is random: which row a
# client has drawn is an argument. No function may change its arguments.

# %%
import math
from collections.abc import Callable

import torch
from torch import Tensor


# %% tags=["exercise", "q1"]
def gradient(
    theta: Tensor, row: Tensor, score: Tensor, size: Tensor, baseline: float
) -> Tensor:
    """Exercise 4.1: an estimate of the gradient of the mean score with respect
    to theta.

    A client reports the score of one row only, the one that it used, so there
    are few reports about a row that is drawn rarely. Dividing by its
    probability makes up for that: on average over the draws g_j is the mean
    score with row j, minus lambda. That all entries are too low by lambda
    changes nothing in 4.2.

    Args:
        theta: (k,), the probabilities of the rows. Some may be 0; no client
            used those rows.
        row: (B,), int64, the row that each client used. Several clients may
            have used the same.
        score: (B,), the clients' scores.
        size: (B,), their numbers of validation examples.
        baseline: lambda, which is subtracted from each score.

    Returns: (k,), g_j is the sum, over the clients i that used row j, of
        (size_i / sum of all B sizes) (score_i - lambda) / theta_j. It is 0 for
        a row that no client used, even where theta_j is 0. The arguments are
        not changed.

    Roughly 5 lines.
    """
    # Your answer goes here: replace the next line.
    raise NotImplementedError("not written yet")


# %% tags=["exercise", "q2"]
def exponentiate(z: Tensor, gradient: Tensor, eta: float) -> Tensor:
    """Exercise 4.2: a step of exponentiated gradient, on the logarithms of the
    probabilities.

    The step multiplies each theta_j by exp(-eta g_j) and divides all of them by
    their sum. In the long run some of them get too small for a float; their
    logarithms do not.

    Args:
        z: (k,), log theta; an entry is -inf where theta_j is 0, but not all
            are.
        gradient: (k,), the g_j.
        eta: the step size, at least 0.

    Returns: (k,), the log of the next theta: z - eta g, plus the one number
        with which exp of the entries sums to 1. An entry -inf stays -inf, and
        no other becomes inf, -inf or NaN, even where entries of g are 100000 or
        -100000. z and gradient are not changed.

    Roughly 2 lines.
    """
    # Your answer goes here: replace the next line.
    raise NotImplementedError("not written yet")


# %% tags=["exercise", "q3"]
def baseline(trace: list[float], gamma: float) -> float:
    """Exercise 4.3: the baseline lambda of a round, from the scores of the
    rounds before it.

    Args:
        trace: the mean scores x of the earlier rounds, the oldest first, the
            newest last; empty in the first round.
        gamma: from 0 to 1.

    Returns: 0 for an empty trace. Else sum gamma^age x / sum gamma^age over its
        entries: the newest has age 0, the one before it age 1, and so on;
        gamma^0 is 1 for gamma = 0, too, so that the newest counts alone. With
        gamma = 1 it is the plain mean. A float. trace is not changed.

    Roughly 4 lines.
    """
    # Your answer goes here: replace the next line.
    raise NotImplementedError("not written yet")


# %% tags=["exercise", "q4"]
def fedex_round(
    z: Tensor,
    trace: list[float],
    row: Tensor,
    score: Tensor,
    size: Tensor,
    gamma: float,
) -> tuple[Tensor, list[float]]:
    """Exercise 4.4: what a round of FedEx changes, except for the model.

    With the aggressive step the largest change of a z_j, before exp(z) is made
    to sum to 1, is sqrt(2 ln k), however large or small the scores are. With a
    single client and lambda = 0, it does not even matter whether its score is
    good or bad: unless the score is 0, the row that it used gets less probable,
    and always by the same factor.

    Args:
        z: (k,), log theta. The clients drew their rows from theta = exp(z).
        trace: the mean scores of the earlier rounds, as in 4.3.
        row, score, size: (B,), of this round, as in 4.1.
        gamma: as in 4.3.

    Returns: a pair (z, trace).
        z: (k,), the next log theta, as in 4.2. The gradient is that of 4.1, and
            lambda is that of 4.3 for the given trace, of which this round is no
            part. The step size is eta = sqrt(2 ln k) / max_j |g_j|, and 0 where
            all g_j are 0.
        trace: a new list: the given one and, at its end, the mean score of this
            round, in which each client weighs as much as it has validation
            examples.
        The arguments are not changed.

    Roughly 5 lines; you may use your three functions from above.
    """
    # Your answer goes here: replace the next line.
    raise NotImplementedError("not written yet")


# %% tags=["exercise"]
def theta_after(g: Tensor, rule: str, rounds: int) -> Tensor:
    """Exercise 4.4, its second part: how soon FedEx commits itself, by the
    paper's step sizes.

    Suppose that every round brings the same gradient g, without noise. How sure
    of one row is theta then after some rounds? It begins with equal
    probabilities, and each round takes the step of 4.2. With m = max_j |g_j|,
    the step size of round t = 1, 2, ... is

    - "constant": sqrt(2 ln k),
    - "adaptive": sqrt(2 ln k) / sqrt(the sum of m^2 over the rounds 1 to t,
      which is t m^2),
    - "aggressive": sqrt(2 ln k) / m.

    When you have written it, multiply g by 100. With which rules does theta
    stay the same?

    Args:
        g: (k,), the gradient of each round.
        rule: one of the three names.
        rounds: how many, at least 0.

    Returns: (k,), theta, not its logarithm, after these rounds. If all g_j are
        0, theta does not change. g is not changed.

    Roughly 8 lines, with your `exponentiate`; or 5, since what moves z adds up.
    """
    # Your answer goes here: replace the next line.
    raise NotImplementedError("not written yet")


# %%
def draw(z: Tensor, u: Tensor) -> Tensor:
    """Given, for 4.5: the rows (B,) that clients draw from theta = exp(z), at u
    (B,) in [0, 1)."""
    return torch.searchsorted(z.exp().cumsum(0), u, right=True).clamp(
        max=len(z) - 1
    )


# %% tags=["exercise", "q5"]
def fedex_in_halving(
    scores: Tensor, u: Tensor, stops: list[int], eta: int, gamma: float
) -> tuple[int, Tensor]:
    """Exercise 4.5: FedEx in each arm of successive halving.

    Every arm has a model, a table of k rows, a z and a trace of its own. It
    begins with equal probabilities and an empty trace, and plays rounds of
    FedEx until it is eliminated. Eliminations end arms; an arm that goes on
    keeps its z and its trace.

    Training is recorded, so that you need no model: what a client would have
    scored with each row is an argument, and so is the number by which it draws
    its row.

    Args:
        scores: (A, T, B, k), entry [a, t, i, j] is the score that client i of
            round t + 1 of arm a reports if it has drawn row j.
        u: (A, T, B), the numbers by which these clients draw their rows, see
            `draw`.
        stops: the rounds after which arms are eliminated, and at last T, after
            which none is. They rise.
        eta: after an elimination floor(n / eta) of the n arms go on, but at
            least 1: those whose mean score of the round just played is lowest;
            of equal ones those with lower numbers.
        gamma: the discount of all baselines.

    Returns: a pair (winner, z).
        winner: the number a of the arm, counted from 0, whose mean score of
            round T is the lowest of those left, the first of equal ones; an
            int.
        z: (k,), the log theta of this arm after round T.
        All clients count the same: their sizes are 1. The arguments are not
        changed.

    Roughly 14 lines, with `draw` and your `fedex_round`, whose trace ends with
    the mean score.
    """
    # Your answer goes here: replace the next line.
    raise NotImplementedError("not written yet")


# %% [markdown]
# ## Exercise 4.6: an experiment
#
# In the first round there is no earlier score, and the baseline is 0. So every score is above it,
# and the rows that were drawn lose to those that were not, good or bad. One could *skip* the step
# of the first round instead. Does that help?
# `fedlab_edu.experiments.first_round.error_found(where, first, seed)` plays FedEx on simulated
# clients and returns the error rate of the row that it names in the end: `where` is "alone" (one
# arm, 8 rounds) or "halving" (nine arms), `first` is "zero" or "skip".
#
# 1. Predict, before you measure, what an interval over 20 seeds will say of skip against zero.
# 2. Measure: write `table_6` and `interval_6`, and run, in the folder of this file,
#
#        from my_ex04 import interval_6, table_6  # the name of your file
#        from fedlab_edu.experiments.first_round import error_found
#
#        places, firsts = ("alone", "halving"), ("zero", "skip")
#        conditions = [(where, first) for where in places for first in firsts]
#        table = table_6(error_found, conditions, range(20))
#        for i, j in ((0, 1), (2, 3), (1, 3)):
#            print(conditions[i], conditions[j], interval_6(table[i], table[j], 2.093))
#
#    The runs are *paired*: all conditions see the same seeds. 2.093 is the 97.5 % quantile of
#    Student's distribution with 19 degrees of freedom.
# 3. Interpret in three sentences.


# %% tags=["exercise", "q6"]
def predict_6() -> str:
    """Exercise 4.6: your prediction; a wrong one costs nothing.

    Returns: what the interval of the error with "skip" less the error with
        "zero" will say, alone: "skip is better", "zero is better", or "open"
        where it contains 0.
    """
    # Your answer goes here: replace the next line.
    raise NotImplementedError("not written yet")


# %% tags=["exercise"]
def table_6(
    run: Callable[[str, str, int], float],
    conditions: list[tuple[str, str]],
    seeds: list[int],
) -> list[list[float]]:
    """Measure all conditions with the same seeds.

    Args:
        run: `run(where, first, seed)` returns one number, as `error_found`.
        conditions: pairs (where, first).
        seeds: of the runs of each condition.

    Returns: for each condition a list of its numbers, one for each seed.

    Roughly 3 lines.
    """
    # Your answer goes here: replace the next line.
    raise NotImplementedError("not written yet")


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

    Roughly 6 lines.
    """
    # Your answer goes here: replace the next line.
    raise NotImplementedError("not written yet")


# %% tags=["exercise"]
def reading_6() -> str:
    """Return what your table says, for your instructor, who reads it.

    Returns: three sentences, together at least 100 characters, with a number
        such as 0.83: what you predicted and what you measured, with the
        intervals; why it is so; what this experiment cannot tell.
    """
    # Your answer goes here: replace the next line.
    raise NotImplementedError("not written yet")

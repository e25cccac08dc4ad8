# %% [markdown]
# # Exercise 3: how would you tune this?
#
# Federated averaging has a learning rate, a number of epochs, a batch size and more. Which values
# are good is found out by training with them, which costs communication rounds, and those are few.
# **Successive halving** (Khodak et al., 2021, Algorithm 1) lets many configurations begin, each
# with a model of its own: an *arm*. At certain rounds, the *stops*, all but the best arms end, so
# that most rounds go to configurations that look good.
#
# - **Core**, 95 minutes, 20 points: which stops use up a given number of rounds, and why no others
#   use more (3.1, 3.2); which arms go on, and how noisy a comparison of two arms is (3.3, 3.4);
#   and *local perturbation*, which draws new configurations near a given one (3.5).
# - **Experiment**, 60 minutes, 12 points (3.6): how many clients it takes until the winner repeats.
#
# This is plain Python: numbers, and lists of numbers. Nothing here is random, since a random draw
# goes in as an argument, and no function may change its arguments.

# %%
import math
from collections.abc import Callable


# %% tags=["exercise", "q1"]
def unspent(total: int, cap: int, eta: int, eliminations: int) -> int:
    """Exercise 3.1: the rounds that no schedule can spend.

    With R eliminations, eta^R arms begin, and one is left, which trains up to
    round `cap`. The increment D_r, r = 1, ..., R, is the number of rounds from
    stop r - 1 to stop r (for D_1 from the start). One more round in D_r costs
    eta^(R-r+1) - 1 rounds more in all: eta^(R-r+1) arms make it, but the one
    that is left at last trains up to `cap` in any case. So what is spent is

        cap + (eta^R - 1) D_1 + (eta^(R-1) - 1) D_2 + ... + (eta - 1) D_R.

    That is rarely exactly `total`. How few rounds can be left over, with whole
    increments of at least 1? There may be a billion rounds, so do not try them
    all. Look at the R costs: which of them divides all the others?

    Args:
        total: the rounds that may be spent, over all arms; enough for
            increments of 1 each.
        cap: the rounds of the arm that is left at last.
        eta: at least 2.
        eliminations: R, at least 1.

    Returns: the smallest possible number of rounds, an int of at least 0, by
        which `total` is larger than what is spent.

    Roughly 1 line.
    """
    # Your answer goes here: replace the next line.
    raise NotImplementedError("not written yet")


# %% tags=["exercise", "q2"]
def schedule(total: int, cap: int, eta: int, eliminations: int) -> list[int]:
    """Exercise 3.2: the stops with which successive halving makes the most of
    its rounds.

    Its costs are those of 3.1: one more round in D_r costs eta^(R-r+1) - 1.

    Equal increments would be
    (total - cap) / ((eta^(R+1) - 1) / (eta - 1) - R - 1), in which the divisor
    is the sum of these costs. The increments asked for

    - are whole numbers, each at least the floor of the equal one,
    - spend as many rounds as possible, but not more than `total`,
    - and, where several do so, have the largest possible D_1, then the largest
      possible D_2, and so on.

    A greedy choice is best: start from the least increments, give D_1 as many
    of the remaining rounds as it can take, then D_2, and so on. By 3.1 this
    leaves no more than it must: whatever the others leave, D_R can take all
    but what no schedule can spend.

    Args:
        total: the rounds that may be spent, over all arms.
        cap: the rounds of the arm that is left at last.
        eta: at least 2.
        eliminations: R, at least 1.

    Returns: R + 1 stops: D_1, D_1 + D_2, ..., D_1 + ... + D_R, and at last
        `cap`.

    Raises:
        ValueError: the floor of the equal increment is below 1, or with the
            increments found the last elimination, at D_1 + ... + D_R, would
            come after `cap`.

    Roughly 10 lines.
    """
    # Your answer goes here: replace the next line.
    raise NotImplementedError("not written yet")


# %% tags=["exercise", "q3"]
def survivors(scores: list[float], eta: int) -> list[int]:
    """Exercise 3.3: which arms go on after an elimination.

    Args:
        scores: of each arm that is still alive; lower is better. A model that
            has diverged may have the score inf or NaN ("not a number",
            math.nan); NaN counts as inf.
        eta: at least 2.

    Returns: the positions in `scores`, counted from 0, of the floor(n / eta)
        lowest of the n scores, but of at least 1, in rising order of the
        position. Of equal scores those at lower positions go on. scores is not
        changed.

    Roughly 3 lines. (A comparison with NaN, such as math.nan < 1, is always
    False, which is enough to confuse `sorted`. math.isnan tells which scores
    are NaN.)
    """
    # Your answer goes here: replace the next line.
    raise NotImplementedError("not written yet")


# %% tags=["exercise", "q4"]
def difference_variance(
    first: list[float], second: list[float], clients: int, same: bool
) -> float:
    """Exercise 3.4: how noisy a comparison of two arms is.

    All N clients have been asked for the errors of two arms. In a round, a
    server asks only B of them, drawn at random without replacement, and takes
    the mean of their errors. The mean of B values out of N, x_1, ..., x_N,
    drawn in this way has the variance

        S^2 / B * (1 - B / N),
        where S^2 = sum_i (x_i - mean of x)^2 / (N - 1).

    An elimination compares two arms, so the difference of two such means
    counts. In a race each arm has B clients of its own, drawn independently of
    the other's. One could as well ask the same B clients about both arms; then
    each client gives one difference.

    Args:
        first, second: the errors of the N clients with the first and with the
            second arm, N at least 2; position i is the same client in both.
        clients: B, from 1 to N.
        same: whether the same B clients are asked about both arms.

    Returns: the variance of the first arm's mean minus the second arm's, a
        float. first and second are not changed.

    Roughly 6 lines, with a helper of your own for the formula.
    """

    # Your answer goes here: replace the next line.
    raise NotImplementedError("not written yet")


# %% tags=["exercise", "q5"]
def perturb(
    c: float, low: float, high: float, eps: float, u: float, whole: bool
) -> float | int:
    """Exercise 3.5: local perturbation, which draws a value of a hyperparameter
    near a given one.

    All values are in the scale in which the hyperparameter is searched: of a
    learning rate, for instance, low, high and c are the logarithms.

    Args:
        c: the given value, from low to high.
        low, high: the ends of the range, low < high.
        eps: at least 0; how near, as a share of the range.
        u: the random draw, from [0, 1). A larger u never gives a smaller value.
        whole: whether only whole numbers count; then c, low and high are ints.

    Returns: a draw, clipped to the range: what is below low becomes low, what
        is above high becomes high. Before it is clipped, it is

        - if not whole, uniform from c - (high - low) eps at u = 0 to
          c + (high - low) eps at u = 1; a float.
        - if whole, uniform on the 2h + 1 ints c - h, ..., c + h, of which u
          takes the one at position floor(u (2h + 1)), counted from 0; an int. h
          is ceil((high - low) eps - 1e-9): without the 1e-9 a rounding error
          would count as one more, as 50 * 0.14 is 7.000000000000001 in floating
          point.

    Roughly 7 lines.
    """
    # Your answer goes here: replace the next line.
    raise NotImplementedError("not written yet")


# %% [markdown]
# ## Exercise 3.6: an experiment
#
# Nine arms have trained for three rounds. An *election* asks some clients for the arms' errors on
# their validation images, and names the arm with the lowest one. Would another election name the
# same arm? `fedlab_edu.experiments.election.winner_repeats(clients, same, seed)` holds 500 pairs of
# elections and returns the share of pairs that agree. With `same`, an election asks the same
# clients about all arms; without, each arm has clients of its own.
#
# 1. Predict, before you measure: elections ask 5 clients about each arm, each arm its own. What
#    makes winners repeat more often, asking the *same* 5 about all arms, or asking 20 of its own?
# 2. Measure: write `table_6` and `interval_6`, and run, in the folder of this file,
#
#        from my_ex03 import interval_6, table_6  # the name of your file
#        from fedlab_edu.experiments.election import winner_repeats
#
#        conditions = [(5, False), (5, True), (20, False), (20, True)]  # clients, same
#        table = table_6(winner_repeats, conditions, range(10))
#        for condition, row in zip(conditions, table):
#            print(condition, "mean", sum(row) / len(row))
#        for i in (0, 1):
#            print(conditions[i], conditions[i + 1], interval_6(table[i], table[i + 1], 2.262))
#
#    The runs are *paired*: all conditions judge the same arms. 2.262 is the 97.5 % quantile of
#    Student's distribution with 9 degrees of freedom.
# 3. Interpret in three sentences. Exercise 3.4 helps with the cause.


# %% tags=["exercise", "q6"]
def predict_6() -> str:
    """Exercise 3.6: your prediction; a wrong one costs nothing.

    Returns: what raises the share of winners that repeat more: "the same 5",
        "20 of its own", or "neither".
    """
    # Your answer goes here: replace the next line.
    raise NotImplementedError("not written yet")


# %% tags=["exercise"]
def table_6(
    run: Callable[[int, bool, int], float],
    conditions: list[tuple[int, bool]],
    seeds: list[int],
) -> list[list[float]]:
    """Measure all conditions with the same seeds.

    Args:
        run: `run(clients, same, seed)` returns one number, as `winner_repeats`.
        conditions: pairs (clients, same).
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

# %% [markdown]
# # Exercise 3: how would you tune this?
#
# Federated averaging has a learning rate, a number of epochs, a batch size and more. Which values
# are good is found out by training with them, which costs communication rounds, and those are few.
# **Successive halving** (Khodak et al., 2021, Algorithm 1) lets many configurations begin, each
# with a model of its own: an *arm*. At certain rounds, the *stops*, all but the best arms end, so
# that most rounds go to configurations that look good. You write its parts,
#
# - what it costs: how many rounds some stops take, and which stops use up a given number of them,
# - who goes on: the arms with the lowest scores, and a score that smooths noisy validation,
#
# and **local perturbation**, which draws new configurations near a given one.
#
# This is plain Python: numbers, and lists of numbers. Nothing here is random, since a random draw
# goes in as an argument, and no function may change its arguments.

# %%
import math
from itertools import product


# %% tags=["exercise", "q1"]
def rounds_used(stops: list[int], arms: int, eta: int) -> int:
    """Exercise 3.1: the communication rounds that all arms spend together.

    All arms train up to round stops[0]. Of these n arms only floor(n / eta), but at least 1, go on
    to round stops[1]; of those, by the same rule, some go on to stops[2]; and so on. The last stop
    ends it.

    Args:
        stops: at least one, each at least as large as the one before. They are rounds of an arm,
            counted from its start: an arm that goes on does not begin anew.
        arms: how many begin, at least 1.
        eta: at least 2.

    Returns: the number of rounds, an int. Each round of each arm counts one. stops is not changed.

    Roughly 5 lines.
    """
    # Your answer goes here: replace the next line.
    raise NotImplementedError("not written yet")


# %% tags=["exercise", "q2"]
def schedule(total: int, cap: int, eta: int, eliminations: int) -> list[int]:
    """Exercise 3.2: the stops with which successive halving makes the most of its rounds.

    With R eliminations, eta^R arms begin, and one is left, which trains up to round `cap`. The
    increment D_r, r = 1, ..., R, is the number of rounds from stop r - 1 to stop r (for D_1 from
    the start). One more round in D_r costs eta^(R-r+1) - 1 rounds more in all: eta^(R-r+1) arms
    make it, but the one that is left at last trains up to `cap` in any case. So what is spent is

        cap + (eta^R - 1) D_1 + (eta^(R-1) - 1) D_2 + ... + (eta - 1) D_R.

    Equal increments would be (total - cap) / ((eta^(R+1) - 1) / (eta - 1) - R - 1), in which the
    divisor is the sum of these costs. The increments asked for

    - are whole numbers, each at least the floor of the equal one,
    - spend as many rounds as possible, but not more than `total`,
    - and, where several do so, have the largest possible D_1, then the largest possible D_2, and so
      on.

    Trying them all is enough, for instance with itertools.product. After the least increments only
    a few rounds are left, fewer than the sum of the costs; so D_r cannot be larger than the least
    one by more than these rounds divided by the cost of D_r.

    Args:
        total: the rounds that may be spent, over all arms.
        cap: the rounds of the arm that is left at last.
        eta: at least 2.
        eliminations: R, at least 1.

    Returns: R + 1 stops: D_1, D_1 + D_2, ..., D_1 + ... + D_R, and at last `cap`.

    Raises:
        ValueError: the floor of the equal increment is below 1, or with the increments found the
            last elimination, at D_1 + ... + D_R, would come after `cap`.

    Roughly 12 lines.
    """
    # Your answer goes here: replace the next line.
    raise NotImplementedError("not written yet")


# %% tags=["exercise", "q3"]
def survivors(scores: list[float], eta: int) -> list[int]:
    """Exercise 3.3: which arms go on after an elimination.

    Args:
        scores: of each living arm; lower is better. A model that has diverged may have the score
            inf or NaN ("not a number", math.nan); NaN counts as inf.
        eta: at least 2.

    Returns: the positions in `scores`, counted from 0, of the floor(n / eta) lowest of the n
        scores, but of at least 1, in rising order of the position. Of equal scores those at lower
        positions go on. scores is not changed.

    Roughly 3 lines. (A comparison with NaN, such as math.nan < 1, is always False, which is enough
    to confuse `sorted`. math.isnan tells which scores are NaN.)
    """
    # Your answer goes here: replace the next line.
    raise NotImplementedError("not written yet")


# %% tags=["exercise", "q4"]
def discounted_mean(trace: list[float], gamma: float) -> float:
    """Exercise 3.4: a score that looks back on earlier rounds, and less so the longer ago they are.

    Few clients validate in a round, so that its score is noisy. A mean over some rounds is less so,
    but an early round says little about the model of today.

    Args:
        trace: the scores x of the rounds so far, at least one; the oldest first, the newest last.
        gamma: from 0 to 1.

    Returns: sum gamma^age x / sum gamma^age over the entries of the trace, a float. The newest
        entry has age 0, the one before it age 1, and so on. gamma^0 is 1 for gamma = 0, too: then
        it is the last entry. With gamma = 1 it is the plain mean. trace is not changed.

    Roughly 2 lines.
    """
    # Your answer goes here: replace the next line.
    raise NotImplementedError("not written yet")


# %% tags=["exercise", "q5"]
def perturb(c: float, low: float, high: float, eps: float, u: float, whole: bool) -> float | int:
    """Exercise 3.5: local perturbation, which draws a value of a hyperparameter near a given one.

    All values are in the scale in which the hyperparameter is searched: of a learning rate, for
    instance, low, high and c are the logarithms.

    Args:
        c: the given value, from low to high.
        low, high: the ends of the range, low < high.
        eps: at least 0; how near, as a share of the range.
        u: the random draw, from [0, 1). The value that is returned never falls as u rises.
        whole: whether only whole numbers count; then c, low and high are ints.

    Returns: a draw, clipped to the range: what is below low becomes low, what is above high becomes
        high. Before it is clipped, it is

        - if not whole, uniform from c - (high - low) eps at u = 0 to c + (high - low) eps at u = 1;
          a float.
        - if whole, uniform on the 2h + 1 ints c - h, ..., c + h, of which u takes the one at
          position floor(u (2h + 1)), counted from 0; an int. h is ceil((high - low) eps - 1e-9):
          without the 1e-9 a rounding error would count as one more, as 50 * 0.14 is
          7.000000000000001 in floating point.

    Roughly 7 lines.
    """
    # Your answer goes here: replace the next line.
    raise NotImplementedError("not written yet")

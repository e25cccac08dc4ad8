"""Schedules of random search, successive halving and Hyperband; and the rules that they go by.

A schedule says how many arms begin, at which rounds all but the best of them stop, and so how many
communication rounds are spent. Khodak et al. (2021), Algorithm 1 and appendix D.1; Li et al.
(2018), *Hyperband*, Algorithm 1.
"""

from collections.abc import Sequence
from itertools import accumulate, count, cycle, pairwise, takewhile
from math import isnan
from typing import Literal, NamedTuple, SupportsIndex

import numpy as np

from fedlab_edu.registry import storable
from fedlab_edu.validate import MOST, require, whole


@storable
class Schedule(NamedTuple):
    """One bracket: arms that start together, of which some stop early.

    Fields:
        stops: at each of these rounds but the last, about one arm in eta goes on; the last is the
            round up to which those left are trained.
        arms: how many begin.
        used: the communication rounds that all of them spend.
        eta: the factor by which each elimination divides the number of arms.
    """

    stops: tuple[int, ...]
    arms: int
    used: int
    eta: int


def schedule(
    total: SupportsIndex,
    cap: SupportsIndex,
    eta: SupportsIndex = 3,
    eliminations: SupportsIndex = 3,
) -> Schedule:
    """Successive halving: eta^R arms, R eliminations, and a last arm that trains up to the cap.

    The increments between stops are whole numbers, each at least
    ``floor((total - cap) / ((eta^(R+1) - 1) / (eta - 1) - R - 1))``, and use as much of the total
    as they can; where several do, the earliest increment is the largest possible. Without
    eliminations it is random search: ``floor(total / cap)`` arms of ``cap`` rounds.

    Args:
        total: communication rounds to spend, over all arms.
        cap: communication rounds of one arm at most.

    Raises:
        ValueError: the total is too small for so many arms, or so large that arms would have to
            train beyond the cap before the last elimination.

    Source: Khodak et al. (2021), Algorithm 1 and appendix D.1.
    """
    total, cap, eta = whole("total", total, 1), whole("cap", cap, 1), whole("eta", eta, 2)
    eliminations = whole("eliminations", eliminations, 0, 20)  # 2^20 arms are above a million
    if eliminations == 0:
        require(total >= cap, "total", total, f"at least {cap}, the rounds of one arm")
        return bracket((cap,), total // cap, eta)
    # one more round before elimination r costs this much more than the rounds of the last arm
    costs = tuple(eta**left - 1 for left in range(eliminations, 0, -1))
    least = (total - cap) // sum(costs)
    allowed = f"at least {cap + sum(costs)}, with a cap of {cap} and {eta**eliminations} arms"
    require(least >= 1, "total", total, allowed)
    left, increments = total - cap - least * sum(costs), []
    for cost in costs:  # each is a multiple of the last, so that no other way leaves less
        more, left = divmod(left, cost)
        increments.append(least + more)
    stops = list(accumulate(increments))
    allowed = f"a larger one: the last elimination of a total of {total} would be at {stops[-1]}"
    require(stops[-1] <= cap, "cap", cap, allowed)
    return bracket((*stops, cap), eta**eliminations, eta)


def brackets(total: SupportsIndex, cap: SupportsIndex, eta: SupportsIndex = 3) -> list[Schedule]:
    """Hyperband's brackets, from one that stops most arms very early to one that stops none.

    Bracket s = S, ..., 0, with S the largest for which ``eta^S <= cap``, begins with
    ``ceil((S+1)/(s+1) eta^s)`` arms and stops at ``floor(cap eta^(i-s))``, i = 0, ..., s. When all
    have been listed it begins anew, and leaves out brackets for which too little of the total is
    left, until none fits.

    Raises:
        ValueError: the total is too small for any bracket, or enough for more than a million.

    Source: Li et al. (2018), Algorithm 1; repeated as in FedTune, section 4.1.1.
    """
    total, cap, eta = whole("total", total, 1), whole("cap", cap, 1), whole("eta", eta, 2)
    most = sum(1 for _ in takewhile(lambda s: eta**s <= cap, count(1)))
    every = []
    for s in range(most, -1, -1):
        arms = -(-((most + 1) * eta**s) // (s + 1))
        every.append(bracket([cap // eta ** (s - i) for i in range(s + 1)], arms, eta))
    smallest = min(b.used for b in every)
    require(total >= smallest, "total", total, f"at least {smallest}, for the smallest bracket")
    allowed = f"at most {MOST * smallest:,}, for {MOST:,} of the smallest brackets"
    require(total <= MOST * smallest, "total", total, allowed)
    chosen: list[Schedule] = []
    left = total
    for one in cycle(every):
        if left < smallest:
            return chosen
        if one.used <= left:
            chosen.append(one)
            left -= one.used
    raise AssertionError("a cycle has no end")


def bracket(stops: Sequence[SupportsIndex], arms: SupportsIndex, eta: SupportsIndex) -> Schedule:
    """The schedule with these stops, and the rounds that it uses.

    Raises:
        ValueError: no arm, or more than a million; stops that fall or begin below 1; eta below 2.
    """
    arms, eta = whole("arms", arms, 1, MOST), whole("eta", eta, 2)
    rounds = tuple(whole("stop", stop, 1) for stop in stops)
    rising = rounds and all(a <= b for a, b in pairwise(rounds))
    require(rising, "stops", list(rounds), "rounds from 1 on that do not fall")
    used, left = arms * rounds[0], arms
    for before, stop in pairwise(rounds):
        left = kept(left, eta)
        used += left * (stop - before)
    return Schedule(rounds, arms, used, eta)


def kept(arms: int, eta: int) -> int:
    """How many of so many arms an elimination leaves: ``max(1, floor(arms / eta))``."""
    return max(1, arms // eta)


def survivors(
    scores: Sequence[float], eta: int, rule: Literal["rank", "quantile"] = "rank"
) -> list[int]:
    """The places of the scores that an elimination leaves, in rising order.

    Args:
        scores: lower is better; NaN counts as +inf.
        rule: "rank" keeps the lowest ``max(1, floor(n / eta))``, ties to the lower place.
            "quantile" is the rule as it is printed: all that are not above the 1/eta-quantile
            (linear interpolation), which with ties may be all of them.

    Raises:
        ValueError: no score; eta below 2; an unknown rule.

    Source: Khodak et al. (2021), Algorithm 1.
    """
    require(len(scores) > 0, "scores", [], "at least one")
    require(eta >= 2, "eta", eta, "at least 2")
    require(rule in ("rank", "quantile"), "rule", rule, "'rank', 'quantile'")
    known = [np.inf if isnan(score) else float(score) for score in scores]
    order = sorted(range(len(known)), key=lambda a: (known[a], a))
    if rule == "quantile":  # no score lies between the one below a quantile and the quantile
        below = known[order[(len(known) - 1) // eta]]
        return [a for a, score in enumerate(known) if score <= below]
    return sorted(order[: kept(len(known), eta)])


def best_index(scores: Sequence[float]) -> int:
    """The place of the lowest score: of equal ones the first, and NaN counts as +inf."""
    return survivors(scores, max(2, len(scores)))[0]


def last_stop(stops: Sequence[int], t: int) -> int:
    """The last stop before round t, after which an estimate begins anew; 0 if there is none."""
    return max((stop for stop in stops if stop < t), default=0)


def discounted_mean(trace: Sequence[float], gamma: float) -> float:
    """``sum_age gamma^age x_age / sum_age gamma^age``; the last entry has age 0, and 0^0 is 1.

    So gamma = 0 takes the last entry, and gamma = 1 the mean.

    Raises:
        ValueError: nothing in the trace, or gamma outside [0, 1].

    Source: Khodak et al. (2021), section 2, *power decay weighting*, and appendix C.3.
    """
    require(len(trace) > 0, "trace", [], "at least one score")
    require(0 <= gamma <= 1, "gamma", gamma, "a number from 0 to 1")
    weights = float(gamma) ** np.arange(len(trace))[::-1]
    counts = weights > 0  # 0 times an infinite score would be NaN
    x = np.asarray(trace, dtype=np.float64)[counts]
    return float(weights[counts] @ x / weights.sum())


class Elimination(NamedTuple):
    """What happened at one stop: the scores of the arms then living, and who went on."""

    stop: int
    scores: dict[int, float]
    survivors: list[int]


def halving(
    traces: Sequence[Sequence[float]],
    stops: Sequence[int],
    eta: int = 3,
    gamma: float = 0.0,
    rule: Literal["rank", "quantile"] = "rank",
) -> list[Elimination]:
    """Successive halving over scores that are already there: what it would have done.

    Args:
        traces: of each arm the scores of its rounds, from the first.
        stops: as in a `Schedule`; nobody is eliminated at the last.
        gamma: the score at a stop is the discounted mean of the rounds since the stop before. One
            round that counts and is NaN makes it NaN, the worst of scores; this differs from a
            `Race`, which leaves out such rounds, in which no client could validate.

    Raises:
        ValueError: a trace that is too short for an arm that goes on.

    Source: Khodak et al. (2021), Algorithm 1 and section 2.
    """
    alive, out = list(range(len(traces))), []
    for stop in stops[:-1]:
        since = last_stop(stops, stop)
        shortest = min(len(traces[a]) for a in alive)
        require(shortest >= stop, "rounds of a living arm", shortest, f"at least {stop}")
        scores = {a: discounted_mean(traces[a][since:stop], gamma) for a in alive}
        best = survivors(list(scores.values()), eta, rule)
        alive = [alive[place] for place in best]
        out.append(Elimination(stop, scores, alive))
    return out

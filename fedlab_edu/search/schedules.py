"""Schedules of random search, successive halving and Hyperband, and rules of elimination.

Khodak et al. (2021), Algorithm 1 and appendix D.1; Li et al. (2018), *Hyperband*, Algorithm 1.
"""

from collections.abc import Sequence
from itertools import count, cycle, pairwise, takewhile
from math import inf, isnan
from typing import Literal, NamedTuple, SupportsIndex

from fedlab_edu.validate import MOST, require, whole


class Schedule(NamedTuple):
    """One bracket: arms that start together, some of which stop early.

    Fields:
        stops: rounds of eliminations, then the last round of the remaining arms.
        arms: the number of arms that start.
        used: communication rounds over all arms.
        eta: the factor by which an elimination divides the number of arms.
    """

    stops: tuple[int, ...]
    arms: int
    used: int
    eta: int


def schedule(
    total: SupportsIndex, cap: SupportsIndex, eta: SupportsIndex = 3,
    eliminations: SupportsIndex = 3,
) -> Schedule:  # fmt: skip
    """Plan successive halving: eta^R arms, R eliminations, and a last arm trained up to the cap.

    The increments between stops are whole numbers, each at least
    ``floor((total - cap) / ((eta^(R+1) - 1) / (eta - 1) - R - 1))``. They use as much of the total
    as possible, early increments first. Without eliminations the result is random search:
    ``floor(total / cap)`` arms of ``cap`` rounds.

    Args:
        total, cap: communication rounds over all arms, and of one arm at most.

    Raises:
        ValueError: the total is too small for the arms, or so large that the last elimination would
            come after the cap.
    """
    total, cap = whole("total", total, 1), whole("cap", cap, 1)
    eta = whole("eta", eta, 2)
    eliminations = whole("eliminations", eliminations, 0, 20)  # 2^20 arms are above a million
    if eliminations == 0:
        require(total >= cap, "total", total, f"at least {cap}, the rounds of one arm")
        return bracket((cap,), total // cap, eta)
    # the price of one more round before elimination r, beyond the rounds of the last arm
    costs = tuple(eta**left - 1 for left in range(eliminations, 0, -1))
    least = (total - cap) // sum(costs)
    arms, needed = eta**eliminations, cap + sum(costs)
    allowed = f"at least {needed}, with a cap of {cap} and {arms} arms"
    require(least >= 1, "total", total, allowed)
    left, stops = total - cap - least * sum(costs), [0]
    for cost in costs:  # all are multiples of the last: no other way leaves less
        more, left = divmod(left, cost)
        stops.append(stops[-1] + least + more)
    allowed = f"at least {stops[-1]}, the round of the last elimination"
    require(stops[-1] <= cap, "cap", cap, allowed)
    stops.append(cap)
    return bracket(stops[1:], arms, eta)


def brackets(total: SupportsIndex, cap: SupportsIndex, eta: SupportsIndex = 3) -> list[Schedule]:
    """Return Hyperband's brackets, from one that stops most arms early to one that stops none.

    Bracket s = S, ..., 0, with S the largest for which ``eta^S <= cap``, has
    ``ceil((S+1)/(s+1) eta^s)`` arms and stops at ``floor(cap eta^(i-s))``, i = 0, ..., s. The list
    repeats, skipping brackets that no longer fit in the total, until none fits.

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
    left, turns = total, cycle(every)
    while left >= smallest:
        if (one := next(turns)).used <= left:
            chosen.append(one)
            left -= one.used
    return chosen


def bracket(stops: Sequence[SupportsIndex], arms: SupportsIndex, eta: SupportsIndex) -> Schedule:
    """Return a `Schedule` of these stops: ``bracket((10,), 3, 2)`` trains 3 arms for 10 rounds."""
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
    """Return the number of arms that survive an elimination: ``max(1, floor(arms / eta))``."""
    return max(1, arms // eta)


def survivors(
    scores: Sequence[float], eta: int, rule: Literal["rank", "quantile"] = "rank"
) -> list[int]:
    """Return the places of the scores that survive an elimination, in rising order.

    Args:
        scores: lower is better; NaN counts as +inf.
        rule: "rank" keeps the lowest ``max(1, floor(n / eta))``, ties to the lower place.
            "quantile" is the printed rule: it keeps all scores up to the 1/eta-quantile (linear
            interpolation), so with ties it may keep all.
    """
    require(rule in ("rank", "quantile"), "rule", rule, "'rank', 'quantile'")
    known = [inf if isnan(score) else float(score) for score in scores]
    require(known, "scores", [], "at least one")
    eta = whole("eta", eta, 2)
    order = sorted(range(len(known)), key=lambda a: (known[a], a))
    if rule == "quantile":
        below = known[order[(len(known) - 1) // eta]]  # the last score up to the quantile
        return [a for a, score in enumerate(known) if score <= below]
    return sorted(order[: kept(len(known), eta)])


def best_index(scores: Sequence[float]) -> int:
    """Return the place of the lowest score, the first of equals; NaN counts as +inf."""
    return survivors(scores, max(2, len(scores)))[0]


def last_stop(stops: Sequence[int], t: int) -> int:
    """Return the last stop before round t, where estimates restart, or 0."""
    return max((stop for stop in stops if stop < t), default=0)


def discounted_mean(trace: Sequence[float], gamma: float) -> float:
    """Return ``sum_age gamma^age x_age / sum_age gamma^age``; the last entry has age 0.

    gamma = 0 gives the last entry, gamma = 1 the mean. Source: Khodak et al. (2021), section 2,
    *power decay weighting*, and appendix C.3.
    """
    require(len(trace) > 0, "trace", [], "at least one score")
    require(0 <= gamma <= 1, "gamma", gamma, "a number from 0 to 1")
    weights = [float(gamma) ** age for age in reversed(range(len(trace)))]
    # 0 times an infinite score would be NaN
    total = sum(w * float(x) for w, x in zip(weights, trace, strict=True) if w > 0)
    return total / sum(weights)


class Elimination(NamedTuple):
    """One stop: the scores of the arms alive until then, and the surviving arms."""

    stop: int
    scores: dict[int, float]
    survivors: list[int]


def halving(
    traces: Sequence[Sequence[float]], stops: Sequence[int], eta: int = 3, gamma: float = 0.0
) -> list[Elimination]:
    """Replay successive halving on recorded scores, one trace for each arm.

    For stops and eta see `Schedule`. The score at a stop is the discounted mean of the rounds since
    the last stop. A NaN among them makes it NaN, the worst score; a `Race` leaves out such rounds.
    """
    alive, out = list(range(len(traces))), []
    for stop in stops[:-1]:
        since = last_stop(stops, stop)
        shortest = min([len(traces[a]) for a in alive], default=stop)
        require(shortest >= stop, "rounds of an arm that is alive", shortest, f"at least {stop}")
        scores = {a: discounted_mean(traces[a][since:stop], gamma) for a in alive}
        best = survivors([scores[a] for a in alive], eta)
        alive = [alive[place] for place in best]
        out.append(Elimination(stop, scores, alive))
    return out

"""FedPop's rules: functions of numbers and lists, for any Python, a browser's too.

Chen et al. (2023), Algorithm 1 and section 3.4.
"""

from collections.abc import Sequence
from math import ceil, cos, floor, inf, isfinite, isnan, pi
from typing import Literal

from fedlab_edu.search.schedules import discounted_mean
from fedlab_edu.validate import number, real, require

at_least_1 = real("a finite number of at least 1", lambda x: 1 <= x < inf)
_TOL = 1e-9  # K / rho may miss the whole number that it is on paper by a rounding error


def anneal(x0: float, r: int, R: int) -> float:
    """Return ``x0/2 (1 + cos(pi r / R))``: x0 in round r = 0, and 0 in round R; eq. (4)."""
    require(abs(number(x0)) < inf, "x0", x0, "a finite number")
    require(0 <= r <= R and R > 0, "r", r, f"a round from 0 to R = {R}, R above 0")
    return x0 / 2 * (1 + cos(pi * r / R))


def ranked(
    scores: Sequence[float], rho: float = 3.0, rule: Literal["rank", "quantile"] = "rank"
) -> tuple[list[int], list[int]]:
    """Return the places of the top and of the bottom scores; lower is better, NaN counts as +inf.

    Args:
        rho: at least 1.
        rule: "rank" takes ``min(ceil(K / rho), floor(K / 2))`` of K places for either, best first;
            of equal scores the lower place comes first. "quantile" is the rule as printed: scores
            up to the 1/rho-quantile, and scores from the (rho-1)/rho-quantile on (linear
            interpolation). If all scores are equal, it puts every place into both lists.
    """
    at_least_1("rho", rho)
    require(rule in ("rank", "quantile"), "rule", rule, "'rank', 'quantile'")
    known = [inf if isnan(s) else float(s) for s in scores]
    K = len(known)
    require(K > 0, "scores", [], "at least one")
    order = sorted(range(K), key=lambda k: (known[k], k))
    if rule == "quantile":  # no score lies between the one below a quantile and the quantile
        beyond = floor((K - 1) / rho + _TOL)
        low, high = known[order[beyond]], known[order[K - 1 - beyond]]
        return [k for k in range(K) if known[k] <= low], [k for k in range(K) if known[k] >= high]
    n = min(ceil(K / rho - _TOL), K // 2)
    return order[:n], order[K - n :]


def discounted_score(trace: Sequence[float], gamma: float = 0.9) -> float:
    """Return ``sum_r gamma^(T-r) s^(r) / sum_r gamma^(T-r)``, r = 1, ..., T; eq. (5).

    NaN counts as +inf.
    """
    return discounted_mean([inf if isnan(s) else s for s in trace], gamma)


def pair_parents(scores: Sequence[float], rho: float, u: Sequence[float]) -> list[tuple[int, int]]:
    """Return pairs of places (child, parent): each bottom place copies a random top place.

    Of K scores, lower is better, the bottom 1/rho copies the top 1/rho; u (K,) are draws in [0, 1).
    A place whose score is not finite has diverged: it is always a child, and never a parent. If all
    have diverged, there are no pairs.

    Source: Chen et al. (2023), Algorithm 1, *FedPop-L* and *FedPop-G*; divergence is ours.
    """
    require(len(u) == len(scores), "length of u", len(u), f"{len(scores)}, a draw for each score")
    require(all(0 <= draw < 1 for draw in u), "u", u, "draws of at least 0, and below 1")
    top, bottom = ranked(scores, rho)
    top = [k for k in top if isfinite(scores[k])]
    lost = {k for k, s in enumerate(scores) if not isfinite(s)}
    return [(k, top[int(u[k] * len(top))]) for k in sorted(lost.union(bottom)) if top]

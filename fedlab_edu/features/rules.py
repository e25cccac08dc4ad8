"""The rules of weight-sharing over feature maps: which maps are left after a round.

Khodak et al., *Weight-Sharing Beyond NAS*, section 3.1, and their code.
"""

from math import ceil
from typing import Any

import numpy as np
from jaxtyping import Float64

from fedlab_edu.features.halving import best_half
from fedlab_edu.validate import not_negative, number, require, whole

PerMap = Float64[np.ndarray, " k"]


def halve(scores: Any, alive: Any) -> PerMap:
    """Return the next probabilities: uniform on the best ``ceil(n / 2)`` of the n maps alive.

    Args:
        scores: (k,), lower is better, of equal ones the first; NaN counts as +inf.
        alive: (k,), whether each map is alive: ``p > 0``.
    """
    known, alive = _known(scores), np.asarray(alive, dtype=bool)
    ok = alive.any() and alive.shape == known.shape
    require(ok, "alive", alive.tolist(), f"{known.size}, as many as scores, at least one true")
    best = best_half(known.tolist(), np.flatnonzero(alive).tolist())
    return np.isin(np.arange(len(known)), best) / len(best)


def halve_as_printed(p: Any, scores: Any) -> PerMap:
    """Return ``2 p_i`` where ``s_i`` is at most the median of all k scores, else 0.

    The median includes eliminated maps, so later rounds may keep all or none. With ties or an odd
    number of maps the result need not sum to 1.
    """
    known = _known(scores)
    return np.where(known <= np.median(known), 2 * np.asarray(p, dtype=np.float64), 0.0)


def eg_step(p: Any, error: Any, eta: float) -> PerMap:
    """Return ``p_i exp(-eta error_i)``, normalised: a softer elimination.

    A baseline would cancel, because the errors of all maps are known here.

    Args:
        p, error: (k,), the probabilities before, and each map's validation error.
        eta: the step size; 5 in the authors' code.
    """
    p, error = np.asarray(p, dtype=np.float64), np.asarray(error, dtype=np.float64)
    require((p >= 0).all() and p.any(), "p", p.tolist(), "from 0 on, at least one above 0")
    ok = error.shape == p.shape and np.isfinite(error).all()
    require(ok, "error", error.tolist(), f"{p.size} finite numbers")
    not_negative("eta", eta)
    log = np.log(p, out=np.full(p.shape, -np.inf), where=p > 0) - eta * error
    q: np.ndarray = np.exp(log - np.logaddexp.reduce(log))  # avoids 0 / 0
    return q


def rounds_needed(k: int) -> int:
    """Return ``ceil(log2 k)``, the number of halvings that leave one of k maps."""
    return (whole("k", k, 1) - 1).bit_length()


def growing_widths(n: int, rounds: int, growth: float) -> list[int]:
    """Return the number of features of each round: n in the last, growth times fewer before.

    growth is sqrt(2) in the authors' scripts.
    """
    whole("n", n, 1)
    require(number(growth) >= 1, "growth", growth, "a number from 1 on")
    rounds = whole("rounds", rounds, 1)
    return [ceil(n / growth ** (rounds - 1 - t)) for t in range(rounds)]


def _known(scores: Any) -> np.ndarray:
    scores = np.asarray(scores, dtype=np.float64)
    return np.where(np.isnan(scores), np.inf, scores)

"""Weight-sharing over feature maps: one linear fit for all, and half of the maps go each round.

Each training example is seen through a random map, and one linear classifier is fitted to all. A
map's score is that of this fit on the validation set seen through it. Khodak et al.,
*Weight-Sharing Beyond NAS*, section 3.1.
"""

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from fedlab_edu.features.linear import Linear
from fedlab_edu.features.maps import Map
from fedlab_edu.features.selection import (
    RIDGE,
    Data,
    PerMap,
    Score,
    check_score,
    map_scores,
    shared_fit,
    split_scores,
)
from fedlab_edu.validate import number, require, whole

Validation = Literal["whole", "split"]


class History(NamedTuple):
    """The result of each round, and the map chosen.

    Fields:
        p: (k,) for each round, the probabilities after it.
        scores: (k,) for each round, NaN for maps that were not scored.
        pick: the place of the chosen map. To get its accuracy, fit it alone, see `sweep`.
    """

    p: list[PerMap]
    scores: list[PerMap]
    pick: int

    @property
    def survivors(self) -> list[list[int]]:
        """The places of the maps left after each round."""
        return [np.flatnonzero(p).tolist() for p in self.p]


def halve(scores: Any, alive: Any) -> PerMap:
    """Return the next probabilities: uniform on the best ``ceil(n / 2)`` of the n maps alive.

    Args:
        scores: (k,), lower is better, of equal ones the first; NaN counts as +inf.
        alive: (k,), whether each map is alive: ``p > 0``.

    Raises:
        ValueError: no map is alive, or not one score for each map.

    Source: the code of Khodak et al., *Weight-Sharing Beyond NAS*.
    """
    known, alive = _known(scores), np.asarray(alive, dtype=bool)
    ok = alive.any() and alive.shape == known.shape
    require(ok, "alive", alive.tolist(), f"{known.size}, as many as scores, at least one true")
    left = np.flatnonzero(alive)
    best = left[np.argsort(known[left], kind="stable")][: math.ceil(len(left) / 2)]
    return np.isin(np.arange(len(known)), best) / len(best)


def halve_as_printed(p: Any, scores: Any) -> PerMap:
    """Return ``2 p_i`` where ``s_i`` is at most the median of all k scores, else 0.

    The median includes eliminated maps, so later rounds may keep all or none. With ties or an odd
    number of maps the result need not sum to 1.
    """
    known = _known(scores)
    return np.where(known <= np.median(known), 2 * np.asarray(p, dtype=np.float64), 0.0)


def eg_step(p: Any, error: Any, eta: float, baseline: float = 0.0) -> PerMap:
    """Return ``p_i exp(-eta (error_i - baseline))``, normalised: a softer elimination.

    Args:
        p, error: (k,), the probabilities before, and each map's validation error.
        eta: the step size; 5 in the authors' code.
        baseline: cancels, because the errors of all maps are known here.

    Raises:
        ValueError: probabilities below 0 or all 0; errors that are not finite; eta below 0.
    """
    p, error = np.asarray(p, dtype=np.float64), np.asarray(error, dtype=np.float64)
    require((p >= 0).all() and p.any(), "p", p.tolist(), "from 0 on, at least one above 0")
    ok = error.shape == p.shape and np.isfinite(error).all()
    require(ok, "error", error.tolist(), f"{p.size} finite numbers")
    require(0 <= number(eta) < math.inf, "eta", eta, "a finite number from 0 on")
    log = np.log(p, out=np.full(p.shape, -np.inf), where=p > 0) - eta * (error - baseline)
    q: np.ndarray = np.exp(log - np.logaddexp.reduce(log))  # avoids 0 / 0
    return q


def rounds_needed(k: int) -> int:
    """Return ``ceil(log2 k)``, the number of halvings that leave one of k maps."""
    return (whole("k", k, 1) - 1).bit_length()


def share(
    maps: Sequence[Map],
    data: Data,
    assignments: Any,
    score: Score = "loss",
    linear: Linear = RIDGE,
    validation: Validation = "whole",
) -> History:
    """Select a map by weight-sharing with successive halving: ``ceil(log2 k)`` fits for k maps.

    Args:
        assignments: (rounds, N), the place of each training example's map, which need not respect
            p; or a generator, with which each example draws its map from p in each round.
        score, linear: see `map_scores` and `Linear`.
        validation: "whole" as in the paper. With "split", which needs a generator, validation
            examples draw their maps too, see `split_scores`; a map without examples comes last.

    Raises:
        ValueError: no map; not as many assignments as rounds; an assignment to no map.
    """
    k, rounds = len(maps), rounds_needed(whole("number of maps", len(maps), 1))
    rng = assignments if isinstance(assignments, np.random.Generator) else None
    ok = rng is not None or hasattr(assignments, "__len__")
    require(ok, "assignments", assignments, "a list of one for each round, or a NumPy generator")
    given = rounds if rng else len(assignments)
    require(given == rounds, "number of assignments", given, f"{rounds}, one for each round")
    split = validation == "split"
    ok = validation == "whole" or (split and rng is not None)
    require(ok, "validation", validation, "'whole', or, with a generator, 'split'")
    check_score(score)
    p, scores = [np.full(k, 1 / k)], []
    for t in range(rounds):
        assignment = rng.choice(k, len(data.y), p=p[t]) if rng else assignments[t]
        fit = shared_fit(maps, data, assignment, linear)
        if rng and split:
            drawn = rng.choice(k, len(data.y_val), p=p[t])
            scores.append(split_scores(maps, data, drawn, *fit, score, linear))
        else:  # scoring eliminated maps would take the most time
            alive = np.flatnonzero(p[t]).tolist()
            scores.append(np.full(k, np.nan))
            scores[t][alive] = map_scores([maps[i] for i in alive], data, *fit, score, linear)
        p.append(halve(scores[t], p[t] > 0))
    return History(p[1:], scores, int(p[-1].argmax()))


def share_softly(
    maps: Sequence[Map],
    data: Data,
    rng: np.random.Generator,
    rounds: int = 5,
    eta: float = 5.0,
    linear: Linear = RIDGE,
    validation: Validation = "whole",
) -> History:
    """Select the likeliest map by weight-sharing with exponentiated gradient, without elimination.

    Args:
        rng: each training example draws its map from p in each round.
        rounds, eta: see `eg_step`.
        validation: with "split" validation examples draw their maps too. ``e_i / (p_i |V|)``, where
            e_i is map i's number of errors, is an unbiased estimate of its error on all of V.

    Raises:
        ValueError: no map; fewer than one round; an unknown validation.

    Source: Khodak et al., *Weight-Sharing Beyond NAS*, rounds in section 3.2; eta of their code.
    """
    k, size = whole("number of maps", len(maps), 1), len(data.y_val)
    require(validation in ("whole", "split"), "validation", validation, "'whole', 'split'")
    p, errors = [np.full(k, 1 / k)], []
    for t in range(whole("rounds", rounds, 1)):
        fit = shared_fit(maps, data, rng.choice(k, len(data.y), p=p[t]), linear)
        if validation == "whole":
            errors.append(map_scores(maps, data, *fit, "error", linear))
        else:
            drawn = rng.choice(k, size, p=p[t])
            part = np.bincount(drawn, minlength=k) / size
            found = split_scores(maps, data, drawn, *fit, "error", linear)
            seen = part > 0  # a map without examples has error 0
            errors.append(np.divide(found * part, p[t], out=np.zeros(k), where=seen))
        p.append(eg_step(p[t], errors[t], eta))
    return History(p[1:], errors, int(p[-1].argmax()))


def _known(scores: Any) -> np.ndarray:
    scores = np.asarray(scores, dtype=np.float64)
    return np.where(np.isnan(scores), np.inf, scores)

"""Weight-sharing over feature maps: one linear fit for all, and half of the maps go each round.

Khodak et al., *Weight-Sharing Beyond NAS*, section 3.1.
"""

from collections.abc import Sequence
from math import inf
from typing import Any, Literal, NamedTuple

import numpy as np

from fedlab_edu.features.linear import Linear
from fedlab_edu.features.maps import Map, check_rng
from fedlab_edu.features.rules import best_half, rounds_needed
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
from fedlab_edu.tensors import as_array
from fedlab_edu.validate import not_negative, one_of, require, whole

Validation = Literal["whole", "split"]


def share(
    maps: Sequence[Map] | Sequence[Sequence[Map]], data: Data, assignments: Any,
    score: Score = "loss", linear: Linear = RIDGE, validation: Validation = "whole",
) -> "History":  # fmt: skip
    """Select a map by weight-sharing with successive halving: ``ceil(log2 k)`` fits for k maps.

    Args:
        maps: k maps; or k maps for each round, such as the same configurations with more and more
            features, see `growing_widths`.
        assignments: (rounds, N), the place of each training example's map, which need not respect
            p; or a generator, with which each example draws its map from p in each round.
        score, linear: see `map_scores` and `Linear`.
        validation: "whole" as in the paper. With "split", which needs a generator, validation
            examples draw their maps too, see `split_scores`; a map without examples comes last.
    """
    every, rng = _by_round(maps), _generator(assignments, validation)
    k = len(every[0])
    rounds = rounds_needed(k)
    given = rounds if rng else len(assignments)
    require(given == rounds, "number of assignments", given, f"{rounds}, one for each round")
    check_score(score)
    p, scores = [np.full(k, 1 / k)], []
    for t in range(rounds):
        # each training example is seen through one map, drawn from p
        assignment = rng.choice(k, len(data.y), p=p[t]) if rng else assignments[t]
        # one linear classifier for all
        fit = shared_fit(every[t], data, assignment, linear)
        # each map's score, by this classifier
        if rng and validation == "split":
            drawn = rng.choice(k, len(data.y_val), p=p[t])
            scores.append(split_scores(every[t], data, drawn, *fit, score, linear))
        else:  # scoring eliminated maps would take the most time
            alive = np.flatnonzero(p[t]).tolist()
            scores.append(np.full(k, np.nan))
            scores[t][alive] = map_scores([every[t][i] for i in alive], data, *fit, score, linear)
        # p becomes uniform on the better half
        p.append(halve(scores[t], p[t] > 0))
    return History(p[1:], scores, int(p[-1].argmax()))


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


def share_softly(
    maps: Sequence[Map], data: Data, rng: np.random.Generator, rounds: int = 5, eta: float = 5.0,
    linear: Linear = RIDGE, validation: Validation = "whole",
) -> History:  # fmt: skip
    """Select the likeliest map by weight-sharing with exponentiated gradient, without elimination.

    Args:
        rng: each training example draws its map from p in each round.
        rounds, eta: see `eg_step`.
        validation: with "split" validation examples draw their maps too. ``e_i / (p_i |V|)``, where
            e_i is map i's number of errors, is an unbiased estimate of its error on all of V.

    Source: Khodak et al., *Weight-Sharing Beyond NAS*, rounds in section 3.2; eta of their code.
    """
    k, size = whole("number of maps", len(maps), 1), len(data.y_val)
    one_of(("whole", "split"))("validation", validation)
    check_rng(rng)
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


def halve(scores: Any, alive: Any) -> PerMap:
    """Return the next probabilities: uniform on the best ``ceil(n / 2)`` of the n maps alive.

    Args:
        scores: (k,), lower is better, of equal ones the first; NaN counts as +inf.
        alive: (k,), whether each map is alive: ``p > 0``.
    """
    known, alive = _known(scores), np.asarray(alive, dtype=bool)
    ok = alive.any() and alive.shape == known.shape and known.ndim == 1
    require(ok, "alive", alive.tolist(), f"{known.size}, as many as scores, at least one true")
    best = best_half(known.tolist(), np.flatnonzero(alive).tolist())
    return np.isin(np.arange(len(known)), best) / len(best)


def halve_as_printed(p: Any, scores: Any) -> PerMap:
    """Return ``2 p_i`` where ``s_i`` is at most the median of all k scores, else 0.

    The median includes eliminated maps, so later rounds may keep all or none. With ties or an odd
    number of maps the result need not sum to 1.
    """
    known, p = _known(scores), as_array(p, "p")
    ok = known.size and known.shape == p.shape
    require(ok, "shapes of p and scores", (p.shape, known.shape), "(k,) and (k,), not 0")
    return np.where(known <= np.median(known), 2 * p, 0.0)


def eg_step(p: Any, error: Any, eta: float) -> PerMap:
    """Return ``p_i exp(-eta error_i)``, normalised: a softer elimination.

    A baseline would cancel, because the errors of all maps are known here.

    Args:
        p, error: (k,), the probabilities before, and each map's validation error.
        eta: the step size; 5 in the authors' code.
    """
    p, error = as_array(p, "p"), as_array(error, "error")
    ok = (p >= 0).all() and p.any() and np.isfinite(p).all()
    require(ok, "p", p.tolist(), "finite numbers from 0 on, at least one above 0")
    ok = error.shape == p.shape and np.isfinite(error).all()
    require(ok, "error", error.tolist(), f"{p.size} finite numbers")
    largest = not_negative("eta", eta) * float(np.abs(error).max())
    require(largest < inf, "eta times error", largest, "finite numbers")
    log = np.log(p, out=np.full(p.shape, -np.inf), where=p > 0) - eta * error
    q: np.ndarray = np.exp(log - np.logaddexp.reduce(log))  # avoids 0 / 0
    return q


def _generator(assignments: Any, validation: str) -> np.random.Generator | None:
    """Return the generator of the assignments, or None if they are given."""
    rng = assignments if isinstance(assignments, np.random.Generator) else None
    ok = rng is not None or hasattr(assignments, "__len__")
    require(ok, "assignments", assignments, "a list of one for each round, or a NumPy generator")
    ok = validation == "whole" or (validation == "split" and rng is not None)
    require(ok, "validation", validation, "'whole', or, with a generator, 'split'")
    return rng


def _by_round(maps: Sequence[Any]) -> list[Sequence[Map]]:
    """Return the maps of each round, or of one if there is nothing to choose."""
    maps = [*maps]
    whole("number of maps", len(maps), 1)
    if callable(maps[0]):
        return [maps] * max(1, rounds_needed(len(maps)))
    k = whole("number of maps", len(maps[0]), 1)
    sizes, rounds = [len(one) for one in maps], max(1, rounds_needed(k))
    require(sizes == [k] * rounds, "numbers of maps", sizes, f"{k} in each of {rounds} rounds")
    return [*maps]


def _known(scores: Any) -> np.ndarray:
    scores = as_array(scores, "scores")
    return np.where(np.isnan(scores), np.inf, scores)

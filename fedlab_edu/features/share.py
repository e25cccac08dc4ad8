"""Weight-sharing over feature maps: one linear fit for all of them, and half of them go each round.

Each training example is seen through a map drawn at random, one ridge regression is fitted to all,
and a map is scored by how well that fit does on the validation set seen through it. Khodak et al.,
*Weight-Sharing Beyond NAS*, section 3.1.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float64
from sklearn.linear_model import Ridge

from fedlab_edu.check import number, require, whole
from fedlab_edu.features.maps import Map

PerMap = Float64[np.ndarray, " k"]
Fit = tuple[Float64[np.ndarray, "n C"], Float64[np.ndarray, " C"]]  # W, b


@dataclass(frozen=True, eq=False)
class Data:
    """A training set and a validation set.

    Args:
        x, y: (N, ...) and (N,), the training examples, rows that maps take, and their labels.
        x_val, y_val: the validation set, likewise.
        classes: how many labels there are, from 0 on.

    Raises:
        ValueError: an empty set; not one label for each example; labels out of range.
    """

    x: Any
    y: Any
    x_val: Any
    y_val: Any
    classes: int

    def __post_init__(self) -> None:
        for name in ("x", "y", "x_val", "y_val"):
            object.__setattr__(self, name, np.asarray(getattr(self, name)))
        classes = whole("classes", self.classes, 2)
        _check_places("y", self.y, classes, self.x.shape[:1])
        _check_places("y_val", self.y_val, classes, self.x_val.shape[:1])


class History(NamedTuple):
    """What happened in each round, and which map is left.

    Fields:
        p: (k,) for each round, the probabilities after it.
        scores: (k,) for each round, NaN for maps that were eliminated before.
        survivors: for each round, the places of the maps that it left.
        pick: the place of the last one. For its accuracy it is to be fitted alone, see `sweep`.
    """

    p: list[PerMap]
    scores: list[PerMap]
    survivors: list[list[int]]
    pick: int


def halve(scores: Any, alive: Any) -> PerMap:
    """The probabilities after a round: uniform on the best ``ceil(n / 2)`` of n living maps.

    Args:
        scores: (k,), lower is better, of equal ones the first; NaN counts as +inf.
        alive: (k,), whether each map has not been eliminated: ``p > 0``.

    Raises:
        ValueError: no living map, or not one score for each map.

    Source: Khodak et al., *Weight-Sharing Beyond NAS*, section 3.1, as their code has it.
    """
    known, alive = _known(scores), np.asarray(alive, dtype=bool)
    ok = alive.any() and alive.shape == known.shape
    require(ok, "alive", alive.tolist(), f"{known.size}, as many as scores, at least one true")
    living = np.flatnonzero(alive)
    best = living[np.argsort(known[living], kind="stable")][: math.ceil(len(living) / 2)]
    return np.isin(np.arange(len(known)), best) / len(best)


def halve_as_printed(p: Any, scores: Any) -> PerMap:
    """``2 p_i`` where ``s_i`` is at most the median of all k scores, else 0.

    The eliminated stay in the median, so that later rounds may keep all or none; and with ties or
    an odd number of maps the result does not sum to 1.

    Source: Khodak et al., *Weight-Sharing Beyond NAS*, section 3.1, as it is printed.
    """
    known = _known(scores)
    return np.where(known <= np.median(known), 2 * np.asarray(p, dtype=np.float64), 0.0)


def eg_step(p: Any, error: Any, eta: float, baseline: float = 0.0) -> PerMap:
    """``p_i exp(-eta (error_i - baseline))``, normalised: a softer elimination.

    Args:
        p, error: (k,), the probabilities before, and each map's validation error.
        eta: the step size; their code has 5, and takes the likeliest map after five rounds.
        baseline: cancels, for the errors of all maps are known here.

    Raises:
        ValueError: probabilities below 0 or all 0; errors that are not finite; eta below 0.

    Source: Khodak et al., *Weight-Sharing Beyond NAS*, section 3.1.
    """
    p, error = np.asarray(p, dtype=np.float64), np.asarray(error, dtype=np.float64)
    require((p >= 0).all() and p.any(), "p", p.tolist(), "from 0 on, at least one above 0")
    ok = error.shape == p.shape and np.isfinite(error).all()
    require(ok, "error", error.tolist(), f"{p.size} finite numbers")
    require(0 <= number(eta) < math.inf, "eta", eta, "a finite number from 0 on")
    log = np.log(p, out=np.full(p.shape, -np.inf), where=p > 0) - eta * (error - baseline)
    q: np.ndarray = np.exp(log - np.logaddexp.reduce(log))  # so that the sum is never 0 / 0
    return q


def rounds_needed(k: int) -> int:
    """``ceil(log2 k)``: how many halvings leave one of k maps."""
    return (whole("k", k, 1) - 1).bit_length()


def ridge(X: Any, Y: Any, lam: float = 0.5, intercept: bool = True) -> Fit:
    """W and b that minimise ``lam |W|^2 + sum over rows |y - x W - b|^2``; b is not penalised.

    Args:
        X, Y: (N, n), features, and (N, C), targets.
        intercept: otherwise b is 0, as in the paper's formula. Their code has an intercept.

    Raises:
        ValueError: lam not above 0.

    Source: Khodak et al., *Weight-Sharing Beyond NAS*, section 3.1; lam = 1/2 in appendix A.
    """
    require(0 < number(lam) < math.inf, "lam", lam, "a finite number above 0")
    X, Y = np.asarray(X, dtype=np.float64), np.asarray(Y, dtype=np.float64)
    fitted = Ridge(alpha=lam, fit_intercept=intercept).fit(X, Y)
    return np.atleast_2d(fitted.coef_).T, np.zeros(Y.shape[1]) + fitted.intercept_


def shared_fit(
    maps: Sequence[Map], data: Data, assignment: Any, lam: float = 0.5, intercept: bool = True
) -> Fit:
    """One ridge regression on training examples of which each is seen through a map of its own.

    The targets are +1 for an example's class and -1 for all others. Each example is mapped once.

    Args:
        assignment: (N,), the place of each training example's map; all have as many features.

    Raises:
        ValueError: an assignment of another length, or to no map.

    Source: Khodak et al., *Weight-Sharing Beyond NAS*, section 3.1.
    """
    assignment = np.asarray(assignment)
    _check_places("assignment", assignment, len(maps), data.y.shape)
    used = {int(i): np.flatnonzero(assignment == i) for i in np.unique(assignment)}
    rows = np.concatenate([*used.values()])
    X = np.concatenate([maps[i](data.x[own]) for i, own in used.items()])
    return ridge(X, _targets(data.y[rows], data.classes), lam, intercept)


def map_scores(maps: Sequence[Map], data: Data, w: Any, b: Any, score: str = "loss") -> PerMap:
    """How badly a fit does on the whole validation set, seen through each of the maps.

    Args:
        w, b: see `ridge`.
        score: "loss", its sum of squares, or "error", the share of examples of which
            the label has not the highest output.

    Raises:
        ValueError: an unknown score.

    Source: Khodak et al., *Weight-Sharing Beyond NAS*, section 3.1, which has the loss.
    """
    require(score in ("loss", "error"), "score", score, "'loss', 'error'")
    targets, scores = _targets(data.y_val, data.classes), []
    for each in maps:
        outputs = each(data.x_val) @ w + b
        wrong = outputs.argmax(1) != data.y_val
        scores.append(((outputs - targets) ** 2).sum() if score == "loss" else wrong.mean())
    return np.array(scores, dtype=np.float64)


def share(
    maps: Sequence[Map],
    data: Data,
    assignments: Any,
    score: str = "loss",
    lam: float = 0.5,
    intercept: bool = True,
) -> History:
    """Weight-sharing with successive halving: ``ceil(log2 k)`` fits find one of k maps.

    Args:
        assignments: (rounds, N), the place of each training example's map, which need not respect
            p; or a generator, with which each example draws its map from p, afresh in each round.
        score, lam, intercept: see `map_scores` and `ridge`.

    Raises:
        ValueError: no map; not as many assignments as rounds; an assignment to no map.

    Source: Khodak et al., *Weight-Sharing Beyond NAS*, section 3.1.
    """
    k, rounds = len(maps), rounds_needed(len(maps))
    drawn = isinstance(assignments, np.random.Generator)
    given = rounds if drawn else len(assignments)
    require(given == rounds, "number of assignments", given, f"{rounds}, one for each round")
    p, scores, left = [np.full(k, 1 / k)], [], [list(range(k))]
    for t in range(rounds):
        assignment = assignments.choice(k, len(data.y), p=p[t]) if drawn else assignments[t]
        w, b = shared_fit(maps, data, assignment, lam, intercept)
        scores.append(np.full(k, np.nan))  # the eliminated are not scored: that would take longest
        scores[t][left[t]] = map_scores([maps[i] for i in left[t]], data, w, b, score)
        p.append(halve(scores[t], p[t] > 0))
        left.append(np.flatnonzero(p[-1]).tolist())
    return History(p[1:], scores, left[1:], left[-1][0])


def sweep(
    maps: Sequence[Map], data: Data, score: str = "loss", lam: float = 0.5, intercept: bool = True
) -> PerMap:
    """Each map's score when it is fitted alone: k fits, of which random search takes the best.

    Source: Khodak et al., *Weight-Sharing Beyond NAS*, section 3.2.
    """
    fits = [shared_fit([each], data, 0 * data.y, lam, intercept) for each in maps]
    return np.array([map_scores([maps[i]], data, *w, score)[0] for i, w in enumerate(fits)])


def _known(scores: Any) -> np.ndarray:
    scores = np.asarray(scores, dtype=np.float64)
    return np.where(np.isnan(scores), np.inf, scores)


def _check_places(name: str, places: np.ndarray, count: int, shape: tuple[int, ...]) -> None:
    ok = places.shape == shape and places.ndim == 1 and places.size > 0
    ok = ok and np.issubdtype(places.dtype, np.integer) and {*places.tolist()} <= {*range(count)}
    allowed = f"whole numbers from 0 to {count - 1}, one for each example, and at least one"
    require(ok, name, places.tolist(), allowed)


def _targets(y: np.ndarray, classes: int) -> np.ndarray:
    return np.where(y[:, None] == np.arange(classes), 1.0, -1.0)

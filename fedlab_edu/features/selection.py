"""Feature map selection by the validation score of a linear classifier.

A map is judged by a fit of its own (`sweep`), or by one fit that all maps share. Khodak et al.,
*Weight-Sharing Beyond NAS*, section 3.1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import numpy as np
import torch
from jaxtyping import Float64, Int
from scipy import sparse
from torch import Tensor

from fedlab_edu.data.arrays import as_inputs, as_targets
from fedlab_edu.features.linear import Fit, Linear, check_places
from fedlab_edu.features.maps import Map
from fedlab_edu.validate import MOST, check_index, one_of, require, whole

PerMap = Float64[np.ndarray, " k"]
Score = Literal["loss", "error"]
RIDGE = Linear()
check_score = partial(one_of(("loss", "error")), "score")


@dataclass(frozen=True, eq=False)
class Data:
    """A training set and a validation set.

    Args:
        x, y: (N, ...) and (N,), the training examples, rows that maps take, and their labels, class
            numbers or True and False. No sparse matrices.
        x_val, y_val: the validation set, likewise.
        classes: how many labels there are, from 0 on.
    """

    x: Any
    y: Any
    x_val: Any
    y_val: Any
    classes: int

    def __post_init__(self) -> None:
        check_index(self.x, self.y)
        check_index(self.x_val, self.y_val)
        classes = whole("classes", self.classes, 2, MOST)
        for inputs, name in (("x", "y"), ("x_val", "y_val")):
            x = _array(as_inputs(getattr(self, inputs), inputs).cpu())
            y, labels = as_targets(getattr(self, name), name)
            allowed = "class numbers, as np.unique(y, return_inverse=True)[1] of strings"
            require(not labels, name, labels, allowed)
            require(len(y) == len(x), f"length of {name}", len(y), f"{len(x)}, that of {inputs}")
            check_places(name, _array(y), classes, x.shape[:1])
            object.__setattr__(self, inputs, x)
            object.__setattr__(self, name, y.numpy())


def shared_fit(maps: Sequence[Map], data: Data, assignment: Any, linear: Linear = RIDGE) -> Fit:
    """Fit one classifier to training examples, each seen through its own map.

    Args:
        assignment: (N,), the place of each training example's map; all have as many features.
    """
    assignment = np.asarray(assignment)
    check_places("assignment", assignment, len(maps), data.y.shape)
    used = _places(assignment)
    X = _stack([maps[i](data.x[own]) for i, own in used.items()])
    return linear.fit(X, data.y[np.concatenate([*used.values()])], data.classes)


def map_scores(
    maps: Sequence[Map], data: Data, w: Any, b: Any, score: Score = "loss", linear: Linear = RIDGE
) -> PerMap:
    """Score a fit on the whole validation set, seen through each of the maps; lower is better.

    Args:
        w, b: see `Linear.fit`.
        score: "loss", the sum of losses as in the paper, or "error", the share of misclassified
            examples.
    """
    total = np.sum if check_score(score) == "loss" else np.mean
    seen = (_missed(each(data.x_val), data.y_val, w, b, score, linear) for each in maps)
    return np.array([total(missed) for missed in seen], dtype=np.float64)


def split_scores(
    maps: Sequence[Map], data: Data, assignment: Any, w: Any, b: Any, score: Score = "loss",
    linear: Linear = RIDGE,
) -> PerMap:  # fmt: skip
    """Score each map by its mean over the validation examples assigned to it; NaN without examples.

    This takes as long as a fit, but uses fewer examples for each map than `map_scores`. assignment
    (V,) has the place of each validation example's map.

    Source: the code of Khodak et al., *Weight-Sharing Beyond NAS*.
    """
    check_score(score)
    assignment = np.asarray(assignment)
    check_places("assignment", assignment, len(maps), data.y_val.shape)
    scores = np.full(len(maps), np.nan)
    for i, own in _places(assignment).items():
        features = maps[i](data.x_val[own])
        scores[i] = _missed(features, data.y_val[own], w, b, score, linear).mean()
    return scores


def sweep(maps: Sequence[Map], data: Data, score: Score = "loss", linear: Linear = RIDGE) -> PerMap:
    """Score each map by a fit of its own: k fits, of which random search takes the best.

    Source: Khodak et al., *Weight-Sharing Beyond NAS*, section 3.2.
    """
    scores = []
    for each in maps:
        fit = shared_fit([each], data, np.zeros(len(data.y), dtype=int), linear)
        scores.append(map_scores([each], data, *fit, score, linear)[0])
    return np.array(scores)


def _missed(features: Any, y: Any, w: Any, b: Any, score: Score, linear: Linear) -> Any:
    """Return the loss of each example (N,), or whether it is misclassified."""
    outputs = features @ w + b
    outputs = outputs.cpu().numpy() if isinstance(outputs, Tensor) else outputs
    if score == "loss":
        return linear.losses(outputs, y)
    return (outputs.argmax(1) != y) | ~np.isfinite(outputs).all(1)


def _places(assignment: np.ndarray) -> dict[int, Int[np.ndarray, " own"]]:
    return {int(i): np.flatnonzero(assignment == i) for i in np.unique(assignment)}


def _array(values: Tensor) -> np.ndarray:
    return (values.float() if values.dtype == torch.bfloat16 else values).numpy()  # NumPy has none


def _stack(parts: list[Any]) -> Any:
    for part in parts:
        ok = getattr(part, "ndim", 0) == 2
        require(ok, "what a map returns", part, "(N, n): an array, a sparse matrix or a tensor")
    widths = sorted({part.shape[1] for part in parts})
    require(len(widths) == 1, "numbers of features", widths, "one, the same for all maps")
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], Tensor):
        return torch.cat(parts)
    return sparse.vstack(parts, "csr") if sparse.issparse(parts[0]) else np.concatenate(parts)

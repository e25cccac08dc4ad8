"""Linear classifiers on given features: ridge or logistic regression.

scikit-learn fits arrays and sparse matrices; PyTorch fits tensors on their device.
"""

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import torch
from jaxtyping import Float, Float64, Int
from scipy import sparse
from sklearn.linear_model import LogisticRegression, Ridge
from torch import Tensor

from fedlab_edu.tensors import as_array, as_float64
from fedlab_edu.validate import Checked, positive, require, require_type

Matrix = Any  # (N, n): an array, a sparse matrix, or a tensor
Fit = tuple[  # W, b: tensors of the features' type if these are tensors
    Float64[np.ndarray, "n C"] | Float[Tensor, "n C"],
    Float64[np.ndarray, " C"] | Float[Tensor, " C"],
]


@dataclass(frozen=True)
class Linear(Checked):
    """Outputs ``x W + b`` that minimise ``lam |W|^2 + sum over examples of their loss``.

    Args:
        loss: "squares", the squared distance to targets of +1 at an example's class and -1 at all
            others; "logistic", the cross-entropy of the softmax of the outputs. With two classes
            the first has outputs 0, so that W is one vector, as in logistic regression.
        lam: lam = 1/2 is scikit-learn's ``Ridge(alpha=0.5)`` and ``LogisticRegression(C=1)``.
        intercept: fit b, without a penalty, as the authors' code does. Otherwise it is 0, as in the
            paper's formula.

    Source: Khodak et al., *Weight-Sharing Beyond NAS*, section 3.1; lam and C in appendix A.
    """

    loss: Literal["squares", "logistic"] = "squares"
    lam: Annotated[float, positive] = 0.5
    intercept: bool = True

    def fit(self, X: Matrix, y: Int[np.ndarray, " N"], classes: int) -> Fit:
        """Return W (n, C) and b (C,), which are tensors on X's device if X is one.

        The logistic loss takes no tensors, and needs an example of each class.
        """
        y = _labels(y, classes, X.shape[0] if hasattr(X, "shape") else len(X))
        if self.loss == "logistic":
            return _logistic(X, y, classes, 1 / (2 * self.lam), self.intercept)
        solver = ridge_torch if isinstance(X, Tensor) else ridge
        return solver(X, targets(y, classes), self.lam, self.intercept)

    def losses(self, outputs: Any, y: Int[np.ndarray, " N"]) -> Float64[np.ndarray, " N"]:
        """Return the loss of each example, given outputs (N, C)."""
        outputs = np.asarray(outputs)
        y = _labels(y, outputs.shape[1], len(outputs))
        if self.loss == "squares":
            return ((outputs - targets(y, outputs.shape[1])) ** 2).sum(1)
        logs = np.logaddexp.reduce(outputs, axis=1)
        return logs - outputs[np.arange(len(y)), y]


def targets(y: Int[np.ndarray, " N"], classes: int) -> Float64[np.ndarray, "N C"]:
    """Return +1 at each example's class, -1 at all others."""
    return np.where(y[:, None] == np.arange(classes), 1.0, -1.0)


def ridge(X: Matrix, Y: Any, lam: float = 0.5, intercept: bool = True) -> Fit:
    """Return W and b that minimise ``lam |W|^2 + sum over rows |y - x W - b|^2``, by scikit-learn.

    X (N, n) is an array or a sparse matrix of features; Y (N, C) are targets.
    """
    positive("lam", lam)
    X, Y = as_array(X, "X") if isinstance(X, Tensor) else X, as_array(Y, "Y")
    X = X if sparse.issparse(X) else np.asarray(X)
    _check_finite("X", X)
    _check_finite("Y", Y)
    ok = X.ndim == Y.ndim == 2 and X.shape[0] == len(Y) > 0 and X.shape[1] * Y.shape[1] > 0
    require(ok, "shapes of X and Y", (X.shape, Y.shape), "(N, n) and (N, C), not 0")
    fitted = Ridge(alpha=lam, fit_intercept=intercept, tol=1e-10).fit(X, Y)
    return np.atleast_2d(fitted.coef_).T, np.zeros(Y.shape[1]) + fitted.intercept_


def ridge_torch(X: Tensor, Y: Any, lam: float = 0.5, intercept: bool = True) -> Fit:
    """Solve `ridge` on the device of X: the smaller of the two normal equations, by Cholesky.

    ``(X'X + lam I) W = X'Y`` for n <= N, else ``W = X' A`` with ``(X X' + lam I) A = Y``. With an
    intercept, X and Y are centred first. It is computed in float64; where lam is lost in rounding,
    from the singular values of X above rounding.
    """
    positive("lam", lam)
    require_type("X", X, Tensor, "a matrix of features; `ridge` takes arrays")
    dtype, X = X.dtype if X.is_floating_point() else torch.float64, as_float64(X, "X")
    Y = as_float64(Y, "Y").to(X)
    for name, values in (("X", X), ("Y", Y)):
        require(values.isfinite().all(), name, "not finite", "finite numbers")
    shapes = tuple(X.shape), tuple(Y.shape)
    ok = X.dim() == Y.dim() == 2 and len(X) == len(Y) > 0 and X.numel() * Y.numel() > 0
    require(ok, "shapes of X and Y", shapes, "(N, n) and (N, C), not 0")
    x_mean, y_mean = (a.mean(0) if intercept else torch.zeros_like(a[0]) for a in (X, Y))
    X, Y = X - x_mean, Y - y_mean
    wide = X.shape[1] > X.shape[0]
    gram = X @ X.T if wide else X.T @ X
    rounding = len(gram) * torch.finfo(gram.dtype).eps * gram.diagonal().max()
    gram.diagonal().add_(lam)
    factor, failed = torch.linalg.cholesky_ex(gram)
    if failed or lam < rounding:
        U, s, Vh = torch.linalg.svd(X, full_matrices=False)
        s = s.where(s > max(X.shape) * torch.finfo(s.dtype).eps * s[0], 0.0)
        W = Vh.T @ ((1 / (s + lam / s))[:, None] * (U.T @ Y))  # s * s may overflow
    else:
        solved = torch.cholesky_solve(Y if wide else X.T @ Y, factor)
        W = X.T @ solved if wide else solved
    return W.to(dtype), (y_mean - x_mean @ W).to(dtype)


def _check_finite(name: str, X: Matrix) -> None:
    values = X.data if sparse.issparse(X) else np.asarray(X)
    require(values.dtype.kind in "biuf", name, str(values.dtype), "real numbers")
    require(np.isfinite(values).all(), name, "not finite", "finite numbers")


def _labels(y: Any, classes: int, count: int) -> Int[np.ndarray, " N"]:
    y = np.asarray(y)
    y = y.astype(int) if y.dtype == bool else y
    check_places("y", y, classes, (count,))
    return y


def check_places(name: str, places: np.ndarray, count: int, shape: tuple[int, ...]) -> None:
    """Refuse all but whole numbers below ``count``, one for each example."""
    ok = places.shape == shape and places.ndim == 1 and places.size > 0
    ok = ok and np.issubdtype(places.dtype, np.integer)
    ok = bool(ok and places.min() >= 0 and places.max() < count)
    allowed = f"whole numbers from 0 to {count - 1}, one for each example, and at least one"
    require(ok, name, places[:9].tolist() if places.ndim else places, allowed)


def _logistic(X: Matrix, y: Any, classes: int, C: float, intercept: bool) -> Fit:
    require(not isinstance(X, Tensor), "X", "a tensor", "an array or a sparse matrix")
    _check_finite("X", X)
    counts = np.bincount(y, minlength=classes)
    ok, allowed = classes > 1 and counts.all(), "at least one of each, of two classes or more"
    require(ok, "examples of each class", counts.tolist(), allowed)
    solver = LogisticRegression(C=C, fit_intercept=intercept, tol=1e-5, max_iter=1000)
    n = X.shape[1]
    used: Any = slice(None)
    if sparse.issparse(X):  # a feature that no example has gets weight 0
        X, seen = X.tocsr(), np.zeros(n, dtype=bool)
        seen[X.indices if X.nnz else 0] = True  # the solver wants at least one
        used, places = np.flatnonzero(seen), np.cumsum(seen, dtype=X.indices.dtype) - 1
        X = sparse.csr_matrix((X.data, places[X.indices], X.indptr), (X.shape[0], len(used)))
    fitted = solver.fit(X, y)
    W, b = np.zeros((n, len(fitted.coef_))), np.zeros(len(fitted.coef_)) + fitted.intercept_
    W[used] = fitted.coef_.T
    if classes == 2:
        W, b = np.hstack([0 * W, W]), np.append(0.0, b)
    return W, b

"""Exercise 7: the arguments of its functions, and what known mistakes make of them."""

import cmath
import math
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from support import Array, Mistakes

Part = Array | float
Value = Part | tuple[Part, ...]


# --- by plain numbers -----------------------------------------------------------------------------

STEP = 1e-30


def derivatives(function: Callable[[list[complex]], complex], at: Iterable[float]) -> list[float]:
    """Differentiate a smooth function by steps along the imaginary axis.

    No two values are subtracted, so that no digits are lost, however small the step is.
    """
    at = list(at)
    places = range(len(at))
    moved = ([x + STEP * 1j * (i == j) for j, x in enumerate(at)] for i in places)
    return [function(x).imag / STEP for x in moved]


def log_softmax(a: Sequence[complex], k: int) -> complex:
    """Do it for a single row, at entry k."""
    top = max(x.real for x in a)
    return a[k] - top - cmath.log(sum(cmath.exp(x - top) for x in a))


# --- with NumPy, for the mistakes -----------------------------------------------------------------


def softmax(a: Array, axis: int = -1) -> Array:
    e = np.exp(a - a.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def onehot(k: Array, n: int) -> Array:
    return (k[:, None] == np.arange(n)).astype(float)


# --- ex07.1 ---------------------------------------------------------------------------------------


class Votes(NamedTuple):
    """The arguments of `credit`."""

    outputs: Array
    q: Array
    y: Array

    @property
    def F(self) -> Array:
        return np.einsum("n,nmc->mc", self.q, self.outputs)

    @property
    def mean(self) -> Array:
        """The ensemble without shares."""
        return self.outputs.mean(0)

    @property
    def right(self) -> Array:
        return onehot(self.y, self.outputs.shape[2])


def with_ones(s: Votes, ones: Sequence[complex]) -> complex:
    """The loss of the ensemble, one number after the other."""
    shares = [q * one for q, one in zip(s.q.tolist(), ones, strict=True)]
    total = 0j
    for point, label in enumerate(s.y.tolist()):
        rows = s.outputs[:, point].tolist()
        F = [sum(map(operator.mul, shares, column)) for column in zip(*rows, strict=True)]
        total -= log_softmax(F, label)
    return total / len(s.y)


def by_dummy_ones(s: Votes) -> Value:
    ones = [1.0] * len(s.q)
    return with_ones(s, ones).real, np.array(derivatives(lambda x: with_ones(s, x), ones))


def loss(F: Array, s: Votes) -> float:
    return float(losses(F, s).mean())


def losses(F: Array, s: Votes) -> Array:
    """(..., M), for F (..., M, C)."""
    top = F.max(-1, keepdims=True)
    log_p = F - top - np.log(np.exp(F - top).sum(-1, keepdims=True))
    return -(log_p * s.right).sum(-1)


def along(s: Votes, G: Array, q: Array | float | None = None, f: Array | None = None) -> Array:
    """q_i times the mean over the points of <G, f_i>; a G for all clients, or one for each."""
    q = s.q if q is None else q
    return q * (G * (s.outputs if f is None else f)).sum((1, 2)) / len(s.y)


def slope(s: Votes) -> Array:
    return softmax(s.F) - s.right


def with_F(rule: Callable[[Votes], Array], q: float | None = None) -> Callable[[Votes], Value]:
    """Another ensemble; and another factor in place of q_i in d, if given."""
    return lambda s: (loss(rule(s), s), along(s, softmax(rule(s)) - s.right, q))


def with_d(rule: Callable[[Votes], Array]) -> Callable[[Votes], Value]:
    return lambda s: (loss(s.F, s), rule(s))


def with_loss(rule: Callable[[Votes], object]) -> Callable[[Votes], Value]:
    return lambda s: (rule(s), along(s, slope(s)))


def own(s: Votes) -> Array:
    """(N, M, C), the derivatives of the losses of the clients' own models."""
    return softmax(s.outputs) - s.right


def own_loss(s: Votes) -> float:
    return float(s.q @ losses(s.outputs, s).mean(1))


def mixture(s: Votes) -> Array:
    return np.einsum("n,nmc->mc", s.q, softmax(s.outputs))


def mixture_loss(s: Votes) -> float:
    return -float(np.log((mixture(s) * s.right).sum(1)).mean())


def mixture_d(s: Votes) -> Array:
    """The derivatives of the mixture's loss by factors of the clients' probabilities."""
    return -s.q * ((softmax(s.outputs) * s.right).sum(2) / (mixture(s) * s.right).sum(1)).mean(1)


def loss_over_points(s: Votes) -> float:
    top = s.F.max(0)
    return -float(((s.F - top - np.log(np.exp(s.F - top).sum(0))) * s.right).sum(1).mean())


def columns(s: Votes) -> Array:
    """1 is subtracted in the columns y of each row."""
    p = softmax(s.F)
    p[:, s.y] -= 1
    return p


def columns_loss(s: Votes) -> float:
    return -float(np.log(softmax(s.F)[:, s.y]).mean())


COLUMNS = "p[:, y] means these columns of all points: point m has the label y[m] only"
TOO_SMALL = "a probability is too small for a float, and its log infinite: log p is the logit minus"
TOO_SMALL += " the log of the sum of exp"

CREDIT: Mistakes = {
    "the loss is the mean of the clients' own losses: add up the outputs first":
        with_loss(own_loss),
    "the loss and d are those of the clients' own models: add up the outputs first":
        lambda s: (own_loss(s), along(s, own(s))),
    "d is that of the client's own loss: the softmax in it is the ensemble's":
        with_d(lambda s: along(s, own(s))),
    "d is that of the client's own loss, and without q_i: the softmax in it is the ensemble's":
        with_d(lambda s: along(s, own(s), 1.0)),
    "the softmax is taken of each client, and then averaged: add up the outputs first":
        lambda s: (mixture_loss(s), along(s, mixture(s) - s.right)),
    "the softmax is taken of each client, and then averaged, and d is the derivative of that: add "
    "up the outputs first":
        lambda s: (mixture_loss(s), mixture_d(s)),
    "a softmax is taken twice, of each client and of their sum: add up the outputs, then take one":
        lambda s: (
            loss(mixture(s), s), along(s, softmax(mixture(s)) - s.right, f=softmax(s.outputs))
        ),
    "q is forgotten in F: it is the sum of q_i outputs[i]": with_F(lambda s: s.outputs.sum(0)),
    "q is forgotten, in F and in d": with_F(lambda s: s.outputs.sum(0), 1.0),
    "F is the plain mean of the outputs: it is the sum of q_i outputs[i]": with_F(lambda s: s.mean),
    "F is the plain mean of the outputs, and d without q_i: F is the sum of q_i outputs[i]":
        with_F(lambda s: s.mean, 1.0),
    "all clients have the same share here, 1 / N: client i has q_i":
        lambda s: with_F(lambda s: s.mean, 1 / len(s.q))(s),
    "q_i is forgotten in d: the one is multiplied by q_i outputs[i]":
        with_d(lambda s: along(s, slope(s), 1.0)),
    "d is divided by N in place of multiplied by q_i":
        with_d(lambda s: along(s, slope(s), 1 / len(s.q))),
    "loss and d are sums over the points: take the means":
        lambda s: (loss(s.F, s) * len(s.y), along(s, slope(s)) * len(s.y)),
    "the loss is the sum over the points: take the mean":
        with_loss(lambda s: loss(s.F, s) * len(s.y)),
    "d is the sum over the points: take the mean": with_d(lambda s: along(s, slope(s)) * len(s.y)),
    "d is averaged over the classes, too: add up over them":
        with_d(lambda s: along(s, slope(s)) / s.right.shape[1]),
    "the loss is averaged over the classes, too: it is the mean over the points":
        with_loss(lambda s: loss(s.F, s) / s.right.shape[1]),
    "loss and d are averaged over the classes, too: take the mean over the points only":
        lambda s: (loss(s.F, s) / s.right.shape[1], along(s, slope(s)) / s.right.shape[1]),
    "this is the credit, -d: return d itself": with_d(lambda s: -along(s, slope(s))),
    "the loss has the wrong sign: it is the mean of minus log softmax(F)[y]":
        with_loss(lambda s: -loss(s.F, s)),
    "d has the clients' probabilities: the one is multiplied by q_i outputs[i], which are logits":
        with_d(lambda s: along(s, slope(s), f=softmax(s.outputs))),
    "d has the ensemble's outputs for each client: take q_i outputs[i]":
        with_d(lambda s: along(s, slope(s), f=s.F[None])),
    "onehot(y) is forgotten in d": with_d(lambda s: along(s, softmax(s.F))),
    "the softmax is forgotten in d": with_d(lambda s: along(s, -s.right)),
    "d has the entry of the label only: add up over all classes":
        with_d(lambda s: along(s, slope(s) * s.right)),
    "the slope is F - onehot(y) here: it is softmax(F) - onehot(y)":
        with_d(lambda s: along(s, s.F - s.right)),
    "d is that of each point: take the mean over the points":
        with_d(lambda s: s.q[:, None] * (slope(s) * s.outputs).sum(2)),
    "these are the losses of the points: take their mean": with_loss(lambda s: losses(s.F, s)),
    "the loss has no logarithm: it is the mean of -log softmax(F)[y]":
        with_loss(lambda s: -float((softmax(s.F) * s.right).sum(1).mean())),
    "the loss is the log of a mean: take the mean of the logs":
        with_loss(lambda s: -float(np.log((softmax(s.F) * s.right).sum(1).mean()))),
    "the softmax is taken over the points: take it over the classes, the last axis":
        lambda s: (loss_over_points(s), along(s, softmax(s.F, 0) - s.right)),
    "a small number is added inside the log, and bounds the loss: log p is the logit minus the log "
    "of the sum of exp":
        with_loss(lambda s: -float(np.log((softmax(s.F) * s.right).sum(1) + 1e-12).mean())),
    TOO_SMALL: with_loss(lambda s: -float(np.log((softmax(s.F) * s.right).sum(1)).mean())),
    TOO_SMALL + ", and 0 times infinity is no number":
        with_loss(lambda s: -float((np.log(softmax(s.F)) * s.right).sum(1).mean())),
    f"{COLUMNS}, in the loss and in d": lambda s: (columns_loss(s), along(s, columns(s))),
    f"{COLUMNS}, in d": with_d(lambda s: along(s, columns(s))),
    f"{COLUMNS}, in the loss": with_loss(columns_loss),
    "loss and d are exchanged: return loss, d":
        lambda s: (along(s, slope(s)), loss(s.F, s)),
}  # fmt: skip


# --- ex07.2 ---------------------------------------------------------------------------------------


def drawn(logits: Array, z: Array) -> Array:
    """(N, H), 1 at what was drawn."""
    return onehot(z, logits.shape[1])


def scores(logits: Array, z: Array) -> Array:
    return drawn(logits, z) - softmax(logits)


def column_for_all(logits: Array, z: Array) -> Array:
    answer = -softmax(logits)
    answer[:, np.unique(z)] += 1
    return answer


SCORES: dict[str, Callable[[Array, Array], Array]] = {  # wrong scores
    "one softmax is taken of all logits: take one for each client":
        lambda a, z: drawn(a, z) - softmax(a.ravel()).reshape(a.shape),
    "1 / p - 1 is for p itself: with respect to the logits it is onehot(z_i) - softmax":
        lambda a, z: drawn(a, z) / softmax(a) - 1,
    "onehot(z_i) is forgotten in the score": lambda a, z: -softmax(a),
    "the logits are subtracted in the score: subtract their softmax": lambda a, z: drawn(a, z) - a,
    "exp of the logits is not divided by its sum": lambda a, z: drawn(a, z) - np.exp(a),
    "the score is the gradient of p here: that of log p has no p_z in front":
        lambda a, z: (drawn(a, z) * softmax(a)).sum(1, keepdims=True) * scores(a, z),
    "p[:, z] means these columns in all rows: row i has a 1 at z_i only": column_for_all,
}  # fmt: skip


class Turn(NamedTuple):
    """The arguments of `update`."""

    logits: Array
    z: Array
    d: Array
    lr: float

    @property
    def score(self) -> Array:
        return scores(self.logits, self.z)

    @property
    def drawn(self) -> Array:
        return drawn(self.logits, self.z)


def by_loops(s: Turn) -> Array:
    """The next logits, one number after the other."""
    rows = []
    for a, z, d in zip(s.logits.tolist(), s.z.tolist(), s.d.tolist(), strict=True):
        total = sum(math.exp(x - max(a)) for x in a)
        p = [math.exp(x - max(a)) / total for x in a]
        rows.append([x - s.lr * ((h == z) - p[h]) * d for h, x in enumerate(a)])
    return np.array(rows)


def by(rule: Callable[[Turn], Array]) -> Callable[[Turn], Array]:
    """In place of the score; with lr and each client's own d."""
    return lambda s: s.logits - s.lr * s.d[:, None] * rule(s)


def with_one(rule: Callable[[Turn], Array]) -> Callable[[Turn], Array]:
    """In place of the d of each client."""
    return lambda s: s.logits - s.lr * np.reshape(rule(s), (-1, 1)) * s.score


UPDATE: Mistakes = {
    "the step has the wrong sign: subtract lr times the score times d_i": by(lambda s: -s.score),
    "the mean of d is taken for all clients: client i has its own d_i":
        with_one(lambda s: s.d.mean()),
    "the sum of d is taken for all clients: client i has its own d_i":
        with_one(lambda s: s.d.sum()),
    "d is taken in another order: client i has its own d_i": with_one(lambda s: s.d[::-1]),
    "d_i is forgotten": with_one(lambda s: np.ones(len(s.d))),
    "lr is forgotten": lambda s: s.logits - s.d[:, None] * s.score,
    "only the drawn entry moves: the others move by their probabilities":
        by(lambda s: s.drawn * s.score),
    "the softmax is forgotten: the score is onehot(z_i) - softmax(logits[i])":
        by(lambda s: s.drawn),
    "this divides by the probability that was drawn, as for the step of p itself: the score of "
    "logits is onehot(z_i) - softmax(logits[i])":
        by(lambda s: s.drawn / softmax(s.logits)),
    "the softmax is taken over the clients: take it over the candidates, the last axis":
        by(lambda s: s.drawn - softmax(s.logits, 0)),
    "the logits are divided by their new sum: logits may be any numbers, leave them as they are":
        lambda s: by_loops(s) / by_loops(s).sum(1, keepdims=True),
    "the result is made a distribution: logits may be any numbers, leave them as they are":
        lambda s: softmax(by_loops(s)),
    "each row is shifted by its largest entry: leave the logits as they are":
        lambda s: by_loops(s) - by_loops(s).max(1, keepdims=True),
    "this is the change: add the logits": lambda s: -s.lr * s.d[:, None] * s.score,
    "the probabilities are moved: move the logits":
        lambda s: softmax(s.logits) - s.lr * s.d[:, None] * s.score,
    **{cause: by(lambda s, rule=rule: rule(s.logits, s.z)) for cause, rule in SCORES.items()},
}  # fmt: skip


# --- ex07.3 ---------------------------------------------------------------------------------------


class Rounds(NamedTuple):
    """The arguments of `centred`."""

    past: Array
    d: Array

    @property
    def finite(self) -> Array:
        return np.isfinite(self.past)

    @property
    def sum(self) -> Array:
        """(N,), of the finite entries."""
        return np.where(self.finite, self.past, 0).sum(0)

    @property
    def count(self) -> Array:
        """(N,), of the finite entries, at least 1."""
        return np.maximum(self.finite.sum(0), 1)


def by_means(s: Rounds) -> Array:
    """One client after the other."""
    found = []
    for i, d in enumerate(s.d.tolist()):
        known = [x for x in s.past[:, i].tolist() if math.isfinite(x)]
        mean = sum(known) / len(known) if known else d
        found.append(d - mean if math.isfinite(d) else d)
    return np.array(found)


def less(rule: Callable[[Rounds], Array | float]) -> Callable[[Rounds], Array]:
    """Subtract another baseline where there is an earlier number."""

    def wrong(s: Rounds) -> Array:
        with np.errstate(all="ignore"):
            moved = np.where(s.finite.any(0), s.d - rule(s), 0.0)
        return np.where(np.isfinite(s.d), moved, np.inf)

    return wrong


def or_else(rule: Callable[[Rounds], Array]) -> Callable[[Rounds], Array]:
    """Return something else where a client has no earlier number."""
    return lambda s: np.where(s.finite.any(0) | np.isinf(s.d), by_means(s), rule(s))


CENTRED: Mistakes = {
    "this is the mean minus d: it is d minus the mean":
        lambda s: np.where(np.isfinite(s.d), -by_means(s), np.inf),
    "the d of this round counts in the mean: it is that of the earlier rounds":
        less(lambda s: (s.sum + s.d) / (s.count + 1)),
    "one mean is taken over all clients: each client has its own":
        less(lambda s: s.sum.sum() / max(1, s.finite.sum())),
    "the mean is taken over the clients of this round: it is over the earlier rounds of a client":
        less(lambda s: s.d[np.isfinite(s.d)].mean()),
    "this subtracts the sum of the earlier d: divide it by their number": less(lambda s: s.sum),
    "this subtracts the d of the last round: it is the mean of all earlier ones":
        less(lambda s: s.past[-1] if len(s.past) else 0.0),
    "this is the mean itself: return d minus the mean": lambda s: s.sum / s.count,
    "rounds in which a client diverged count as 0: divide by the number of finite entries":
        less(lambda s: s.sum / max(1, len(s.past))),
    "inf counts in the mean here: take the mean of the finite entries":
        less(lambda s: s.past.mean(0) if len(s.past) else 0.0),
    "a round in which any client diverged is left out for all: leave out single entries":
        less(lambda s: s.past[s.finite.all(1)].sum(0) / max(1, s.finite.all(1).sum())),
    "without an earlier number this is d itself: it must be 0": or_else(lambda s: s.d),
    "without an earlier number this is no number: it must be 0":
        or_else(lambda s: np.full(len(s.d), np.nan)),
    "where d is inf the client does not move here: its entry must stay inf":
        lambda s: np.where(np.isfinite(s.d), by_means(s), 0.0),
}  # fmt: skip


# --- ex07.4 ---------------------------------------------------------------------------------------


class Single(NamedTuple):
    """The arguments of `directions`."""

    outputs: Array
    y: float
    logits: Array

    @property
    def p(self) -> Array:
        return softmax(self.logits)

    @property
    def error(self) -> Array:
        return self.outputs - self.y

    @property
    def d(self) -> Array:
        return self.error * self.outputs

    @property
    def L(self) -> Array:
        return self.error**2 / 2


def by_expectation(s: Single) -> Value:
    """The gradient of the mean of L over the draws; and of the mean of d, as if d were fixed."""
    y = s.y
    L = [(F - y) ** 2 / 2 for F in s.outputs.tolist()]
    d = [
        derivatives(lambda one, F=F: (one[0] * F - y) ** 2 / 2, [1.0])[0]
        for F in s.outputs.tolist()
    ]

    def gradient(values: list[float]) -> Array:
        def mean(a: list[complex]) -> complex:
            return sum(v * cmath.exp(log_softmax(a, h)) for h, v in enumerate(values))

        return np.array(derivatives(mean, s.logits.tolist()))

    return gradient(d), gradient(L)


def expected(s: Single, values: Array, p: Array | None = None) -> Array:
    """The mean over the draws of the score times a value, with other weights if given."""
    return ((s.p if p is None else p) * values) @ (np.eye(len(s.p)) - s.p)


def both(rule: Callable[[Single, Array], Array]) -> Callable[[Single], Value]:
    """From d, and from L."""
    return lambda s: (rule(s, s.d), rule(s, s.L))


def with_paper(rule: Callable[[Single], Array]) -> Callable[[Single], Value]:
    return lambda s: (expected(s, rule(s)), expected(s, s.L))


def with_exact(rule: Callable[[Single], Array]) -> Callable[[Single], Value]:
    return lambda s: (expected(s, s.d), expected(s, rule(s)))


DIRECTIONS: Mistakes = {
    "paper and exact are exchanged: return paper, exact": lambda s: by_expectation(s)[::-1],
    "the draws are not weighted: multiply each by its probability":
        both(lambda s, v: expected(s, v, np.ones(len(s.p)))),
    "this is the plain mean over the draws: weight each by its probability":
        both(lambda s, v: expected(s, v, np.full(len(s.p), 1 / len(s.p)))),
    "paper has the derivative with respect to F, F - y: with respect to the one it is (F - y) F":
        with_paper(lambda s: s.error),
    "paper has the credit, -d: take d itself": with_paper(lambda s: -s.d),
    "paper has 2 (F - y) F: the 1/2 of the loss takes the 2 away": with_paper(lambda s: 2 * s.d),
    "the loss has no 1/2": with_exact(lambda s: s.error**2),
    "the loss has no 1/2, and d a 2": lambda s: (expected(s, 2 * s.d), expected(s, 2 * s.L)),
    "both have the other sign: a step subtracts them, they are not the step":
        both(lambda s, v: -expected(s, v)),
    "the score has no softmax: it is onehot(z) - softmax(logits)": both(lambda s, v: s.p * v),
    "the score has no onehot(z): it is onehot(z) - softmax(logits)":
        both(lambda s, v: -(s.p @ v) * s.p),
    "the score is divided by the probabilities, as for p itself: for the logits it is onehot(z) - "
    "softmax(logits)":
        both(lambda s, v: v - s.p @ v),
    "rows and columns of the scores are exchanged: the score of draw z is onehot(z) - "
    "softmax(logits), and the sum is over z":
        both(lambda s, v: (np.eye(len(s.p)) - s.p) @ (s.p * v)),
    "only the draw of a candidate moves its entry here: the draws of the others count, too":
        both(lambda s, v: s.p * (1 - s.p) * v),
    "these are the draws one by one: add them up":
        both(lambda s, v: (s.p * v)[:, None] * (np.eye(len(s.p)) - s.p)),
    "these are the means of d and of L: multiply by the score before the mean is taken":
        lambda s: (float(s.p @ s.d), float(s.p @ s.L)),
}  # fmt: skip

"""Exercise 5: the arguments of its functions, and what known mistakes make of them."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from math import ceil, exp, inf, isnan, sqrt
from typing import NamedTuple

import numpy as np
from support import Array, Mistakes

Pair = tuple[Array, Array]


# --- ex05.1 ---------------------------------------------------------------------------------------


class Fit(NamedTuple):
    """The arguments of `shared_fit`."""

    X: Array
    y: Array
    classes: int
    lam: float

    @property
    def targets(self) -> Array:
        return 2.0 * np.eye(self.classes)[self.y] - 1


def by_elimination(s: Fit) -> Pair:
    """W and b from all derivatives = 0, without rounding: b belongs to a feature that is 1."""
    rows = [[*map(Fraction, row), Fraction(1)] for row in s.X.tolist()]
    own, size = s.y.tolist(), s.X.shape[1] + 1
    system = []
    for a in range(size):
        left = [sum(row[a] * row[b] for row in rows) for b in range(size)]
        left[a] += Fraction(s.lam) if a < size - 1 else 0
        right = [
            sum(row[a] if y == c else -row[a] for row, y in zip(rows, own, strict=True))
            for c in range(s.classes)
        ]
        system.append([*left, *right])
    for a in range(size):
        pivot = next(b for b in range(a, size) if system[b][a])
        system[a], system[pivot] = system[pivot], system[a]
        system[a] = [entry / system[a][a] for entry in system[a]]
        for b in range(size):
            if b != a:
                by = system[b][a]
                system[b] = [u - by * v for u, v in zip(system[b], system[a], strict=True)]
    solved = np.array([[float(entry) for entry in row[size:]] for row in system])
    return solved[:-1], solved[-1]


def centred(X: Array) -> Array:
    return X - X.mean(0)


def ridge(X: Array, T: Array, penalty: Array | float) -> Array:
    """The W of no intercept."""
    more = penalty if isinstance(penalty, Array) else penalty * np.eye(X.shape[1])
    return np.linalg.pinv(X.T @ X + more, hermitian=True) @ X.T @ T


def with_intercept(W: Array, X: Array, T: Array) -> Pair:
    return W, T.mean(0) - X.mean(0) @ W


def fitted(s: Fit) -> Pair:
    return to_targets(s, s.targets)


def to_targets(s: Fit, T: Array) -> Pair:
    return with_intercept(ridge(centred(s.X), centred(T), s.lam), s.X, T)


def with_lam(rule: Callable[[Fit], Array | float]) -> Callable[[Fit], Pair]:
    return lambda s: with_intercept(
        ridge(centred(s.X), centred(s.targets), rule(s)), s.X, s.targets
    )


def all_penalised(s: Fit) -> Pair:
    augmented = np.hstack([s.X, np.ones((len(s.X), 1))])
    solved = ridge(augmented, s.targets, s.lam)
    return solved[:-1], solved[-1]


def no_intercept(s: Fit) -> Array:
    return ridge(s.X, s.targets, s.lam)


def half_centred(s: Fit) -> Array:
    """X minus its mean in X'T only, and not in X'X."""
    gram = s.X.T @ s.X + s.lam * np.eye(s.X.shape[1])
    return np.linalg.solve(gram, centred(s.X).T @ s.targets)


def classes_that_occur(s: Fit) -> Pair:
    W, b = fitted(s)
    return W[:, : s.y.max() + 1], b[: s.y.max() + 1]


FIT: Mistakes = {
    "the targets are 0 and 1: they are -1 and +1": lambda s: to_targets(s, (s.targets + 1) / 2),
    "the targets are 0 and +2: they are -1 and +1": lambda s: to_targets(s, s.targets + 1),
    "the targets have the wrong signs: +1 belongs to the example's own class":
        lambda s: to_targets(s, -s.targets),
    "the targets are the numbers of the classes: each class has targets of its own, +1 and -1":
        lambda s: to_targets(s, 1.0 * s.y),
    "there are only as many classes as y has: some may have no example": classes_that_occur,
    "b is penalised, as a weight of a feature that is 1: lam is for W only": all_penalised,
    "there is no intercept, b = 0: it is part of the minimum":
        lambda s: (no_intercept(s), np.zeros(s.classes)),
    "b is 0: it is the mean of t minus that of x, times W":
        lambda s: (fitted(s)[0], np.zeros(s.classes)),
    "b is the mean of t only: subtract the mean of x, times W":
        lambda s: (fitted(s)[0], s.targets.mean(0)),
    "b has only minus the mean of x, times W: add the mean of t":
        lambda s: (fitted(s)[0], -s.X.mean(0) @ fitted(s)[0]),
    "b has plus the mean of x, times W: subtract it":
        lambda s: (fitted(s)[0], s.targets.mean(0) + s.X.mean(0) @ fitted(s)[0]),
    "b has the wrong sign": lambda s: (fitted(s)[0], -fitted(s)[1]),
    "W is that of the fit without b: take X and t minus their means, then solve for W":
        lambda s: with_intercept(no_intercept(s), s.X, s.targets),
    "W is that of the fit without b, and b is the mean of t: take X and t minus their means":
        lambda s: (no_intercept(s), s.targets.mean(0)),
    "the mean of x is not subtracted in X'X, or not everywhere":
        lambda s: with_intercept(half_centred(s), s.X, s.targets),
    "lam is multiplied by N: it is not, as the squares are added up":
        with_lam(lambda s: s.lam * len(s.X)),
    "the squares are averaged, not added up: lam / N in place of lam":
        with_lam(lambda s: s.lam / len(s.X)),
    "lam is doubled: the derivative has the 2 in both terms": with_lam(lambda s: 2 * s.lam),
    "lam is halved: the derivative has the 2 in both terms": with_lam(lambda s: s.lam / 2),
    "lam is squared": with_lam(lambda s: s.lam**2),
    "the root of lam is taken: add lam to the diagonal of X'X": with_lam(lambda s: sqrt(s.lam)),
    "lam is missing": with_lam(lambda s: 0.0),
    "lam plays no part, as if it were 1": with_lam(lambda s: 1.0),
    "lam is subtracted: add it": with_lam(lambda s: -s.lam),
    "lam is added to all entries of X'X: add it to the diagonal, lam * np.eye(n)":
        with_lam(lambda s: np.full((s.X.shape[1],) * 2, s.lam)),
    "W is transposed: it has a row for each feature, and a column for each class":
        lambda s: (fitted(s)[0].T, fitted(s)[1]),
    "W and b are exchanged: return W, b": lambda s: fitted(s)[::-1],
    "b has two axes: it is (classes,)": lambda s: (fitted(s)[0], fitted(s)[1][None]),
}  # fmt: skip


# --- ex05.2 ---------------------------------------------------------------------------------------


def by_counting(scores: Array, alive: Array) -> Array:
    """A living map stays if there are more places than better living maps."""
    ranks = [(inf if isnan(s) else s, i) for i, s in enumerate(scores.tolist())]
    living = [i for i, lives in enumerate(alive.tolist()) if lives]
    places = ceil(len(living) / 2)
    stays = [i for i in living if sum(ranks[j] < ranks[i] for j in living) < places]
    return np.array([1 / places if i in stays else 0.0 for i in range(len(scores))])


def known(scores: Array, nan: float = inf) -> Array:
    return np.where(np.isnan(scores), nan, scores)


def living(alive: Array) -> list[int]:
    return np.flatnonzero(alive).tolist()


def half(count: int) -> int:
    return ceil(count / 2)


def uniform(positions: Sequence[int], k: int) -> Array:
    """NaN, as 0 / 0, where there are no positions."""
    return divided(np.array([float(i in positions) for i in range(k)]))


def lowest(scores: Array, among: Sequence[int], count: int) -> Array:
    """Uniform on so many of some maps; of equal scores on the first."""
    return uniform(sorted(among, key=lambda i: scores[i])[:count], len(scores))


def half_of_the_living(scores: Array, alive: Array) -> Array:
    """What `halve` is asked for, if no score is NaN."""
    return lowest(scores, living(alive), half(sum(alive)))


def on_known(nan: float) -> Callable[[Array, Array], Array]:
    return lambda scores, alive: half_of_the_living(known(scores, nan), alive)


def so_many(count: Callable[[int], int]) -> Callable[[Array, Array], Array]:
    return lambda scores, alive: lowest(known(scores), living(alive), count(int(sum(alive))))


def last_of_equal(scores: Array, alive: Array) -> Array:
    return half_of_the_living(known(scores)[::-1], alive[::-1])[::-1]


def nan_after_inf(scores: Array, alive: Array) -> Array:
    order = sorted(living(alive), key=lambda i: (isnan(scores[i]), known(scores)[i]))
    return uniform(order[: half(len(order))], len(scores))


def from_the_end(scores: Array, alive: Array) -> Array:
    order = sorted(living(alive), key=lambda i: (isnan(scores[i]), known(scores)[i]))
    return uniform(order[::-1][: half(len(order))], len(scores))


def nan_not_counted(scores: Array, alive: Array) -> Array:
    return half_of_the_living(known(scores), alive & ~np.isnan(scores))


def divided(stays: Array) -> Array:
    return stays / stays.sum()


def printed(scores: Array, alive: Array) -> Array:
    stays = alive & (known(scores) <= np.median(known(scores)))
    return stays * 2 / sum(alive)


def best_of_all_that_live(scores: Array, alive: Array) -> Array:
    best = np.argsort(known(scores), kind="stable")[: half(len(scores))]
    return uniform([i for i in best if alive[i]], len(scores))


def mask(scores: Array, alive: Array) -> Array:
    return by_counting(scores, alive) > 0


def eliminated_as_inf(scores: Array, alive: Array) -> Array:
    return lowest(np.where(alive, known(scores), inf), range(len(scores)), half(sum(alive)))


def among_the_living(scores: Array, alive: Array) -> Array:
    order = np.argsort(known(scores)[alive], kind="stable")
    return uniform(order[: half(len(order))].tolist(), len(scores))


HALVE: Mistakes = {
    "this is the printed rule, with the median of all k scores and 2 p: maps that have gone must "
    "not count, and the sum must be 1":
        printed,
    "this is the printed rule, and NaN makes the median NaN, with which each comparison is False":
        lambda scores, alive: alive * (scores <= np.median(scores)) * 2 / sum(alive),
    "the half, or the median, is that of all k maps: those that have gone must not count in it":
        lambda scores, alive: divided(alive & (known(scores) <= np.median(known(scores)))),
    "half of all k maps stay, but for those that have gone: take half of the living ones":
        best_of_all_that_live,
    "p is doubled, to 2 / n: that sums to 1 only if exactly half of the n living maps stay":
        lambda scores, alive: alive * (known(scores) <= np.median(known(scores)[alive])) * 2
        / sum(alive),
    "all maps with the median's score stay: of n living maps ceil(n / 2) stay, of equal ones the "
    "first":
        lambda scores, alive: divided(alive & (known(scores) <= np.median(known(scores)[alive]))),
    "n / 2 is rounded down, or the median itself goes: of n living maps ceil(n / 2) stay":
        so_many(lambda n: max(1, n // 2)),
    "n / 2 is rounded down, or the median itself goes, and of one map none is left: ceil(n / 2) "
    "stay":
        so_many(lambda n: n // 2),
    "maps with the median's score go: of n living maps ceil(n / 2) stay, of equal ones the first":
        lambda scores, alive: divided(alive & (known(scores) < np.median(known(scores)[alive]))),
    "NaN makes the median NaN, with which each comparison is False: count NaN as inf":
        lambda scores, alive: divided(alive & (scores <= np.median(scores[alive]))),
    "NaN is left out of the median: count it as inf":
        lambda scores, alive: divided(alive & (scores <= np.nanmedian(scores[alive]))),
    "n / 2 is rounded to the nearest whole number: ceil(n / 2) of n living maps stay":
        so_many(lambda n: max(1, round(n / 2))),
    "one map too many stays: of n living maps ceil(n / 2)": so_many(lambda n: n // 2 + 1),
    "only the worst one goes: of n living maps ceil(n / 2) stay": so_many(lambda n: max(1, n - 1)),
    "only the best one stays: of n living maps ceil(n / 2)": so_many(lambda n: 1),
    "nobody goes: of n living maps ceil(n / 2) stay": so_many(lambda n: n),
    "the worst half stays: lower is better":
        lambda scores, alive: half_of_the_living(-known(scores), alive),
    "the worst half stays, as the order is read from its end: lower is better": from_the_end,
    "these are the maps that go: the others stay":
        lambda scores, alive: divided(alive & ~mask(scores, alive)),
    "maps that have gone come back: only living ones can stay":
        lambda scores, alive: lowest(known(scores), range(len(scores)), half(len(scores))),
    "maps that have gone come back, though as many as should stay: only living ones can":
        lambda scores, alive: lowest(known(scores), range(len(scores)), half(sum(alive))),
    "half of all k maps stay: n is the number of the living ones":
        lambda scores, alive: lowest(known(scores), living(alive), half(len(scores))),
    "a map that has gone comes back where a living one has inf or NaN: leave out those that have "
    "gone":
        lambda scores, alive: divided(
            np.isin(
                range(len(scores)),
                np.argsort(np.where(alive, scores, np.inf), kind="stable")[: half(sum(alive))],
            )
        ),
    "a map that has gone comes back where a living one has inf: leave out those that have gone":
        eliminated_as_inf,
    "of equal scores those at higher positions stay: lower positions do": last_of_equal,
    "NaN is best here: it counts as inf": on_known(-inf),
    "NaN counts as 0 here: it counts as inf": on_known(0.0),
    "NaN comes after inf here: it counts as inf, so that the lower position stays": nan_after_inf,
    "NaN is not one of the n living maps here: n is the number of all of them": nan_not_counted,
    "NaN confuses sorted, as each comparison with it is False: count it as inf":
        half_of_the_living,
    "p stays 1 / n: divide by the number of maps that stay":
        lambda scores, alive: mask(scores, alive) / sum(alive),
    "each p is 1 / k: divide by the number of maps that stay":
        lambda scores, alive: mask(scores, alive) / len(scores),
    "each p is 2 / k: divide by the number of maps that stay":
        lambda scores, alive: mask(scores, alive) * 2 / len(scores),
    "each p is 2 / n: with an odd n this is not 1 / ceil(n / 2)":
        lambda scores, alive: mask(scores, alive) * 2 / sum(alive),
    "each p is 1 where a map stays: divide by the number of them":
        lambda scores, alive: 1.0 * mask(scores, alive),
    "these say which maps stay: divide by the number of them": mask,
    "these are the positions of the maps that stay: return the probability of each map":
        lambda scores, alive: np.flatnonzero(mask(scores, alive)),
    "these are the positions of the maps that stay, the best first: return the probability of "
    "each map":
        lambda scores, alive: np.array(
            sorted(np.flatnonzero(mask(scores, alive)), key=lambda i: known(scores)[i])
        ),
    "these are positions among the living maps: take living[...] of them to have those among all":
        among_the_living,
    "these are the probabilities of those that stay only: return an entry for each of the k maps":
        lambda scores, alive: divided(np.ones(half(sum(alive)))),
}  # fmt: skip


# The second part: exponentiated gradient.


def by_decimals(p: Array, errors: Array, eta: float) -> Array:
    """The next probabilities in decimal numbers, whose exponents have no end."""
    new = [
        Decimal(p_i) * (-Decimal(eta) * Decimal(e)).exp()
        for p_i, e in zip(p.tolist(), errors.tolist(), strict=True)
    ]
    return np.array([float(p_i / sum(new)) for p_i in new])


def too_small(p: Array, errors: Array, eta: float) -> Array:
    """Without the lowest error subtracted."""
    new = p * np.exp(-eta * errors)
    return np.divide(new, new.sum(), out=np.full(len(p), np.nan), where=new.sum() > 0)


def taking(factor: Callable[[Array, Array, float], Array]) -> Callable[..., Array]:
    """Return what multiplies p by other factors."""
    return lambda p, errors, eta: normalised(p * factor(p, errors, eta))


SOFTENED: Mistakes = {
    "each factor is 0 in float64, and so is their sum: subtract the lowest error first": too_small,
    "p is not normalised: divide it by its sum":
        lambda p, errors, eta: p * np.exp(-eta * errors),
    "p is not normalised, with the lowest error subtracted: divide it by its sum":
        lambda p, errors, eta: p * np.exp(-eta * (errors - errors.min())),
    "the minus is missing: a high error makes a map less likely":
        lambda p, errors, eta: by_decimals(p, errors, -eta),
    "the errors are divided by p: all maps are scored, so they are not":
        lambda p, errors, eta: by_decimals(p, errors / p, eta),
    "the errors are multiplied by p: they are not":
        lambda p, errors, eta: by_decimals(p, errors * p, eta),
    "p plays no part: multiply it by the factors":
        lambda p, errors, eta: by_decimals(np.ones(len(p)), errors, eta),
    "eta plays no part, as if it were 1": lambda p, errors, eta: by_decimals(p, errors, 1.0),
    "the factor is 1 - eta e: it is exp(-eta e)": taking(lambda p, errors, eta: 1 - eta * errors),
    "only the best map stays: no map goes":
        lambda p, errors, eta: 1.0 * (np.arange(len(p)) == errors.argmin()),
    "these are logarithms: return the probabilities":
        lambda p, errors, eta: np.log(np.maximum(by_decimals(p, errors, eta), 1e-300)),
}  # fmt: skip


# --- ex05.3 ---------------------------------------------------------------------------------------


class Round(NamedTuple):
    """The arguments of `weights_round`."""

    p: Array
    rows: Array
    scores: Array
    tau: int
    divide: bool


def client_by_client(s: Round) -> Array:
    """The next probabilities, one client after the other, in plain numbers."""
    p = s.p.tolist()
    for i, score in zip(s.rows.tolist(), s.scores.tolist(), strict=True):
        p[i] *= exp(-(score / float(s.p[i]) if s.divide else score) / sqrt(s.tau))
    return np.array([p_i / sum(p) for p_i in p])


def normalised(p: Array) -> Array:
    return p / p.sum()


def told(s: Round) -> Array:
    """(B,), what each client's factor has in its exponent, times -sqrt(tau)."""
    return s.scores / s.p[s.rows] if s.divide else s.scores


def moved(s: Round, exponent: Callable[[Array], Array]) -> Array:
    """Multiply p by exp of what becomes of the sums over each configuration's clients."""
    return normalised(s.p * np.exp(exponent(np.bincount(s.rows, told(s), len(s.p)))))


def last_client_only(s: Round) -> Array:
    total = np.zeros(len(s.p))
    total[s.rows] = told(s)
    return normalised(s.p * np.exp(-total / sqrt(s.tau)))


def mean_of_a_row(s: Round) -> Array:
    drawn = np.maximum(np.bincount(s.rows, minlength=len(s.p)), 1)
    return moved(s, lambda total: -total / drawn / sqrt(s.tau))


def by_changing_p(s: Round, normalise: bool) -> Array:
    """Each client's division has the p that the clients before it have left."""
    p = s.p.copy()
    for i, score in zip(s.rows, s.scores, strict=True):
        p[i] *= exp(-(score / p[i] if s.divide else score) / sqrt(s.tau))
        p = normalised(p) if normalise else p
    return normalised(p)


def linear(s: Round) -> Array:
    total = np.bincount(s.rows, told(s), len(s.p))
    return normalised(s.p * (1 - total / sqrt(s.tau)))


WEIGHTS: Mistakes = {
    "p is not normalised: divide it by its sum":
        lambda s: s.p * np.exp(-np.bincount(s.rows, told(s), len(s.p)) / sqrt(s.tau)),
    "where several clients drew a configuration only one of them counts: each multiplies it":
        last_client_only,
    "the scores of a configuration are averaged: each of its clients multiplies it":
        mean_of_a_row,
    "the scores are divided by the number of clients: each client has the whole factor":
        lambda s: moved(s, lambda total: -total / len(s.rows) / sqrt(s.tau)),
    "the root is missing: it is sqrt(tau)": lambda s: moved(s, lambda total: -total / s.tau),
    "tau is missing: the scores are divided by sqrt(tau)": lambda s: moved(s, lambda total: -total),
    "this multiplies by sqrt(tau): divide the scores by it":
        lambda s: moved(s, lambda total: -total * sqrt(s.tau)),
    "the minus is missing: a high score makes a configuration less likely":
        lambda s: moved(s, lambda total: total / sqrt(s.tau)),
    "divide plays no part: with divide=True each score is divided by the p of its configuration":
        lambda s: client_by_client(s._replace(divide=False)),
    "divide=False does not divide by p": lambda s: client_by_client(s._replace(divide=True)),
    "divide is the wrong way round": lambda s: client_by_client(s._replace(divide=not s.divide)),
    "with divide=True this multiplies by p: divide by it":
        lambda s: client_by_client(
            s._replace(scores=s.scores * s.p[s.rows] ** (2 if s.divide else 0))
        ),
    "this divides by the p that other clients have just changed: divide by the p from before the "
    "round":
        lambda s: by_changing_p(s, False),
    "this divides by the p that other clients have changed and that was normalised: divide by the "
    "p from before the round":
        lambda s: by_changing_p(s, True),
    "with divide=True the division is by sqrt(p): it is by p":
        lambda s: client_by_client(
            s._replace(scores=s.scores * np.sqrt(s.p[s.rows] if s.divide else 1.0))
        ),
    "the factor is 1 - x: it is exp(-x)": linear,
    "these are logarithms: return the probabilities": lambda s: np.log(client_by_client(s)),
}  # fmt: skip

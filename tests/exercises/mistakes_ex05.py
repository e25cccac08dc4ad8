"""Exercise 5: the arguments of its functions, and what known mistakes make of them."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import ceil, cos, inf, isnan, sqrt
from typing import NamedTuple

import numpy as np
from support import Array, Mistakes

Pair = tuple[Array, Array]


# --- ex05.1 ---------------------------------------------------------------------------------------


class Draw(NamedTuple):
    """The arguments of `fourier`."""

    x: Array
    omega: Array
    offset: Array
    gamma: float

    @property
    def factor(self) -> float:
        return sqrt(2 / len(self.offset))

    @property
    def root(self) -> float:
        return sqrt(2 * self.gamma)


def by_loops(s: Draw) -> Array:
    """The features, one number after the other."""
    (N, d), n = s.x.shape, len(s.offset)
    out = np.empty((N, n))
    for i in range(N):
        for j in range(n):
            product = sum(float(s.x[i, a]) * float(s.omega[a, j]) for a in range(d))
            out[i, j] = s.factor * cos(s.root * product + s.offset[j])
    return out


def with_factor(rule: Callable[[Draw], float]) -> Callable[[Draw], Array]:
    """In place of sqrt(2 / n)."""
    return lambda s: rule(s) * np.cos(s.root * s.x @ s.omega + s.offset)


def with_root(rule: Callable[[float], float]) -> Callable[[Draw], Array]:
    """In place of sqrt(2 gamma)."""
    return lambda s: s.factor * np.cos(rule(s.gamma) * s.x @ s.omega + s.offset)


def with_angle(rule: Callable[[Draw], Array]) -> Callable[[Draw], Array]:
    return lambda s: s.factor * np.cos(rule(s))


FOURIER: Mistakes = {
    "the factor sqrt(2 / n) is missing": with_factor(lambda s: 1.0),
    "the factor is sqrt(2 / d): n is the number of features, the columns of omega":
        with_factor(lambda s: sqrt(2 / len(s.omega))),
    "the factor is sqrt(2 / N): n is the number of features, the columns of omega":
        with_factor(lambda s: sqrt(2 / len(s.x))),
    "the factor is 1 / sqrt(n): it is sqrt(2 / n)": with_factor(lambda s: s.factor / sqrt(2)),
    "the factor is 2 / n: it is sqrt(2 / n)": with_factor(lambda s: s.factor**2),
    "the factor is 1 / n: it is sqrt(2 / n)": with_factor(lambda s: s.factor**2 / 2),
    "the factor is 2 / sqrt(n): it is sqrt(2 / n)": with_factor(lambda s: s.factor * sqrt(2)),
    "the factor is sqrt(2) / n: it is sqrt(2 / n)":
        with_factor(lambda s: sqrt(2) / len(s.offset)),
    "the factor is sqrt(n / 2): it is sqrt(2 / n)": with_factor(lambda s: 1 / s.factor),
    "the factor is sqrt(2): divide by n under the root": with_factor(lambda s: sqrt(2)),
    "x omega is multiplied by gamma: multiply by sqrt(2 gamma)": with_root(lambda gamma: gamma),
    "the root is missing: x omega is multiplied by sqrt(2 gamma)":
        with_root(lambda gamma: 2 * gamma),
    "the 2 is missing in sqrt(2 gamma)": with_root(sqrt),
    "gamma is outside the root: it is sqrt(2 gamma)": with_root(lambda gamma: sqrt(2) * gamma),
    "the 2 is outside the root: it is sqrt(2 gamma)": with_root(lambda gamma: 2 * sqrt(gamma)),
    "gamma is missing in sqrt(2 gamma)": with_root(lambda gamma: sqrt(2)),
    "gamma plays no part: x omega is multiplied by sqrt(2 gamma)": with_root(lambda gamma: 1.0),
    "gamma is divided by 2 under the root: it is sqrt(2 gamma)":
        with_root(lambda gamma: sqrt(gamma / 2)),
    "this divides by sqrt(2 gamma): multiply x omega by it":
        with_root(lambda gamma: 1 / sqrt(2 * gamma)),
    "this divides by gamma: multiply x omega by sqrt(2 gamma)":
        with_root(lambda gamma: 1 / gamma),
    "this is the sine: take the cosine":
        lambda s: s.factor * np.sin(s.root * s.x @ s.omega + s.offset),
    "the offset is missing": with_angle(lambda s: s.root * s.x @ s.omega),
    "the offset is multiplied by sqrt(2 gamma), too: only x omega is":
        with_angle(lambda s: s.root * (s.x @ s.omega + s.offset)),
    "the offset is multiplied by gamma, too: only x omega is multiplied, by sqrt(2 gamma)":
        with_angle(lambda s: s.gamma * (s.x @ s.omega + s.offset)),
    "the offset is subtracted: add it": with_angle(lambda s: s.root * s.x @ s.omega - s.offset),
    "the offset is added to the cosine: add it to the angle":
        lambda s: s.factor * np.cos(s.root * s.x @ s.omega) + s.offset,
    "the offset is added to the features: add it to the angle":
        lambda s: s.factor * (np.cos(s.root * s.x @ s.omega) + s.offset),
    "the answer is transposed: it has a row for each example, and a column for each feature":
        lambda s: by_loops(s).T,
    "these are cosines and sines: only the cosines are asked for, with the offset in the angle":
        lambda s: np.hstack([np.cos(s.root * s.x @ s.omega), np.sin(s.root * s.x @ s.omega)])
        / sqrt(len(s.offset)),
    "this is the angle: take sqrt(2 / n) times its cosine":
        lambda s: s.root * s.x @ s.omega + s.offset,
}  # fmt: skip


# --- ex05.2 ---------------------------------------------------------------------------------------


def row_by_row(features: Array, assignment: Array) -> Array:
    """The mixed matrix, one number after the other."""
    _, N, n = features.shape
    return np.array([[features[assignment[i]][i][a] for a in range(n)] for i in range(N)])


def one_hot(features: Array, assignment: Array) -> Array:
    """(k, N), which example has which map."""
    return (np.arange(len(features))[:, None] == assignment).astype(np.float64)


def all_by_sorted_map(features: Array, assignment: Array) -> Array:
    return row_by_row(features, assignment)[np.argsort(assignment, kind="stable")]


def own_of_map(features: Array, assignment: Array) -> Array | None:
    inside = len(assignment) <= len(features) and assignment.max() < features.shape[1]
    return features[np.arange(len(assignment)), assignment] if inside else None


def as_example(features: Array, assignment: Array) -> Array | None:
    """The row is that of example assignment[i]."""
    inside = assignment.max() < features.shape[1]
    return features[assignment, assignment] if inside else None


MIXED: Mistakes = {
    "features[assignment] has for each example all rows of its map, (N, N, n): take row i of them":
        lambda features, assignment: features[assignment],
    "this has all rows of each map, and of those that are not drawn 0: add up over the maps":
        lambda features, assignment: features * one_hot(features, assignment)[:, :, None],
    "the answer is transposed (np.diagonal puts its new axis last)":
        lambda features, assignment: row_by_row(features, assignment).T,
    "the diagonal is over examples and features: it is over the first two axes, (N, N)":
        lambda features, assignment: features[assignment].diagonal(axis1=1, axis2=2),
    "the diagonal is over axes 0 and 2: it is over the first two axes, (N, N)":
        lambda features, assignment: features[assignment].diagonal(axis1=0, axis2=2),
    "example i has map i here: it has map assignment[i]":
        lambda features, assignment: features.diagonal().T,
    "this is the mean over the maps: example i has its own map only":
        lambda features, assignment: features.mean(0),
    "this is the sum over the maps: example i has its own map only":
        lambda features, assignment: features.sum(0),
    "this is the mean over the maps, each weighted by its share of the examples: example i has "
    "its own map only":
        lambda features, assignment: features[assignment].mean(0),
    "this adds up the maps of all examples: example i has its own map only":
        lambda features, assignment: features[assignment].sum(0),
    "all examples have the map of the first: example i has map assignment[i]":
        lambda features, assignment: features[assignment[0]],
    "all examples have the map of the last: example i has map assignment[i]":
        lambda features, assignment: features[assignment[-1]],
    "all examples have map 0: example i has map assignment[i]":
        lambda features, assignment: features[0],
    "all examples have the map that most have: example i has map assignment[i]":
        lambda features, assignment: features[np.bincount(assignment).argmax()],
    "the rows are in the order of their maps: row i is example i": all_by_sorted_map,
    "the assignment is sorted: example i has map assignment[i]":
        lambda features, assignment: row_by_row(features, np.sort(assignment)),
    "the rows are in reverse order: row i is example i":
        lambda features, assignment: row_by_row(features, assignment)[::-1],
    "the row is that of example assignment[i]: take row i of map assignment[i]": as_example,
    "the two indices are exchanged: it is features[map, example]": own_of_map,
    "the maps are counted from 1 here: count from 0":
        lambda features, assignment: row_by_row(features, assignment - 1),
}  # fmt: skip


# --- ex05.3 ---------------------------------------------------------------------------------------


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


# --- ex05.4 ---------------------------------------------------------------------------------------


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
    "these are the probabilities of those that stay only: return an entry for each of the k maps":
        lambda scores, alive: divided(np.ones(half(sum(alive)))),
}  # fmt: skip

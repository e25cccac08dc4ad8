"""Exercise 6: the arguments of its functions, and what known mistakes make of them."""

from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from math import sqrt
from typing import NamedTuple

import numpy as np
from support import Array, Mistakes

Part = Array | float
Value = Part | tuple[Part, ...]


# --- ex06.1 ---------------------------------------------------------------------------------------


class Task(NamedTuple):
    """The arguments of `ogd`."""

    z: Array
    w: Array
    c: float
    radius: float


def by_loops(s: Task) -> tuple[Array, float]:
    """The points that are played and the sum of their losses, one number after the other."""
    w, points, total = s.w.tolist(), [], 0.0
    for z in s.z.tolist():
        points.append(w)
        away = [a - b for a, b in zip(w, z, strict=True)]
        total += sum(g * g for g in away) / 2
        w = [a - s.c * g for a, g in zip(w, away, strict=True)]
        length = sqrt(sum(a * a for a in w))
        if length > s.radius:
            w = [a * s.radius / length for a in w]
    return np.array(points), total


def size(v: Array) -> float:
    return float(np.sqrt((v * v).sum()))


def nearest(v: Array, radius: float) -> Array:
    """The projection onto the ball."""
    return v / max(1.0, size(v) / radius)


def loss(w: Array, z: Array) -> float:
    return float(((w - z) ** 2).sum() / 2)


class Played(NamedTuple):
    """The points w_i, what comes of them, and the losses that are suffered."""

    points: Array
    after: Array
    losses: Array


def play(
    s: Task,
    step: Callable[[Task, int, Array], Array] = lambda s, i, w: w - s.c * (w - s.z[i]),
    project: Callable[[Array, float], Array] = nearest,
    suffer: Callable[[Array, Array], float] = loss,
) -> Played:
    w, points, losses = s.w, [], []
    for i, z in enumerate(s.z):
        points.append(w)
        losses.append(suffer(w, z))
        w = project(step(s, i, w), s.radius)
    return Played(np.array(points), np.array([*points[1:], w]), np.array(losses))


def with_step(rule: Callable[[Task, int, Array], Array]) -> Callable[[Task], Value]:
    return lambda s: summed(play(s, step=rule))


def with_projection(rule: Callable[[Array, float], Array]) -> Callable[[Task], Value]:
    return lambda s: summed(play(s, project=rule))


def with_loss(rule: Callable[[Array, Array], float]) -> Callable[[Task], Value]:
    return lambda s: summed(play(s, suffer=rule))


def summed(played: Played) -> Value:
    return played.points, float(played.losses.sum())


def losses_after(s: Task, played: Played) -> float:
    return float(sum(loss(w, z) for w, z in zip(played.after, s.z, strict=True)))


def projected_late(s: Task, gradient_first: bool) -> Value:
    """Each point is projected only after it was played, on its way to the step."""
    w, points, total = s.w, [], 0.0
    for z in s.z:
        points.append(w)
        total += loss(w, z)
        inside = nearest(w, s.radius)
        w = inside - s.c * ((w if gradient_first else inside) - z)
    return np.array(points), total


def projected_late_and_suffered(s: Task) -> Value:
    """Return the points of `projected_late`, with the losses at the projected points."""
    points, _ = projected_late(s, False)
    return points, sum(loss(nearest(w, s.radius), z) for w, z in zip(points, s.z, strict=True))


def shared(s: Task, project: Callable[[Array, float], Array]) -> Value:
    """All points are one array, until ``project`` makes a new one."""
    w, points, total = s.w.copy(), [], 0.0
    for z in s.z:
        points.append(w)
        total += loss(w, z)
        w -= s.c * (w - z)
        w = project(w, s.radius)
    return np.array(points), total


def nearest_in_place(v: Array, radius: float) -> Array:
    v /= max(1.0, size(v) / radius)
    return v


def nearest_if_outside(v: Array, radius: float) -> Array:
    return nearest(v, radius) if size(v) > radius else v


def all_after(s: Task) -> Value:
    played = play(s)
    return played.after, losses_after(s, played)


def with_last(s: Task) -> Value:
    played = play(s)
    return np.vstack([played.points, played.after[-1:]]), float(played.losses.sum())


def projected_at_the_end(s: Task, suffer_inside: bool) -> Value:
    played = play(s, project=lambda v, radius: v)
    points = np.array([nearest(w, s.radius) for w in played.points])
    inside = sum(loss(w, z) for w, z in zip(points, s.z, strict=True))
    return points, inside if suffer_inside else float(played.losses.sum())


OGD: Mistakes = {
    "the loss is suffered after the step, at the next point: it is suffered at w_i":
        lambda s: (play(s).points, losses_after(s, play(s))),
    "the points begin with the result of the first step, and the loss is suffered there, too: "
    "play and suffer at w_i, then step":
        all_after,
    "w is left out, and the result of the last step is there: the points are those that were "
    "played, w first":
        lambda s: (play(s).after, summed(play(s))[1]),
    "the result of the last step is there, too: it is not played any more": with_last,
    "w is left out of the points: it is the first one that was played":
        lambda s: (play(s).points[1:], summed(play(s))[1]),
    "this is the result of the last step only: return all points that were played":
        lambda s: (play(s).after[-1], summed(play(s))[1]),
    "the points are not projected": with_projection(lambda v, radius: v),
    "the projection comes before the step only: what comes out of the step is played next, and may "
    "be outside the ball":
        lambda s: projected_late(s, False),
    "the projection comes between the gradient and the step: what comes out of the step is played "
    "next, and may be outside the ball":
        lambda s: projected_late(s, True),
    "the points are those before their projection, and the losses those after: project what comes "
    "out of the step, then play it":
        projected_late_and_suffered,
    "the points are projected only at the end, after all steps: project what comes out of each "
    "step, before it is played":
        lambda s: projected_at_the_end(s, False),
    "the points are projected only at the end, and the losses are those of the projected points: "
    "project what comes out of each step, before it is played":
        lambda s: projected_at_the_end(s, True),
    "each entry is clipped by itself: multiply all of them by radius / |w|":
        with_projection(lambda v, radius: v.clip(-radius, radius)),
    "points inside the ball are moved to its boundary: divide by |w| only where it is above the "
    "radius":
        with_projection(lambda v, radius: radius * v / size(v)),
    "points are moved to the length 1, also those inside the ball: multiply by radius / |w|, and "
    "only where |w| is above the radius":
        with_projection(lambda v, radius: v / size(v)),
    "points outside the ball are moved to the length 1: multiply by radius / |w|":
        with_projection(lambda v, radius: v / size(v) if size(v) > radius else v),
    "|w|^2 is compared with the radius: compare |w| with it, or |w|^2 with its square":
        with_projection(lambda v, radius: radius * v / size(v) if size(v) ** 2 > radius else v),
    "the gradient is projected: project the point that comes out of the step":
        lambda s: summed(
            play(s, lambda s, i, w: w - s.c * nearest(w - s.z[i], s.radius), lambda v, radius: v)
        ),
    "the step goes away from z_i: the gradient is w_i - z_i, and the step is minus c times it":
        with_step(lambda s, i, w: w + s.c * (w - s.z[i])),
    "the gradient is 2 (w_i - z_i): the 1/2 of the loss takes the 2 away":
        with_step(lambda s, i, w: w - 2 * s.c * (w - s.z[i])),
    "the gradient is 2 (w_i - z_i), and the loss has no 1/2: with the 1/2 the gradient is w_i - "
    "z_i":
        lambda s: summed(
            play(s, lambda s, i, w: w - 2 * s.c * (w - s.z[i]), suffer=lambda w, z: 2 * loss(w, z))
        ),
    "c is missing: the step is c times the gradient": with_step(lambda s, i, w: s.z[i]),
    "this divides by c: the step is c times the gradient":
        with_step(lambda s, i, w: w - (w - s.z[i]) / s.c),
    "c is divided by i: it is the same in each step":
        with_step(lambda s, i, w: w - s.c / (i + 1) * (w - s.z[i])),
    "the gradient is taken at the first point: take that of loss i at w_i":
        with_step(lambda s, i, w: w - s.c * (s.w - s.z[i])),
    "each step begins at the first point: it begins at w_i":
        with_step(lambda s, i, w: s.w - s.c * (s.w - s.z[i])),
    "no step is taken: all points are w": with_step(lambda s, i, w: w),
    "all points are one array, which changes in place: append a copy of it, w.copy()":
        lambda s: shared(s, nearest_in_place),
    "points without a projection between them are one array, which changes in place: append a "
    "copy of it, w.copy()":
        lambda s: shared(s, nearest_if_outside),
    "the points are those after the step and before the projection: append w_i before the step, "
    "and note that -= would change the array that was appended":
        lambda s: shared(s, nearest),
    "the loss has no 1/2": with_loss(lambda w, z: 2 * loss(w, z)),
    "the loss is 1/2 |w - z_i|, without the square":
        with_loss(lambda w, z: size(w - z) / 2),
    "the squares of the entries are averaged: |w - z_i|^2 is their sum":
        with_loss(lambda w, z: loss(w, z) / len(z)),
    "the total is the mean of the losses: it is their sum":
        lambda s: (play(s).points, float(play(s).losses.mean())),
    "the total is the last loss: it is the sum of all":
        lambda s: (play(s).points, float(play(s).losses[-1])),
    "these are the losses: return their sum": lambda s: (play(s).points, play(s).losses),
    "points and total are exchanged: return points, total": lambda s: summed(play(s))[::-1],
}  # fmt: skip


# --- ex06.2 ---------------------------------------------------------------------------------------


class Draw(NamedTuple):
    """The arguments of `bandit_step`."""

    z: Array
    arm: int
    loss: float
    eta: float

    @property
    def p(self) -> np.float64:  # a division by 0 gives inf, and is no exception
        return np.exp(self.z[self.arm])


def by_decimals(s: Draw) -> Array:
    """The next log p by powers, a sum and a logarithm, with exponents that floats do not have."""
    with localcontext(prec=40):
        z = [Decimal(x) for x in s.z.tolist()]
        z[s.arm] -= Decimal(s.eta) * Decimal(s.loss) / z[s.arm].exp()
        total = sum(x.exp() for x in z).ln()
        return np.array([float(x - total) for x in z])


def normal(z: Array) -> Array:
    """With exp of its entries summing to 1."""
    z = z - z.max()
    return z - np.log(np.exp(z).sum())


def less(z: Array, arm: int, by: float) -> Array:
    """z with one entry lower than it was."""
    return z - by * (np.arange(len(z)) == arm)


def moved(s: Draw) -> Array:
    """z after the step, not yet normalised."""
    return less(s.z, s.arm, s.eta * s.loss / s.p)


def by(rule: Callable[[Draw], float]) -> Callable[[Draw], Array]:
    """In place of eta loss / p_a."""
    return lambda s: normal(less(s.z, s.arm, rule(s)))


def powers(s: Draw) -> Array:
    """The next p in plain floats, not yet normalised."""
    factor = np.exp(-s.eta * s.loss / s.p)
    return np.exp(s.z) * np.where(np.arange(len(s.z)) == s.arm, factor, 1.0)


def p_after(s: Draw) -> np.float64:
    """The arm's probability after a step without 1 / p."""
    return np.exp(normal(less(s.z, s.arm, s.eta * s.loss)))[s.arm]


def only_own(s: Draw) -> Array:
    z = s.z.copy()
    z[s.arm] = normal(moved(s))[s.arm]
    return z


BANDIT: Mistakes = {
    "the loss is not divided by p_a": by(lambda s: s.eta * s.loss),
    "the loss is multiplied by p_a: divide by it": by(lambda s: s.eta * s.loss * s.p),
    "the loss is divided by z_a: divide by p_a, which is exp(z_a)":
        by(lambda s: s.eta * s.loss / s.z[s.arm]),
    "the loss is multiplied by k, as if p were uniform: divide by p_a":
        by(lambda s: s.eta * s.loss * len(s.z)),
    "the loss is divided by the p_a from after the step: take that from before it":
        by(lambda s: s.eta * s.loss / p_after(s)),
    "p_a exp(-eta loss) is divided by p_a: divide the loss by it, in exp":
        by(lambda s: s.eta * s.loss + s.z[s.arm]),
    "the arm gets likelier with a loss: it is exp of minus eta loss / p_a":
        by(lambda s: -s.eta * s.loss / s.p),
    "eta is missing": by(lambda s: s.loss / s.p),
    "the exponent is subtracted from p_a: subtract eta loss / p_a from z_a":
        lambda s: normal(np.log(less(np.exp(s.z), s.arm, s.eta * s.loss / s.p))),
    "z_a is multiplied by exp(-eta loss / p_a): that belongs to p_a; from z_a subtract eta loss / "
    "p_a":
        lambda s: normal(
            s.z * np.where(np.arange(len(s.z)) == s.arm, np.exp(-s.eta * s.loss / s.p), 1.0)
        ),
    "the arms are counted from 1 here: count from 0":
        lambda s: normal(less(s.z, (s.arm - 1) % len(s.z), s.eta * s.loss / s.p)),
    "arm a plays no part: another arm moves": lambda s: normal(
        less(s.z, 0, s.eta * s.loss / np.exp(s.z[0]))
    ),
    "all arms move, each by eta loss over its own p: only the one that was played does":
        lambda s: normal(s.z - s.eta * s.loss / np.exp(s.z)),
    "no entry has changed: the one of the arm that was played falls by eta loss / p_a, before "
    "normalising":
        lambda s: s.z,
    "the result is not normalised: exp of the entries must sum to 1": moved,
    "only the entry of the arm that was played is normalised: divide all p by their sum": only_own,
    "this is p: return its logarithm": lambda s: np.exp(normal(moved(s))),
    "this is p, not yet divided by the sum: return the logarithm, normalised": powers,
    "this is p, divided by its sum: return the logarithm": lambda s: powers(s) / powers(s).sum(),
    "only the arm's own entry came back: return all k":
        lambda s: np.asarray(normal(moved(s))[s.arm]),
    "the entries of z are divided by their sum: subtract the log of the sum of their exp":
        lambda s: moved(s) / moved(s).sum(),
    "the sum of exp is subtracted: subtract its logarithm":
        lambda s: moved(s) - np.exp(moved(s)).sum(),
    "the log of the sum of exp is added: subtract it":
        lambda s: moved(s) + np.log(np.exp(moved(s)).sum()),
    "the largest entry is subtracted: subtract the log of the sum of exp":
        lambda s: moved(s) - moved(s).max(),
    "the largest entry is subtracted only in exp: add it to the log of the sum":
        lambda s: moved(s) - np.log(np.exp(moved(s) - moved(s).max()).sum()),
    "exp of the entries is too large or too small for a float: subtract the largest one before exp":
        lambda s: moved(s) - np.log(np.exp(moved(s)).sum()),
    "a p is too small or too large for a float, and its logarithm infinite: stay with z":
        lambda s: np.log(powers(s) / powers(s).sum()),
}  # fmt: skip


# --- ex06.3 ---------------------------------------------------------------------------------------


class Grid(NamedTuple):
    """The arguments of `best_step`."""

    distances: Array
    c: Array
    G: float
    m: int

    @property
    def least(self) -> float:
        """What the best of all step sizes costs, in the grid or not."""
        return sqrt(self.m) * self.G * sqrt((self.distances**2).mean())

    @property
    def best(self) -> float:
        """The step size that costs that."""
        return sqrt((self.distances**2).mean() / self.m) / self.G


Pair = tuple[float, int]


def by_fractions(s: Grid) -> Pair:
    """The least mean over the tasks, without rounding, and the first position that has it."""
    squares = [Fraction(d) ** 2 for d in s.distances.tolist()]
    means = []
    for c in map(Fraction, s.c.tolist()):
        each = [square / (2 * c) + c * s.m * Fraction(s.G) ** 2 / 2 for square in squares]
        means.append(sum(each) / len(each))
    j = means.index(min(means))
    return float(means[j]), j


def table(s: Grid, to: float = 0.5, over: float = 0.5) -> Array:
    """(tau, k), the bound for each task and step size, with its two constants."""
    return to * s.distances[:, None] ** 2 / s.c + over * s.c * s.m * s.G**2


def first(means: Array) -> Pair:
    return float(means.min()), int(means.argmin())


def with_table(rule: Callable[[Grid], Array]) -> Callable[[Grid], Pair]:
    return lambda s: first(rule(s).mean(0))


def with_means(rule: Callable[[Array], Array]) -> Callable[[Grid], Value]:
    """Take the (tau, k) bounds, in place of their mean over the tasks."""
    return lambda s: first(rule(table(s)))


def at(rule: Callable[[Grid, Array], int]) -> Callable[[Grid], Pair]:
    """With the position that a rule has, and its own bound."""

    def wrong(s: Grid) -> Pair:
        means = table(s).mean(0)
        j = rule(s, means)
        return float(means[j]), int(j)

    return wrong


def with_j(rule: Callable[[Grid, int], Part]) -> Callable[[Grid], Value]:
    """The right bound, and something in place of the position."""

    def wrong(s: Grid) -> Value:
        bound, j = first(table(s).mean(0))
        return bound, rule(s, j)

    return wrong


def with_bound(rule: Callable[[Grid, Array], Part]) -> Callable[[Grid], Value]:
    """The right position, and something in place of the bound."""

    def wrong(s: Grid) -> Value:
        means = table(s).mean(0)
        return rule(s, means), int(means.argmin())

    return wrong


def own_steps(s: Grid, task: int) -> Value:
    """Each task with its own step size; and the position for one task."""
    return float(table(s).min(1).mean()), int(table(s)[task].argmin())


def often(s: Grid) -> int:
    return int(np.bincount(table(s).argmin(1)).argmax())


BEST: Mistakes = {
    "the mean of the distances is squared: take the mean of their squares":
        lambda s: first(s.distances.mean() ** 2 / (2 * s.c) + s.c * s.m * s.G**2 / 2),
    "the distances are not squared":
        lambda s: first((s.distances[:, None] / (2 * s.c) + s.c * s.m * s.G**2 / 2).mean(0)),
    "the squares of the distances are added up: take their mean":
        lambda s: first((s.distances**2).sum() / (2 * s.c) + s.c * s.m * s.G**2 / 2),
    "this is the sum over the tasks: take the mean": with_means(lambda t: t.sum(0)),
    "this is the least over the tasks: take their mean": with_means(lambda t: t.min(0)),
    "the second term is c m G^2, as in the paper: c m G^2 / 2 is asked for":
        with_table(lambda s: table(s, over=1)),
    "the first term is not divided by 2": with_table(lambda s: table(s, to=1)),
    "no term is divided by 2": with_table(lambda s: table(s, 1, 1)),
    "the first term is distance^2 / 2 times c: divide by (2 * c)":
        with_table(lambda s: s.distances[:, None] ** 2 / 2 * s.c + s.c * s.m * s.G**2 / 2),
    "m is missing in c m G^2 / 2": with_table(lambda s: table(s, over=0.5 / s.m)),
    "G is not squared: it is c m G^2 / 2": with_table(lambda s: table(s, over=0.5 / s.G)),
    "G is missing in c m G^2 / 2": with_table(lambda s: table(s, over=0.5 / s.G**2)),
    "the second term is missing: add c m G^2 / 2": with_table(lambda s: table(s, over=0)),
    "the first term is missing: add distance^2 / (2 c)": with_table(lambda s: table(s, to=0)),
    "this is the largest of the step sizes' means: take the least":
        at(lambda s, means: means.argmax()),
    "the bound is right, but j is that of the largest mean: it is that of the least":
        with_j(lambda s, j: int(table(s).mean(0).argmax())),
    "j is counted from 1: count from 0": with_j(lambda s, j: j + 1),
    "j is the step size: return its position": with_j(lambda s, j: float(s.c[j])),
    "j is the position among the sorted step sizes: it is that in c":
        with_j(lambda s, j: int((s.c < s.c[j]).sum())),
    "j is the position among the step sizes from the largest on: it is that in c":
        with_j(lambda s, j: int((s.c > s.c[j]).sum())),
    "of equal ones this is the last: return the first":
        at(lambda s, means: len(means) - 1 - means[::-1].argmin()),
    "this is the smallest step size's: take the one with the least mean":
        at(lambda s, means: s.c.argmin()),
    "this is the largest step size's: take the one with the least mean":
        at(lambda s, means: s.c.argmax()),
    "this is the first step size's: take the one with the least mean": at(lambda s, means: 0),
    "this is the last step size's: take the one with the least mean":
        at(lambda s, means: len(s.c) - 1),
    "each task has its own step size here, and j is that of the first: all have the same":
        lambda s: own_steps(s, 0),
    "each task has its own step size here, though j is right: all have the same":
        with_bound(lambda s, means: float(table(s).min(1).mean())),
    "each task has its own step size here, and j is that of most: all have the same":
        lambda s: (float(table(s).min(1).mean()), often(s)),
    "j is the best step size of most tasks: it is that of the least mean":
        at(lambda s, means: often(s)),
    "this position counts through the rows of a table: take the mean over the tasks first":
        lambda s: (float(table(s).min()), int(table(s).argmin())),
    "this is the mean over the step sizes, and the least over the tasks: it is the other way round":
        lambda s: first(table(s).mean(1)),
    "this is the bound for the best of all step sizes: it is that of the grid's c_j":
        with_bound(lambda s, means: s.least),
    "this is the step size nearest to the best of all: take the one with the least mean":
        at(lambda s, means: np.abs(s.c - s.best).argmin()),
    "these are the means of all step sizes: return the least of them":
        with_bound(lambda s, means: means),
    "bound and j are exchanged: return bound, j": lambda s: first(table(s).mean(0))[::-1],
}  # fmt: skip

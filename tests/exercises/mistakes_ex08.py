"""Exercise 8: the arguments of its functions, and what known mistakes make of them."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from support import Array, Mistakes, discounted

Places = list[int]
Value = Array | tuple[Array | Places, Array | Places]


# --- ex08.1 ---------------------------------------------------------------------------------------


class Window(NamedTuple):
    """The arguments of `window_mean`."""

    trace: Array
    gamma: float
    T: int
    born: int


def seen(s: Window) -> list[float]:
    """The losses that count, the newest first."""
    found: list[float] = []
    for age, x in enumerate(reversed(s.trace.tolist())):
        if age < s.T and len(s.trace) - age > s.born and not math.isnan(x):
            found.append(x)
    return found


def by_rounds(s: Window) -> float:
    """Round by round, from the oldest: earlier ones count gamma times as much."""
    return discounted(seen(s)[::-1], s.gamma) if seen(s) else math.nan


def by_weights(
    s: Window, x: list[float], weight: Callable[[int], float], most: float | None = None
) -> float:
    """With other losses, newest first, or other weights, or another divisor."""
    if not x:
        return math.nan
    weights = [weight(age) for age in range(len(x))]
    total = sum(w * one for w, one in zip(weights, x, strict=True))
    return total / (sum(weights) if most is None else most)


def ages(s: Window) -> Callable[[int], float]:
    return lambda age: s.gamma**age


def newest_first(s: Window, T: int | None = None, born: int | None = None) -> list[float]:
    return seen(s._replace(T=s.T if T is None else T, born=s.born if born is None else born))


def by_place(s: Window) -> float:
    """With ages that count the rounds without a loss."""
    last = s.trace[max(s.born, len(s.trace) - s.T) :][::-1].tolist()
    pairs = [(s.gamma**age, x) for age, x in enumerate(last) if not math.isnan(x)]
    return sum(w * x for w, x in pairs) / sum(w for w, _ in pairs) if pairs else math.nan


def nan_as(s: Window, value: float) -> float:
    return by_rounds(s._replace(trace=np.where(np.isnan(s.trace), value, s.trace)))


def last_known(s: Window) -> float:
    """T rounds with a loss, however far back."""
    known = s.trace[s.born :]
    known = known[~np.isnan(known)]
    return by_rounds(Window(known, s.gamma, s.T, 0)) if len(known) else math.nan


WINDOW: Mistakes = {
    "the oldest round has weight 1: give it to the newest":
        lambda s: by_weights(s, seen(s)[::-1], ages(s)),
    "this is the weighted sum: divide it by the sum of the weights":
        lambda s: by_weights(s, seen(s), ages(s), 1.0),
    "the weighted sum is divided by the number of rounds: divide it by the sum of the weights":
        lambda s: by_weights(s, seen(s), ages(s), len(seen(s))),
    "the weighted sum is divided by T: divide it by the sum of the weights":
        lambda s: by_weights(s, seen(s), ages(s), s.T),
    "this is the plain mean: earlier rounds count less":
        lambda s: by_weights(s, seen(s), lambda _: 1),
    "this is the last round's loss: the earlier ones count, too":
        lambda s: by_weights(s, seen(s)[:1], ages(s)),
    "the whole trace is averaged: only the last T rounds since the member was born":
        lambda s: by_rounds(s._replace(T=len(s.trace), born=0)),
    "all rounds since the member was born are averaged: only the last T of them":
        lambda s: by_rounds(s._replace(T=len(s.trace))),
    "rounds before the member was born are in the mean: they are those of another model":
        lambda s: by_rounds(s._replace(born=0)),
    "the first T rounds are averaged: take the last ones":
        lambda s: by_rounds(s._replace(trace=s.trace[: s.born + s.T])),
    "the window has T + 1 rounds": lambda s: by_rounds(s._replace(T=s.T + 1)),
    "the window has T - 1 rounds": lambda s: by_rounds(s._replace(T=s.T - 1)),
    "round `born` is left out: it is the first one with this member's model":
        lambda s: by_rounds(s._replace(born=s.born + 1)),
    "round born - 1 is in the mean: it is that of another model":
        lambda s: by_rounds(s._replace(born=max(0, s.born - 1))),
    "rounds with NaN take up a weight: leave them out, then number the others": by_place,
    "NaN counts as 0: leave it out": lambda s: nan_as(s, 0.0),
    "NaN counts as inf: it says that nobody could judge, so leave the round out":
        lambda s: nan_as(s, math.inf),
    "NaN makes all NaN: leave these rounds out":
        lambda s: math.nan if np.isnan(s.trace[max(s.born, len(s.trace) - s.T) :]).any()
        else by_rounds(s),
    "the window goes further back where rounds are NaN: it has the last T rounds, NaN among them":
        last_known,
    "inf is left out: a member that has diverged scores inf":
        lambda s: by_rounds(s._replace(trace=np.where(np.isinf(s.trace), math.nan, s.trace))),
    "where no round is left it is NaN, not 0": lambda s: by_rounds(s) if seen(s) else 0.0,
    "where no round is left it is NaN, not inf": lambda s: by_rounds(s) if seen(s) else math.inf,
}  # fmt: skip


# --- ex08.2 ---------------------------------------------------------------------------------------


class Move(NamedTuple):
    """The arguments of `evo_annealed`."""

    h: Array
    a: float
    b: float
    eps: float
    p_re: float
    r: int
    R: int
    coin: Array
    fresh: Array
    u: Array

    @property
    def length(self) -> float:
        return self.b - self.a

    @property
    def factor(self) -> float:
        """Half a cosine, by another formula."""
        return math.cos(math.pi * self.r / (2 * self.R)) ** 2

    @property
    def share(self) -> float:
        return self.eps * self.factor

    @property
    def chance(self) -> float:
        return self.p_re * self.factor

    @property
    def reach(self) -> float:
        return self.length * self.share

    def clip(self, x: Array) -> Array:
        return np.clip(x, self.a, self.b)

    def near(self, u: Array) -> Array:
        """A move by u, clipped."""
        return self.clip(self.h + (2 * u - 1) * self.reach)


def by_numbers(s: Move) -> Array:
    """The next values, one number after the other."""
    new = []
    for k in range(len(s.h)):
        if s.coin[k] < s.chance:
            new.append((1 - s.fresh[k]) * s.a + s.fresh[k] * s.b)
            continue
        low, high = s.h[k] - s.share * (s.b - s.a), s.h[k] + s.share * (s.b - s.a)
        new.append(sorted([s.a, low + s.u[k] * (high - low), s.b])[1])
    return np.array(new, dtype=np.float64)


def composed(
    s: Move, moved: Array | None = None, drawn: Array | None = None, chosen: Array | None = None
) -> Array:
    """With another move, another fresh draw, or another choice between the two."""
    moved = s.near(s.u) if moved is None else moved
    drawn = s.a + s.length * s.fresh if drawn is None else drawn
    return np.where(s.coin < s.chance if chosen is None else chosen, drawn, moved)


def in_window(s: Move) -> Array:
    low, high = s.clip(s.h - s.reach), s.clip(s.h + s.reach)
    return low + (high - low) * s.u


def reflected(s: Move) -> Array:
    x = s.h + (2 * s.u - 1) * s.reach
    return s.clip(np.where(x < s.a, 2 * s.a - x, np.where(x > s.b, 2 * s.b - x, x)))


def refactored(
    factor: Callable[[Move], float], eps_too: bool = True, p_re_too: bool = True
) -> Callable[[Move], Array]:
    """With another annealing of both or of one."""

    def rule(s: Move) -> Array:
        moved = np.clip(
            s.h + (2 * s.u - 1) * s.length * (s.eps * factor(s) if eps_too else s.share), s.a, s.b
        )
        return composed(s, moved, chosen=s.coin < (s.p_re * factor(s) if p_re_too else s.chance))

    return rule


CONTINUOUS: Mistakes = {
    "what has moved is not clipped: clip h + (2 u - 1) (b - a) eps to [a, b], and not h before it":
        lambda s: composed(s, s.h + (2 * s.u - 1) * s.reach),
    "eps is taken as a distance: it is a share of b - a":
        lambda s: composed(s, s.clip(s.h + (2 * s.u - 1) * s.share)),
    "values move up only: u is from 0 to 1, and 2 u - 1 from -1 to 1":
        lambda s: composed(s, s.clip(s.h + s.u * s.reach)),
    "values move half as far as they may: u - 1/2 is from -1/2 to 1/2, and 2 u - 1 from -1 to 1":
        lambda s: composed(s, s.clip(s.h + (s.u - 0.5) * s.reach)),
    "the move has the wrong sign: it is up where u is above 1/2":
        lambda s: composed(s, s.near(1 - s.u)),
    "the move is a share of h: it is one of b - a":
        lambda s: composed(s, s.clip(s.h + (2 * s.u - 1) * s.h * s.share)),
    "the interval around h is clipped before u is placed in it: move h, then clip":
        lambda s: composed(s, in_window(s)),
    "what is outside [a, b] is reflected at the end: it becomes the end itself":
        lambda s: composed(s, reflected(s)),
    "fresh draws and moves are exchanged: a value is drawn afresh where coin < p_re":
        lambda s: composed(s, chosen=s.coin >= s.chance),
    "fresh draws and moves are exchanged: a value is drawn afresh where coin < p_re, and not above":
        lambda s: composed(s, chosen=s.coin > s.chance),
    "coin = p_re counts as a fresh draw: a value is drawn afresh where coin < p_re":
        lambda s: composed(s, chosen=s.coin <= s.chance),
    "nothing is drawn afresh": lambda s: composed(s, chosen=s.coin < 0),
    "one coin is taken for all: member k has coin[k]":
        lambda s: composed(s, chosen=s.coin[0] < s.chance),
    "a fresh draw stays near h: it is from the whole interval, a + (b - a) fresh":
        lambda s: composed(s, drawn=s.near(s.fresh)),
    "a fresh draw is from [0, 1): it is from the whole interval, a + (b - a) fresh":
        lambda s: composed(s, drawn=s.fresh),
    "the length of the interval is b - a: a fresh draw is a + (b - a) fresh":
        lambda s: composed(s, drawn=s.a + s.b * s.fresh),
    "a is forgotten in the fresh draw: it is a + (b - a) fresh":
        lambda s: composed(s, drawn=s.length * s.fresh),
    "the fresh draw is taken from u: it is a + (b - a) fresh":
        lambda s: composed(s, drawn=s.a + s.length * s.u),
    "a fresh draw moves, too: it is a + (b - a) fresh":
        lambda s: s._replace(h=composed(s, s.h)).near(s.u),
    "the length of the interval is b - a: a fresh draw is a + (b - a) fresh, and not b fresh":
        lambda s: composed(s, drawn=s.b * s.fresh),
    "nothing is annealed here: eps and p_re are multiplied by the factor of round r":
        refactored(lambda s: 1.0),
    "eps is not annealed: it is multiplied by the same factor as p_re":
        refactored(lambda s: 1.0, p_re_too=False),
    "p_re is not annealed: it is multiplied by the same factor as eps":
        refactored(lambda s: 1.0, eps_too=False),
    "the factor falls along a line: it is half a cosine, slow at both ends":
        refactored(lambda s: 1 - s.r / s.R),
    "the factor is 2 in round 0: halve 1 + cos": refactored(lambda s: 2 * s.factor),
    "the factor rises from 0 to 1: it is (1 + cos)/2, not (1 - cos)/2":
        refactored(lambda s: 1 - s.factor),
    "the factor is cos itself, which falls below 0: add 1, and halve":
        refactored(lambda s: math.cos(math.pi * s.r / s.R)),
    "this is a quarter of a cosine, which is steep at its end: in round R the angle is pi":
        refactored(lambda s: math.cos(math.pi * s.r / (2 * s.R))),
    "pi is missing in the cosine: in round R its angle is pi":
        refactored(lambda s: (1 + math.cos(s.r / s.R)) / 2),
    "the factor is squared: eps and p_re are multiplied by it once":
        refactored(lambda s: s.factor**2),
    "this is the change: add h": lambda s: composed(s, s.near(s.u) - s.h),
}  # fmt: skip


# --- ex08.3 ---------------------------------------------------------------------------------------


def known(scores: Array) -> list[float]:
    """NaN as inf."""
    return [math.inf if math.isnan(x) else x for x in scores.tolist()]


def count(K: int, rho: float) -> int:
    """The least n with n rho >= K, and no more than half of them."""
    return next(n for n in range(K + 1) if n * rho >= K or 2 * (n + 1) > K)


def by_counting(scores: Array, rho: float) -> tuple[Places, Places]:
    """The rank of a member is the number of those before it."""
    pairs = [(x, k) for k, x in enumerate(known(scores))]
    ranking = {sum(other < one for other in pairs): one[1] for one in pairs}
    K, n = len(pairs), count(len(pairs), rho)
    return [ranking[r] for r in range(n)], [ranking[r] for r in range(K - n, K)]


def ordered(keys: Sequence[float]) -> Places:
    """Places by rising keys, of equal keys the lower place first."""
    return [int(k) for k in np.argsort(np.array(keys), kind="stable")]


def ends(order: Places, n: int) -> tuple[Places, Places]:
    return order[:n], order[len(order) - n :]


def by_key(key: Callable[[float], float]) -> Callable[[Array, float], Value]:
    """With the ranking by this key of the scores, NaN among them."""
    return lambda scores, rho: ends(
        ordered([key(x) for x in scores.tolist()]), count(len(scores), rho)
    )


def by_number(rule: Callable[[int, float], float]) -> Callable[[Array, float], Value]:
    """With another n."""
    return lambda scores, rho: ends(ordered(known(scores)), int(rule(len(scores), rho)))


def changed(rule: Callable[[Places, Places], Value]) -> Callable[[Array, float], Value]:
    """What becomes of the right sets."""
    return lambda scores, rho: rule(*by_counting(scores, rho))


def last_first(scores: Array, rho: float) -> Value:
    """Put the higher place first among equal scores."""
    keys = known(scores)
    return ends(sorted(range(len(keys)), key=lambda k: (keys[k], -k)), count(len(keys), rho))


def turned(scores: Array, rho: float) -> Value:
    """The bottom by falling scores, of equal ones the lower place first, turned around."""
    n = count(len(scores), rho)
    return ordered(known(scores))[:n], ordered([-x for x in known(scores)])[:n][::-1]


def by_quantiles(scores: Array, rho: float, ranked: bool) -> Value:
    """The sets of the paper."""
    low, high = np.quantile(scores, 1 / rho), np.quantile(scores, (rho - 1) / rho)
    order = ordered(known(scores)) if ranked else list(range(len(scores)))
    return [k for k in order if scores[k] <= low], [k for k in order if scores[k] >= high]


def ceiling(K: int, rho: float) -> int:
    return math.ceil(K / rho)


QUANTILES = "these are the sets by quantiles, as in the paper, in which equal scores go together: "
QUANTILES += "take n members by rank"

TOP: Mistakes = {
    "places are asked for, not scores":
        lambda scores, rho: tuple([scores[k] for k in part] for part in by_counting(scores, rho)),
    "higher scores count as better here: they are losses": by_key(lambda x: -x),
    "higher scores count as better here, and NaN as the highest: they are losses":
        by_key(lambda x: -math.inf if math.isnan(x) else -x),
    "NaN counts as the best score: it counts as inf":
        by_key(lambda x: -math.inf if math.isnan(x) else x),
    "NaN counts as 0: it counts as inf": by_key(lambda x: 0.0 if math.isnan(x) else x),
    "NaN counts as worse than inf here: it counts as inf, and of equal scores the lower place is "
    "first":
        by_key(lambda x: x),
    "the scores are sorted as they are, and comparisons with NaN are always False: replace it by "
    "inf first":
        lambda scores, rho: ends(
            sorted(range(len(scores)), key=lambda k: scores[k]), count(len(scores), rho)
        ),
    "K / rho is rounded down: round it up": by_number(lambda K, rho: min(int(K / rho), K // 2)),
    "K / rho is rounded to the nearest whole number: round it up":
        by_number(lambda K, rho: min(round(K / rho), K // 2)),
    "some are in both sets: n is no more than K / 2, rounded down": by_number(ceiling),
    "K / 2 is rounded up, so that one may be in both sets: round it down":
        by_number(lambda K, rho: min(ceiling(K, rho), -(-K // 2))),
    "one in K / rho is taken here: n is K / rho itself, rounded up":
        by_number(lambda K, rho: min(math.ceil(rho), K // 2)),
    "with n = 0 the slice [-n:] is everything: take [K - n:]":
        lambda scores, rho: (
            by_counting(scores, rho)[0], ordered(known(scores))[-count(len(scores), rho) :]
        ),
    "n is at least 1 here: with K = 1 nobody is in the top or the bottom":
        by_number(lambda K, rho: max(1, min(ceiling(K, rho), K // 2))),
    QUANTILES: lambda scores, rho: by_quantiles(scores, rho, False),
    QUANTILES + ", in their order": lambda scores, rho: by_quantiles(scores, rho, True),
    "the bottom begins one place too late: it is the last n of the ranking":
        changed(lambda top, bottom: (top, bottom[1:])),
    "the bottom has one member too many: it is the last n of the ranking":
        lambda scores, rho: (
            by_counting(scores, rho)[0], ordered(known(scores))[-count(len(scores), rho) - 1 :]
        ),
    "the very last one is missing in the bottom: it is the last n of the ranking":
        lambda scores, rho: (
            by_counting(scores, rho)[0], ordered(known(scores))[-count(len(scores), rho) - 1 : -1]
        ),
    "the bottom is the whole rest here: it is the last n of the ranking":
        lambda scores, rho: (
            by_counting(scores, rho)[0], ordered(known(scores))[count(len(scores), rho) :]
        ),
    "of equal scores the higher place is first here: the lower one is": last_first,
    "in the bottom, of equal scores the higher place is first: the lower one is": turned,
    "bottom begins with the worst: it is in the order of the ranking, the worst last":
        changed(lambda top, bottom: (top, bottom[::-1])),
    "the places are in rising order: they are in the order of the ranking":
        changed(lambda top, bottom: (sorted(top), sorted(bottom))),
    "top and bottom are exchanged: return top, bottom": changed(lambda top, bottom: (bottom, top)),
    "places are from 0, and these are from 1":
        changed(lambda top, bottom: ([k + 1 for k in top], [k + 1 for k in bottom])),
}  # fmt: skip


# --- ex08.4 ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Evolve:
    """A function of a member's hyperparameters and of the place of the one that gets them."""

    factor: float
    step: float

    def __call__(self, x: Array, b: int) -> Array:
        return self.factor * np.asarray(x) + self.step * b

    def __str__(self) -> str:
        return f"(x, b) -> {self.factor:g} x + {self.step:g} b"


class Population(NamedTuple):
    """The arguments of `exploit`."""

    hp: Array
    weights: Array
    top: Places
    bottom: Places
    u: Array
    evolve: Evolve


def parent(s: Population, b: int) -> int:
    return s.top[int(s.u[b] * len(s.top))]


def by_members(s: Population) -> Value:
    """Member by member."""
    hp, weights = [], []
    for k in range(len(s.hp)):
        replaced = len(s.top) > 0 and k in s.bottom
        source = parent(s, k) if replaced else k
        hp.append(s.evolve(s.hp[source], k) if replaced else s.hp[k])
        weights.append(s.weights[source])
    return np.array(hp), np.array(weights)


def turn(
    s: Population,
    choose: Callable[[Population, int], int] = parent,
    child: Callable[[Population, int, int], Array] = lambda s, p, b: s.evolve(s.hp[p], b),
    model: Callable[[Population, int, int], Array] = lambda s, p, b: s.weights[p],
) -> tuple[Array, Array]:
    """With another choice of whom to copy, or another copy."""
    hp, weights = s.hp.copy(), s.weights.copy()
    for b in s.bottom if s.top else []:
        p = choose(s, b)
        hp[b], weights[b] = child(s, p, b), model(s, p, b)
    return hp, weights


def one_by_one(s: Population, order: Places, hp_too: bool, weights_too: bool) -> Value:
    """In this order, with copies of what has become of a member by then."""
    hp, weights = s.hp.copy(), s.weights.copy()
    for b in order if s.top else []:
        p = parent(s, b)
        hp[b] = s.evolve((hp if hp_too else s.hp)[p], b)
        weights[b] = (weights if weights_too else s.weights)[p]
    return hp, weights


def evolved_too(s: Population, who: Places) -> Value:
    """These evolve as well, each by itself."""
    hp, weights = turn(s)
    for k in who:
        hp[k] = s.evolve(s.hp[k], k)
    return hp, weights


def without(places: Places, others: Places) -> Places:
    return [k for k in places if k not in others]


READ_OLD = ": read the old hp and weights, and write into copies made before"

NEW_POPULATION: Mistakes = {
    "of a member that is itself replaced, hp and weights are copied as they are afterwards"
    + READ_OLD:
        lambda s: one_by_one(s, s.bottom, True, True),
    "of a member that is itself replaced, hp and weights are copied as they are afterwards, by "
    "rising places" + READ_OLD:
        lambda s: one_by_one(s, sorted(s.bottom), True, True),
    "of a member that is itself replaced, the weights are copied as they are afterwards" + READ_OLD:
        lambda s: one_by_one(s, s.bottom, False, True),
    "of a member that is itself replaced, hp is copied as it is afterwards" + READ_OLD:
        lambda s: one_by_one(s, s.bottom, True, False),
}  # fmt: skip

EXPLOIT: Mistakes = {
    **NEW_POPULATION,
    "the weights are not copied: a member that is replaced gets those of the one that it copies":
        lambda s: turn(s, model=lambda s, p, b: s.weights[b]),
    "the hyperparameters are not copied: a member that is replaced gets those of the one that it "
    "copies, evolved":
        lambda s: turn(s, child=lambda s, p, b: s.hp[b]),
    "the hyperparameters are copied as they are: evolve them":
        lambda s: turn(s, child=lambda s, p, b: s.hp[p]),
    "a member evolves from its own hyperparameters: evolve those of the one that it copies":
        lambda s: turn(s, child=lambda s, p, b: s.evolve(s.hp[b], b)),
    "evolve gets the place of the one that is copied: its b is the place of the one that is "
    "replaced":
        lambda s: turn(s, child=lambda s, p, b: s.evolve(s.hp[p], p)),
    "the weights are evolved: they are copied as they are":
        lambda s: turn(s, model=lambda s, p, b: s.evolve(s.weights[p], b)),
    "all members evolve: only those of the bottom do":
        lambda s: evolved_too(s, without(list(range(len(s.hp))), s.bottom)),
    "the top evolves, too: only the bottom does":
        lambda s: evolved_too(s, without(s.top, s.bottom)),
    "all copy the first of the top, the best: member b copies top[int(u[b] * len(top))]":
        lambda s: turn(s, lambda s, b: s.top[0]),
    "all copy the same member: member b has its own draw, u[b]":
        lambda s: turn(s, lambda s, b: parent(s, 0)),
    "the draws are taken one after the other: member b has the draw u[b], wherever it is in bottom":
        lambda s: turn(s, lambda s, b: parent(s, s.bottom.index(b))),
    "the draws are taken one after the other, by rising places: member b has the draw u[b]":
        lambda s: turn(s, lambda s, b: parent(s, sorted(s.bottom).index(b))),
    "u[b] is multiplied by len(top) - 1: the last of the top is then never copied":
        lambda s: turn(s, lambda s, b: s.top[int(s.u[b] * (len(s.top) - 1))]),
    "u[b] len(top) is rounded to the nearest place: int rounds it down":
        lambda s: turn(
            s, lambda s, b: s.top[min(round(s.u[b] * len(s.top)), len(s.top) - 1)]
        ),
    "members of the whole population are copied: only those of the top are":
        lambda s: turn(s, lambda s, b: int(s.u[b] * len(s.hp))),
    "int(u[b] * len(top)) is taken for the member itself: it is the place in top of the member":
        lambda s: turn(s, lambda s, b: int(s.u[b] * len(s.top))),
    "the top is put in rising order: take it as it is":
        lambda s: turn(s._replace(top=sorted(s.top))),
    "members of both sets stay as they are: all of the bottom are replaced":
        lambda s: turn(s._replace(bottom=without(s.bottom, s.top))),
    "members of both sets are never copied: all of the top may be":
        lambda s: turn(s._replace(top=without(s.top, s.bottom))),
    "top and bottom are exchanged: the bottom copies the top":
        lambda s: turn(s._replace(top=s.bottom, bottom=s.top)),
    "hp and weights are exchanged: return hp, weights": lambda s: turn(s)[::-1],
}  # fmt: skip


# --- ex08.5 ---------------------------------------------------------------------------------------


class Told(NamedTuple):
    """The arguments of `vector_scores`."""

    before: Array
    after: Array
    diverged: Array
    gamma: float
    difference: bool


def by_vectors(s: Told) -> Array:
    """Vector by vector, round by round, from the newest."""
    T, K = s.after.shape
    scores = []
    for k in range(K):
        total = weight = 0.0
        for age in range(T):
            t = T - 1 - age
            x = s.after[t, k] - (s.before[t, k] if s.difference else 0.0)
            if not math.isnan(s.after[t, k]) and not s.diverged[t, k]:
                total, weight = total + s.gamma**age * x, weight + s.gamma**age
        lost = bool(s.diverged[:, k].any())
        scores.append(math.inf if lost else total / weight if weight else math.nan)
    return np.array(scores)


def judged(
    s: Told,
    scores: Array | None = None,
    weights: Array | None = None,
    divisor: Array | None = None,
    lost: Array | None = None,
) -> Array:
    """With other scores (T, K), weights (T, K), divisors (K,), or others that have diverged."""
    T = len(s.after)
    if scores is None:
        scores = s.after - s.before if s.difference else s.after
    known = ~np.isnan(scores) & ~s.diverged
    if weights is None:
        weights = s.gamma ** np.arange(T)[::-1, None] * np.ones_like(s.after)
    weights = weights * known
    with np.errstate(all="ignore"):
        total = np.where(known, weights * scores, 0).sum(0)
        means = total / (weights.sum(0) if divisor is None else divisor)
    return np.where(s.diverged.any(0) if lost is None else lost, np.inf, means)


def renumbered(s: Told) -> Array:
    """With weights that number the known rounds of a vector."""
    known = ~np.isnan(s.after) & ~s.diverged
    newer = known[::-1].cumsum(0)[::-1] - 1
    return judged(s, weights=s.gamma ** np.maximum(newer, 0.0))


def filled(s: Told, value: float) -> Array:
    scores = s.after - s.before if s.difference else s.after
    return judged(s, scores=np.where(np.isnan(scores), value, scores))


def all_of(s: Told) -> Array:
    """The weights of all rounds, NaN or not."""
    return np.full(s.after.shape[1], sum(s.gamma**age for age in range(len(s.after))))


VECTORS: Mistakes = {
    "the sign is wrong: the difference is after - before, negative where training has helped":
        lambda s: judged(s, s.before - s.after if s.difference else s.after),
    "the losses before are judged: they do not depend on the vector":
        lambda s: judged(s, s.before + 0 * s.after),
    "this is always the loss after: with difference=True subtract the loss before":
        lambda s: judged(s, s.after),
    "this is always the difference: without it the loss after is judged":
        lambda s: judged(s, s.after - s.before),
    "loss and difference are exchanged: with difference=True subtract the loss before":
        lambda s: judged(s, s.after if s.difference else s.after - s.before),
    "the difference is taken relative to the loss before: subtract it only":
        lambda s: judged(s, s.after / s.before - 1 if s.difference else s.after),
    "the oldest round counts most: the newest is the last row":
        lambda s: judged(s, weights=s.gamma ** np.arange(len(s.after))[:, None] + 0 * s.gamma),
    "this is the plain mean: earlier rounds count less":
        lambda s: judged(s, weights=np.ones(s.after.shape)),
    "this is the last round alone: the earlier ones count, too":
        lambda s: judged(s, weights=(np.arange(len(s.after)) == len(s.after) - 1)[:, None] * 1.0),
    "this is the weighted sum: divide it by the sum of the weights":
        lambda s: judged(s, divisor=np.ones(s.after.shape[1])),
    "the sum is divided by the weights of all rounds: those without data do not count":
        lambda s: judged(s, divisor=all_of(s)),
    "the rounds with data are numbered anew: round t counts gamma^(T - 1 - t), whatever else is "
    "left out":
        renumbered,
    "rounds without data count as 0: leave them out": lambda s: filled(s, 0.0),
    "rounds without data count as inf: leave them out": lambda s: filled(s, math.inf),
    "a round without data makes the whole score NaN: leave it out":
        lambda s: np.where(
            np.isnan(s.after).any(0) & ~s.diverged.any(0), np.nan, by_vectors(s)
        ),
    "a vector that has diverged once gets inf, whatever its other rounds say":
        lambda s: judged(s, lost=s.diverged.all(0)),
    "a vector that has diverged only in an earlier round gets inf, too":
        lambda s: judged(s, lost=s.diverged[-1]),
    "a vector with no round left gets NaN, not inf":
        lambda s: np.where(np.isnan(by_vectors(s)), np.inf, by_vectors(s)),
    "a vector with no round left gets NaN, not 0":
        lambda s: np.nan_to_num(by_vectors(s), posinf=np.inf),
    "all vectors are averaged into one number: each has its own":
        lambda s: np.full(s.after.shape[1], np.nanmean(by_vectors(s))),
}  # fmt: skip

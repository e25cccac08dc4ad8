"""Exercise 8: the arguments of its functions, and what known mistakes make of them."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from support import Array, Mistakes

Places = list[int]
Value = Array | tuple[Array | Places, Array | Places]


# --- ex08.1 ---------------------------------------------------------------------------------------


class Move(NamedTuple):
    """The arguments of `evo_continuous`."""

    h: Array
    a: float
    b: float
    eps: float
    p_re: float
    coin: Array
    fresh: Array
    u: Array

    @property
    def length(self) -> float:
        return self.b - self.a

    @property
    def reach(self) -> float:
        return self.length * self.eps

    def clip(self, x: Array) -> Array:
        return np.clip(x, self.a, self.b)

    def near(self, u: Array) -> Array:
        """A move by u, clipped."""
        return self.clip(self.h + (2 * u - 1) * self.reach)


def by_numbers(s: Move) -> Array:
    """The next values, one number after the other."""
    new = []
    for k in range(len(s.h)):
        if s.coin[k] < s.p_re:
            new.append((1 - s.fresh[k]) * s.a + s.fresh[k] * s.b)
            continue
        low, high = s.h[k] - s.eps * (s.b - s.a), s.h[k] + s.eps * (s.b - s.a)
        new.append(sorted([s.a, low + s.u[k] * (high - low), s.b])[1])
    return np.array(new, dtype=np.float64)


def composed(
    s: Move, moved: Array | None = None, drawn: Array | None = None, chosen: Array | None = None
) -> Array:
    """With another move, another fresh draw, or another choice between the two."""
    moved = s.near(s.u) if moved is None else moved
    drawn = s.a + s.length * s.fresh if drawn is None else drawn
    return np.where(s.coin < s.p_re if chosen is None else chosen, drawn, moved)


def in_window(s: Move) -> Array:
    low, high = s.clip(s.h - s.reach), s.clip(s.h + s.reach)
    return low + (high - low) * s.u


def reflected(s: Move) -> Array:
    x = s.h + (2 * s.u - 1) * s.reach
    return s.clip(np.where(x < s.a, 2 * s.a - x, np.where(x > s.b, 2 * s.b - x, x)))


CONTINUOUS: Mistakes = {
    "what has moved is not clipped: clip h + (2 u - 1) (b - a) eps to [a, b], and not h before it":
        lambda s: composed(s, s.h + (2 * s.u - 1) * s.reach),
    "eps is taken as a distance: it is a share of b - a":
        lambda s: composed(s, s.clip(s.h + (2 * s.u - 1) * s.eps)),
    "values move up only: u is from 0 to 1, and 2 u - 1 from -1 to 1":
        lambda s: composed(s, s.clip(s.h + s.u * s.reach)),
    "values move half as far as they may: u - 1/2 is from -1/2 to 1/2, and 2 u - 1 from -1 to 1":
        lambda s: composed(s, s.clip(s.h + (s.u - 0.5) * s.reach)),
    "the move has the wrong sign: it is up where u is above 1/2":
        lambda s: composed(s, s.near(1 - s.u)),
    "the move is a share of h: it is one of b - a":
        lambda s: composed(s, s.clip(s.h + (2 * s.u - 1) * s.h * s.eps)),
    "the interval around h is clipped before u is placed in it: move h, then clip":
        lambda s: composed(s, in_window(s)),
    "what is outside [a, b] is reflected at the end: it becomes the end itself":
        lambda s: composed(s, reflected(s)),
    "fresh draws and moves are exchanged: a value is drawn afresh where coin < p_re":
        lambda s: composed(s, chosen=s.coin >= s.p_re),
    "fresh draws and moves are exchanged: a value is drawn afresh where coin < p_re, and not above":
        lambda s: composed(s, chosen=s.coin > s.p_re),
    "coin = p_re counts as a fresh draw: a value is drawn afresh where coin < p_re":
        lambda s: composed(s, chosen=s.coin <= s.p_re),
    "nothing is drawn afresh": lambda s: composed(s, chosen=s.coin < 0),
    "one coin is taken for all: member k has coin[k]":
        lambda s: composed(s, chosen=s.coin[0] < s.p_re),
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
    "this is the change: add h": lambda s: composed(s, s.near(s.u) - s.h),
}  # fmt: skip


# --- ex08.2 ---------------------------------------------------------------------------------------


class Step(NamedTuple):
    """The arguments of `evo_discrete`."""

    i: Array
    n: int
    eps: float
    p_re: float
    coin: Array
    fresh: Array
    u: Array

    @property
    def s(self) -> int:
        return max(1, math.floor((self.n - 1) * self.eps + 0.5))

    @property
    def third(self) -> Array:
        """-1, 0 or 1."""
        return np.digitize(self.u, [1 / 3, 2 / 3]) - 1

    def clip(self, i: Array) -> Array:
        return np.clip(i, 0, self.n - 1)

    def by(self, s: float) -> Array:
        return self.clip(self.i + int(s) * self.third)


def by_options(s: Step) -> Array:
    """The next places, one after the other, with fractions."""
    exact = (s.n - 1) * Fraction(s.eps)
    size = max(1, min(range(s.n + 1), key=lambda k: abs(k - exact)))
    new = []
    for place, coin, fresh, u in zip(*(x.tolist() for x in (s.i, *s[4:])), strict=True):
        if coin < s.p_re:
            new.append(max(k for k in range(s.n) if k <= fresh * s.n))
        else:
            k = place - size if 3 * u < 1 else place + size if 3 * u >= 2 else place
            new.append(sorted([0, k, s.n - 1])[1])
    return np.array(new, dtype=np.int64)


def made(
    s: Step, moved: Array | None = None, drawn: Array | None = None, chosen: Array | None = None
) -> Array:
    """As `composed`."""
    moved = s.by(s.s) if moved is None else moved
    drawn = np.floor(s.fresh * s.n) if drawn is None else drawn
    return np.where(s.coin < s.p_re if chosen is None else chosen, drawn, moved).astype(np.int64)


DISCRETE: Mistakes = {
    "s may be 0 here, and then nothing moves, as in the paper: it is at least 1":
        lambda s: made(s, s.by(np.rint((s.n - 1) * s.eps))),
    "places beyond the ends come back at the other end: 0 and n - 1 are the ends":
        lambda s: made(s, (s.i + s.s * s.third) % s.n),
    "places beyond the ends are not clipped: from 0 to n - 1":
        lambda s: made(s, s.i + s.s * s.third),
    "n is no place: clip to n - 1": lambda s: made(s, np.clip(s.i + s.s * s.third, 0, s.n)),
    "s is a share of n: it is one of n - 1, the largest distance of two places":
        lambda s: made(s, s.by(max(1, np.rint(s.n * s.eps)))),
    "s is rounded down: to the nearest whole number":
        lambda s: made(s, s.by(max(1, np.floor((s.n - 1) * s.eps)))),
    "s is rounded up: to the nearest whole number":
        lambda s: made(s, s.by(max(1, np.ceil((s.n - 1) * s.eps)))),
    "s is always 1 here: it is (n - 1) eps, rounded, and at least 1": lambda s: made(s, s.by(1)),
    "only -s and +s are there: in the second third of u the place stays":
        lambda s: made(s, s.clip(s.i + s.s * np.where(s.u < 0.5, -1, 1))),
    "all places from i - s to i + s are there: only i - s, i and i + s are":
        lambda s: made(s, s.clip(s.i - s.s + np.floor(s.u * (2 * s.s + 1)))),
    "the thirds are exchanged: the first is i - s, and the last i + s":
        lambda s: made(s, s.clip(s.i - s.s * s.third)),
    "places move up only: in the first third of u it is i - s":
        lambda s: made(s, s.clip(s.i + s.s * (s.third + 1))),
    "fresh draws and moves are exchanged: a place is drawn afresh where coin < p_re":
        lambda s: made(s, chosen=s.coin >= s.p_re),
    "fresh draws and moves are exchanged: a place is drawn afresh where coin < p_re, and not above":
        lambda s: made(s, chosen=s.coin > s.p_re),
    "coin = p_re counts as a fresh draw: a place is drawn afresh where coin < p_re":
        lambda s: made(s, chosen=s.coin <= s.p_re),
    "nothing is drawn afresh": lambda s: made(s, chosen=s.coin < 0),
    "one coin is taken for all: member k has coin[k]": lambda s: made(s, chosen=s.coin[0] < s.p_re),
    "the last option is never drawn afresh: round fresh n down, not fresh (n - 1)":
        lambda s: made(s, drawn=np.floor(s.fresh * (s.n - 1))),
    "the ends are drawn half as often as the other options: round fresh n down":
        lambda s: made(s, drawn=np.rint(s.fresh * (s.n - 1))),
    "fresh n is rounded to the nearest whole number, which may be n: round it down":
        lambda s: made(s, drawn=np.rint(s.fresh * s.n)),
    "fresh draws are from 1 to n: places are from 0":
        lambda s: made(s, drawn=1 + np.floor(s.fresh * s.n)),
    "a fresh draw stays near i: it is fresh n, rounded down":
        lambda s: made(s, drawn=s._replace(u=s.fresh).by(s.s)),
    "the fresh draw is taken from u: it is fresh n, rounded down":
        lambda s: made(s, drawn=np.floor(s.u * s.n)),
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
    """Of equal scores the higher place first."""
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
    "n is at least 1 here: with K = 1 nobody is in the top or the bottom":
        by_number(lambda K, rho: max(1, min(ceiling(K, rho), K // 2))),
    QUANTILES: lambda scores, rho: by_quantiles(scores, rho, False),
    QUANTILES + ", in their order": lambda scores, rho: by_quantiles(scores, rho, True),
    "with n = 0 the slice [-n:] is everything: take [K - n:]":
        lambda scores, rho: (
            by_counting(scores, rho)[0], ordered(known(scores))[-count(len(scores), rho) :]
        ),
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

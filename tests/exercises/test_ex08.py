"""Exercise 8, evolution by hand: 33 points."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from experiment import check_interval, check_prediction, check_sentences, check_table
from mistakes_ex08 import (
    CONTINUOUS,
    EXPLOIT,
    TOP,
    VECTORS,
    WINDOW,
    Evolve,
    Move,
    Population,
    Told,
    Window,
    by_counting,
    by_members,
    by_numbers,
    by_rounds,
    by_vectors,
)
from support import Array, ask, each_part, floats, right

from fedlab_edu.experiments.judging import doublings
from fedlab_grade.checks import Answer, Case, Failure, check, close, form, parts, unchanged
from fedlab_grade.student import Student

window = partial(pytest.mark.q, "ex08.1", function="window_mean", minutes=15)
continuous = partial(pytest.mark.q, "ex08.2", function="evo_annealed", minutes=15)
top = partial(pytest.mark.q, "ex08.3", function="top_and_bottom", minutes=20)
exploit = partial(pytest.mark.q, "ex08.4", function="exploit", minutes=20)
vectors = partial(pytest.mark.q, "ex08.5", function="vector_scores", minutes=20)
judged = partial(pytest.mark.q, "ex08.6", minutes=60)


TIES = "of equal scores the lower place is first: np.argsort needs kind='stable' for it"


# --- ex08.1 ---------------------------------------------------------------------------------------

NAN, INF = math.nan, math.inf
window_right = partial(right, by_rounds)


def ask_window(student: Student, s: Window) -> Answer:
    causes = {
        "ZeroDivisionError": "no round is left here: the answer is NaN",
        "invalid value": "no round is left here: return NaN before you divide",
    }
    return ask(student, causes, "window_mean", *s)


def check_window(student: Student, *cases: Case) -> None:
    long = floats(3, 9, 4, NAN, 8, 2, 7, NAN, 5, 1, 6)
    others = [Case((Window(long, gamma, T, born),)) for gamma, T, born in (
        (0.9, 5, 0), (0.5, 20, 4), (0.7, 4, 9), (0.8, 7, 5),
    )]  # fmt: skip
    check(partial(ask_window, student), WINDOW, cases, others)


@window(points=1, aspect="three cases computed by hand")
def test_window_by_hand(student: Student) -> None:
    check_window(
        student,
        Case((Window(floats(7, 8, 6, 2), 0.5, 3, 0),), 4.0, "The weights are 1/4, 1/2 and 1."),
        Case((Window(floats(9, 40, 16, 4), 0.25, 8, 1),), 8.0, "Three rounds since it was born."),
        Case((Window(floats(8, NAN, 2), 0.5, 3, 0),), 4.0, "The weights of 8 and 2 are 1/2 and 1."),
    )


@window(points=1, aspect="drawn traces, round by round")
def test_window_is_that_of_loops(student: Student) -> None:
    rng = np.random.default_rng(3)
    cases = []
    for n, gamma, T, born in ((5, 0.9, 4, 0), (12, 0.5, 6, 2), (9, 0.8, 20, 5), (7, 0.7, 3, 6)):
        trace = rng.uniform(0, 3, n).round(3)
        cases += [window_right(Window(trace, gamma, T, born))]
        trace = np.where(rng.uniform(size=n) < 0.4, NAN, trace)
        cases += [window_right(Window(trace, gamma, T, born))]
    check_window(student, *cases)


@window(points=1, aspect="NaN, inf, nothing left; the type of the answer, arguments untouched")
def test_window_at_the_edges(student: Student) -> None:
    check_window(
        student,
        window_right(Window(floats(2, 4), 1.0, 2, 0), "With gamma = 1 it is the plain mean."),
        window_right(Window(floats(9, 9, 4), 0.5, 1, 0), "T is 1: it is the last loss."),
        window_right(Window(floats(1, INF, 2), 0.5, 3, 0), "A client has diverged: inf."),
        window_right(Window(floats(1, INF, 2), 0.5, 1, 0), "inf is not in the window."),
        window_right(Window(floats(INF, 3, 2), 0.5, 3, 1), "inf is from before it was born."),
        window_right(Window(floats(5, NAN, NAN), 0.5, 2, 0), "No loss in the window: NaN."),
        window_right(Window(floats(5, 4), 0.5, 2, 2), "No round since it was born: NaN."),
    )
    answer = ask_window(student, Window(floats(1, 2, NAN, 4), 0.5, 3, 0))
    close(answer, by_rounds(Window(floats(1, 2, NAN, 4), 0.5, 3, 0)))
    unchanged(answer)


# --- ex08.2 ---------------------------------------------------------------------------------------


def check_continuous(student: Student, *cases: Case, judge: Callable | None = None) -> None:
    others = [move(21, 9, -4, 0, 0.2, 0.4, 9), move(22, 7, 2, 7, 0.5, 0.6, 23)]
    others = [Case((s._replace(coin=np.sort(s.coin)),)) for s in others]
    check(partial(ask_continuous, student), CONTINUOUS, cases, others, judge)


def ask_continuous(student: Student, s: Move) -> Answer:
    causes = {
        "truth value of an array": "`if coin < p_re` asks for one answer, but each member has a "
        "coin of its own: choose entry by entry, as np.where does",
    }
    return ask(student, causes, "evo_annealed", *s)


def move(
    seed: int, n: int, a: float, b: float, eps: float, p_re: float, r: int = 0, R: int = 40
) -> Move:
    rng = np.random.default_rng(seed)
    drawn = rng.uniform(a, b, n), float(a), float(b), eps, p_re, r, R, *rng.uniform(size=(3, n))
    return Move(*drawn)


continuous_right = partial(right, by_numbers)


@continuous(points=1, aspect="a case computed by hand")
def test_continuous_by_hand(student: Student) -> None:
    s = Move(
        floats(-2, -3.75, -0.25, -1, -2), -4.0, 0.0, 1 / 4, 1 / 2, 10, 20,
        floats(0.5, 0.75, 0.375, 0.125, 0.875), floats(0.5, 0, 0.25, 0.75, 0.5),
        floats(0.75, 0.125, 0.9375, 0.25, 0.5),
    )  # fmt: skip
    rule = (
        "In round 10 of 20 the factor is 1/2, so (b - a) eps is 1/2 and p_re 1/4. 2 u - 1 is "
        "[1/2, -3/4, 7/8, -1/2, 0]. Members 1 and 2 are clipped to the ends, and member 3 is drawn "
        "afresh: -4 + 4 * 3/4."
    )
    check_continuous(student, Case((s,), floats(-1.75, -4, 0, -1, -2), rule))


@continuous(points=1, aspect="drawn members, by plain loops")
def test_continuous_is_that_of_loops(student: Student) -> None:
    ranges = (-4, 0, 0.1, 0), (0, 0.5, 0.3, 7), (2, 7, 0.05, 20), (-3, -1, 0.6, 31)
    cases = [move(k, 8, a, b, eps, 0.6, r) for k, (a, b, eps, r) in enumerate(ranges)]
    check_continuous(student, *map(continuous_right, cases))


@continuous(points=1, aspect="nothing moves, all or none afresh, at the ends, one member")
def test_continuous_at_the_edges(student: Student) -> None:
    s = move(5, 6, -2, 3, 0.3, 0.5)
    zero = s._replace(coin=np.zeros(6), p_re=0.0)
    half = s._replace(coin=floats(0.5, 0.25, 0.5, 0.75, 0.25, 0.5))
    fresh = s.a + 5 * s.fresh
    check_continuous(
        student,
        continuous_right(s),
        Case((s._replace(eps=0.0, p_re=0.0),), s.h, "With eps = 0 and p_re = 0 nothing changes."),
        Case((s._replace(p_re=1.0),), fresh, "With p_re = 1 all values are drawn afresh."),
        continuous_right(zero, "With p_re = 0 nothing is drawn afresh, not even where coin is 0."),
        continuous_right(half, "Some entries of coin are equal to p_re, and not below it."),
        continuous_right(s._replace(h=floats(-2, 3, -2, 3, -2, 3)), "All h are at the ends."),
        continuous_right(s._replace(eps=1.0), "eps is 1."),
        Case((s._replace(r=40, p_re=1.0),), s.h, "In round R nothing changes."),
        Case((s._replace(r=1, R=1),), s.h, "There is one round, and r = R."),
        continuous_right(move(6, 1, 0, 4, 0.2, 0.0), "There is one member."),
    )


@continuous(points=0.5, aspect="from a to b, and no farther than eps")
def test_continuous_stays_in_the_interval(student: Student) -> None:
    def judge(answer: Answer, case: Case) -> None:
        (s,) = case.arguments
        new = form(answer, s.h)
        for k in range(len(new)):
            told = f"{answer} returned {new[k]:.6g} for member {k}"
            if not s.a - 1e-9 <= new[k] <= s.b + 1e-9:
                raise Failure(f"All values must be from {s.a:g} to {s.b:g}. {told}.")
            if s.coin[k] >= s.chance and not abs(new[k] - s.h[k]) <= s.reach + 1e-9:
                raise Failure(
                    f"What is not drawn afresh must stay within {s.reach:.6g} of h. {told}, whose "
                    f"h is {s.h[k]:.6g}."
                )
            if s.u[k] != 0.5 and s.coin[k] >= s.chance and (new[k] > s.h[k]) != (s.u[k] > 0.5):
                way = "up" if s.u[k] > 0.5 else "down"
                raise Failure(f"With u = {s.u[k]:.6g} it must move {way}. {told}.")

    cases = [move(k, 8, *ends, 0.25, 0.2, 12) for k, ends in ((7, (-4, 0)), (8, (10, 12)))]
    wide = move(9, 8, -1, 1, 0.5, 0.2, 3)._replace(u=floats(*range(8)) / 8 + 1 / 16)
    check_continuous(student, *[Case((s,)) for s in (*cases, wide)], judge=judge)


@continuous(points=0.5, aspect="order, scale, the other end first; form", invariant=True)
def test_continuous_knows_no_order_and_no_scale(student: Student) -> None:
    s, order = move(10, 6, -4, 0, 0.3, 0.4, 14), [3, 0, 5, 1, 4, 2]
    want = by_numbers(s)
    mirrored = s._replace(h=s.a + s.b - s.h, fresh=1 - s.fresh, u=1 - s.u)
    check_continuous(
        student,
        Case((s,), want),
        Case(
            (Move(s.h[order], *s[1:7], *(x[order] for x in s[7:])),),
            want[order],
            "The members are in another order.",
        ),
        Case(
            (s._replace(h=3 * s.h + 5, a=3 * s.a + 5, b=3 * s.b + 5),),
            3 * want + 5,
            "With 3 h + 5, 3 a + 5 and 3 b + 5 all values must be 3 times the old ones, plus 5.",
        ),
        Case(
            (mirrored,),
            s.a + s.b - want,
            "With a + b - h, 1 - fresh and 1 - u all values must be a + b minus the old ones.",
        ),
    )
    unchanged(ask_continuous(student, s))


# --- ex08.3 ---------------------------------------------------------------------------------------


def check_top(student: Student, *cases: Case, only: str = "", joint: bool = False) -> None:
    others = [Case((drawn(21, 11), 3.0)), Case((drawn(22, 7, 2), 2.5)), Case((drawn(23, 5), 1.0))]
    ask, names = partial(student.call, "top_and_bottom"), ("top", "bottom")
    judge = partial(equal_or_tied, only=only, joint=joint)
    check(ask, TOP, cases, others, judge, names, only)


def equal_or_tied(answer: Answer, case: Case, only: str = "", joint: bool = False) -> None:
    """Raise as `close` does, and tell places that are wrong, but have the right scores."""
    scores = case.arguments[0]
    given = parts(answer, "top", "bottom")
    if joint:
        best, worst = (form(part, [0]) for part in given)
        if both := sorted({*best} & {*worst}):
            raise Failure(
                f"No member may be in both sets. {answer} returned top = {best}, bottom = {worst}, "
                f"and {both} in both."
            )
    for part, want in zip(given, case.want, strict=True):
        if only not in ("", part.part):
            continue
        got = form(part, [0])
        inside = len(got) == len(want) and all(0 <= k < len(scores) for k in got)
        tied = inside and np.array_equal(scores[got], scores[want], equal_nan=True)
        close(part, want, {TIES: got} if tied else None, case.rule)


def drawn(seed: int, K: int, step: float = 0.0) -> Array:
    """Scores; with a step above 0 they are multiples of it, some of them equal."""
    scores = np.random.default_rng(seed).uniform(0, 9, K)
    return np.round(scores / step) * step if step else scores


def top_right(scores: Array, rho: float, rule: str = "") -> Case:
    return Case((scores, rho), by_counting(scores, rho), rule)


@each_part(top, "two cases computed by hand", top=0.5, bottom=0.5)
def test_top_by_hand(student: Student, only: str) -> None:
    five = floats(0.5, 0.1, 0.9, 0.3, 0.7)
    eleven = floats(7, 2, 9, 1, 5, 8, 3, 6, 10, 4, 11)
    check_top(
        student,
        Case((five, 3.0), ([1, 3], [4, 2]), "5 / 3 rounded up is 2, and so is 5 / 2 rounded down."),
        Case((eleven, 3.0), ([3, 1, 6, 9], [5, 2, 8, 10]), "11 / 3 rounded up is 4."),
        only=only,
    )


@each_part(top, "drawn scores, by counting", top=0.5, bottom=0.5)
def test_top_is_that_of_counting(student: Student, only: str) -> None:
    sizes = (7, 3.0), (12, 4.0), (9, 2.0), (6, 2.5), (13, 5.0)
    cases = [top_right(drawn(k, K), rho) for k, (K, rho) in enumerate(sizes)]
    check_top(student, *cases, only=only)


@each_part(
    top, "NaN and inf; one, two and three members; rho of 1 and a large one", top=0.5, bottom=0.5
)
def test_top_at_the_edges(student: Student, only: str) -> None:
    nan, inf = math.nan, math.inf
    check_top(
        student,
        top_right(floats(0.4, nan, 0.2, inf, 0.1, 0.3), 3.0, "NaN counts as inf."),
        top_right(floats(0.4, inf, 0.2, nan, 0.1, 0.3), 3.0, "NaN counts as inf."),
        top_right(floats(nan, 0.4, inf, nan, 0.1), 2.0, "NaN counts as inf."),
        top_right(floats(-1, nan, -2, -3), 2.0, "All scores but NaN are below 0."),
        top_right(floats(nan, nan, nan), 3.0, "All are NaN, which counts as inf."),
        Case((floats(0.5), 3.0), ([], []), "With one member both sets are empty."),
        top_right(floats(0.5, 0.4), 3.0, "Of two members one is in either set."),
        top_right(floats(0.5, 0.4, 0.6), 1.0, "3 / 2 rounded down is 1."),
        top_right(drawn(5, 7), 1.0, "7 / 2 rounded down is 3."),
        top_right(drawn(6, 6), 50.0, "6 / 50 rounded up is 1."),
        only=only,
    )


@top(points=1, aspect="no member is in both; other scales of the scores", invariant=True)
def test_top_is_apart_and_knows_no_scale(student: Student) -> None:
    cases = []
    for seed, K, rho in ((7, 9, 2.5), (8, 8, 1.5), (9, 11, 1.0)):
        scores = drawn(seed, K)
        want = by_counting(scores, rho)
        cases.append(Case((scores, rho), want))
        rule = "The scores have another scale, in which the same ones are lower."
        cases += [Case((f(scores), rho), want, rule) for f in (np.exp, np.log, lambda x: 5 * x - 9)]
    check_top(student, *cases, joint=True)


@top(points=1, aspect="equal scores, the members in another order; form")
def test_top_of_equal_scores(student: Student) -> None:
    scores, order = drawn(10, 9), [4, 8, 0, 2, 7, 5, 1, 6, 3]
    best, worst = by_counting(scores, 3.0)
    moved = [order.index(k) for k in best], [order.index(k) for k in worst]
    check_top(
        student,
        Case((scores, 3.0), (best, worst)),
        Case((scores[order], 3.0), moved, "The members are in another order."),
        top_right(floats(1, 1, 1, 1, 1, 1), 3.0, "All scores are equal."),
        top_right(floats(2, 1, 2, 1, 2, 1, 2), 3.0, "Some scores are equal."),
        top_right(drawn(11, 41, 3), 3.0, "Many scores are equal."),
        top_right(drawn(12, 60, 2), 4.0, "Many scores are equal."),
    )
    unchanged(student.call("top_and_bottom", floats(0.3, math.nan, 0.1, math.inf, 0.2), 3.0))


# --- ex08.4 ---------------------------------------------------------------------------------------


def ask_exploit(student: Student, s: Population) -> Answer:
    causes = {"IndexError": "u[b] len(top) is rounded to the nearest place, which may be len(top): "
              "int rounds it down"}  # fmt: skip
    if not s.top:
        causes = {"IndexError": "the top is empty here, and nothing is to change"}
    answer = ask(student, causes, "exploit", *s)
    return replace(answer, given={**answer.given, "evolve": str(s.evolve)})


def check_exploit(student: Student, *cases: Case, judge: Callable | None = None) -> None:
    others = [Case((s,)) for s in (population(21, 7, 4, 5), population(22, 10, 3, 7))]
    check(partial(ask_exploit, student), EXPLOIT, cases, others, judge, ("hp", "weights"))


def population(seed: int, K: int, best: int, worst: int) -> Population:
    """With sets of drawn places, which overlap where they are large enough."""
    rng = np.random.default_rng(seed)
    evolve = Evolve(float(rng.integers(2, 5)), float(rng.integers(1, 9)))
    top, bottom = rng.permutation(K).tolist()[:best], rng.permutation(K).tolist()[:worst]
    hp, weights = rng.normal(size=(2, K, 2))
    return Population(hp, weights, top, bottom, rng.uniform(size=K), evolve)


def turned(s: Population) -> Population:
    return s._replace(bottom=s.bottom[::-1])


exploit_right = partial(right, by_members)


@exploit(points=1, aspect="two cases computed by hand")
def test_exploit_by_hand(student: Student) -> None:
    s = Population(
        floats([1], [2], [3], [4], [5]), floats([10], [20], [30], [40], [50]),
        [2, 4], [3, 1], floats(0, 0.75, 0, 0.25, 0), Evolve(10, 1),
    )  # fmt: skip
    rule = (
        "Member 1 copies top[int(0.75 * 2)], which is 4, and member 3 copies top[int(0.25 * 2)], "
        "which is 2."
    )
    want = floats([1], [51], [3], [33], [5]), floats([10], [50], [30], [30], [50])
    both = s._replace(top=[1, 4], bottom=[1, 3])
    told = "Member 1 copies 4, and member 3 copies what member 1 was before."
    want_both = floats([1], [51], [3], [23], [5]), floats([10], [50], [30], [20], [50])
    check_exploit(
        student,
        Case((s,), want, rule),
        Case((both,), want_both, told),
        Case((turned(both),), want_both, told),
    )


@exploit(points=1, aspect="drawn populations, member by member")
def test_exploit_is_that_of_loops(student: Student) -> None:
    sizes = (7, 2, 3), (10, 4, 4), (6, 4, 5), (9, 3, 6), (8, 5, 3)
    drawn = [population(k, *one) for k, one in enumerate(sizes)]
    check_exploit(student, *[exploit_right(x) for s in drawn for x in (s, turned(s))])


@exploit(points=1, aspect="an empty set, all in both sets, one in the top, one member")
def test_exploit_at_the_edges(student: Student) -> None:
    s = population(5, 6, 3, 3)
    everyone = list(range(6))
    ring = s._replace(top=everyone, bottom=everyone, u=(floats(1, 2, 3, 4, 5, 0) + 0.5) / 6)
    rule = "Each member copies the next one, as it was before, and the last one copies the first."
    alone = s._replace(top=[4])
    check_exploit(
        student,
        exploit_right(s),
        Case((s._replace(top=[]),), (s.hp, s.weights), "The top is empty: nothing changes."),
        Case((s._replace(bottom=[]),), (s.hp, s.weights), "The bottom is empty: nothing changes."),
        Case((ring,), (s.evolve(np.roll(s.hp, -1, 0), np.c_[:6]), np.roll(s.weights, -1, 0)), rule),
        exploit_right(alone._replace(bottom=[4, 0, 5]), "Member 4 copies itself, and evolves."),
        exploit_right(alone._replace(bottom=everyone), "All copy member 4, itself among them."),
        exploit_right(population(6, 1, 1, 1), "There is one member, and it is in both sets."),
        exploit_right(population(7, 2, 1, 1), "There are two members."),
    )


@exploit(points=1, aspect="who is not in the bottom stays; copies are those of the old ones")
def test_exploit_leaves_the_others_alone(student: Student) -> None:
    def judge(answer: Answer, case: Case) -> None:
        (s,) = case.arguments
        given = parts(answer, "hp", "weights")
        hp, weights = map(form, given, (s.hp, s.weights))
        for k in range(len(s.hp)):
            same = np.allclose(hp[k], s.hp[k]) and np.allclose(weights[k], s.weights[k])
            if k not in s.bottom and not same:
                raise Failure(
                    f"Member {k} is not in the bottom and must stay as it is. {answer} changed it."
                )
            if k not in s.bottom:
                continue
            parents = [p for p in s.top if np.allclose(weights[k], s.weights[p])]
            if not parents:
                raise Failure(
                    f"Member {k} is replaced and must have the weights that one of {s.top} had "
                    f"before. {answer} returned others for it."
                )
            if not np.allclose(hp[k], want := s.evolve(s.hp[parents[0]], k)):
                raise Failure(
                    f"Member {k} has the weights of member {parents[0]}, so that its hp must be "
                    f"{want.tolist()}. {answer} returned {hp[k].tolist()} for it."
                )

    drawn = [population(k, *one) for k, one in enumerate(((7, 3, 3), (9, 5, 5), (6, 5, 4)), 8)]
    check_exploit(student, *[Case((x,)) for s in drawn for x in (s, turned(s))], judge=judge)


@exploit(points=1, aspect="members and bottom in other orders; form", invariant=True)
def test_exploit_knows_no_order(student: Student) -> None:
    s, order = population(11, 8, 3, 3), [5, 2, 7, 0, 3, 6, 1, 4]
    s = s._replace(top=[6, 1, 3], bottom=[4, 2, 7, 0])  # nobody is in both
    want = by_members(s)
    same = s._replace(evolve=Evolve(3.0, 0.0))
    there = by_members(same)
    moved = Population(
        s.hp[order], s.weights[order], [order.index(k) for k in s.top],
        [order.index(k) for k in s.bottom], s.u[order], same.evolve,
    )  # fmt: skip
    check_exploit(
        student,
        Case((s,), want),
        Case((turned(s),), want, "The bottom is in another order, which changes nothing."),
        Case((s._replace(bottom=[0, 2, 4, 7]),), want, "The bottom is in another order."),
        Case(
            (moved,),
            (there[0][order], there[1][order]),
            "The members are in another order, and b changes nothing.",
        ),
        exploit_right(s._replace(evolve=Evolve(1.0, 0.0)), "evolve changes nothing."),
    )
    unchanged(ask_exploit(student, s))


# --- ex08.5 ---------------------------------------------------------------------------------------

vectors_right = partial(right, by_vectors)


def ask_vectors(student: Student, s: Told) -> Answer:
    causes = {"invalid value": "a vector without a round left has weight 0: its score is NaN"}
    return ask(student, causes, "vector_scores", *s)


def check_vectors(student: Student, *cases: Case) -> None:
    others = [Case((told(k, 4, 6, d),)) for k in (21, 22) for d in (True, False)]
    check(partial(ask_vectors, student), VECTORS, cases, others)


def told(seed: int, T: int, K: int, difference: bool, gaps: float = 0.25) -> Told:
    """Drawn losses; some clients have no data, and some models have diverged."""
    rng = np.random.default_rng(seed)
    before, after = rng.uniform(0.5, 3, size=(2, T, K)).round(2)
    missing, diverged = rng.uniform(size=(2, T, K)) < np.array([gaps, gaps / 2])[:, None, None]
    before[missing] = after[missing] = NAN
    after[diverged & ~missing] = rng.choice([INF, NAN, 9.0], size=int((diverged & ~missing).sum()))
    return Told(before, after, diverged, 0.8, difference)


BEFORE, AFTER = floats([9, 1], [4, 8], [2, 6]), floats([5, 3], [6, 2], [1, 7])
NONE = np.zeros((3, 2), dtype=bool)


@vectors(points=1, aspect="by the loss and by the difference, by hand")
def test_vectors_by_hand(student: Student) -> None:
    s = Told(BEFORE, AFTER, NONE, 0.5, True)
    check_vectors(
        student,
        Case((s,), floats(-4 / 7, -6 / 7), "The weights are 1/4, 1/2 and 1, with the sum 7/4."),
        Case((s._replace(difference=False),), floats(3, 5), "These are the losses after."),
        Case((Told(BEFORE[:1], AFTER[:1], NONE[:1], 0.5, True),), floats(-4, 2), "One round."),
    )


@vectors(points=1, aspect="drawn losses, vector by vector")
def test_vectors_are_those_of_loops(student: Student) -> None:
    sizes = (5, 10, True, 0.0), (3, 7, False, 0.0), (5, 6, True, 0.3), (4, 8, False, 0.3)
    check_vectors(student, *[vectors_right(told(k, *one)) for k, one in enumerate(sizes)])


@vectors(points=1, aspect="clients without data, models that have diverged, no round left")
def test_vectors_at_the_edges(student: Student) -> None:
    gap = np.array([[NAN, 0], [0, 0], [0, NAN]])
    s = Told(BEFORE + gap, AFTER + gap, NONE, 0.5, True)
    gone = Told(BEFORE * NAN, AFTER * NAN, NONE, 0.5, False)
    early = NONE.copy()
    early[0, 1] = True
    check_vectors(
        student,
        vectors_right(s, "One client without data in the first round, one in the last."),
        vectors_right(s._replace(difference=False), "The same, by the loss."),
        Case((gone,), floats(NAN, NAN), "No client has data."),
        vectors_right(s._replace(diverged=early), "Vector 1 has diverged in the first round."),
        vectors_right(gone._replace(diverged=early), "Vector 1 has diverged, vector 0 no data."),
        vectors_right(Told(BEFORE, AFTER, NONE, 1.0, True), "gamma is 1: the plain mean."),
    )


@vectors(points=1, aspect="clients' difficulty, order; arguments untouched", invariant=True)
def test_vectors_know_no_difficulty_and_no_order(student: Student) -> None:
    s, order = told(9, 4, 6, True), [3, 0, 5, 1, 4, 2]
    hard = np.random.default_rng(1).uniform(0, 5, size=s.after.shape)
    want = by_vectors(s)
    check_vectors(
        student,
        Case((s,), want),
        Case(
            (s._replace(before=s.before + hard, after=s.after + hard),),
            want,
            "All losses of a client are higher, before and after: no difference changes.",
        ),
        Case(
            (Told(*(x[:, order] for x in s[:3]), *s[3:]),),
            want[order],
            "The vectors are in another order.",
        ),
    )
    unchanged(ask_vectors(student, s))


# --- ex08.6 ---------------------------------------------------------------------------------------

CONDITIONS, SEEDS = [("after", 0.01), ("difference", 0.01)], range(8)


@judged(points=1, function="predict_6", aspect="a prediction from the list")
def test_prediction(student: Student) -> None:
    check_prediction(student, "predict_6", ("more", "as much", "less"))


@judged(points=4, function="table_6", aspect="the table of all conditions and seeds")
def test_table(student: Student) -> None:
    check_table(student, "table_6", doublings, CONDITIONS, SEEDS)


@judged(points=4, function="interval_6", aspect="the interval of paired runs")
def test_interval(student: Student) -> None:
    check_interval(student, "interval_6")


@judged(points=3, function="reading_6", aspect="three sentences, which your instructor reads")
def test_sentences(student: Student, record_property: Callable[[str, str], None]) -> None:
    record_property("reading", check_sentences(student, "reading_6"))

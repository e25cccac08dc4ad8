"""Exercise 8, evolution by hand: 20 points."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from mistakes_ex08 import (
    CONTINUOUS,
    DISCRETE,
    EXPLOIT,
    TOP,
    Evolve,
    Move,
    Population,
    Step,
    by_counting,
    by_members,
    by_numbers,
    by_options,
)
from support import Array, ask, floats, right

from fedlab_grade.checks import Answer, Case, Failure, check, close, form, parts, unchanged
from fedlab_grade.student import Student

continuous = partial(pytest.mark.q, "ex08.1", function="evo_continuous")
discrete = partial(pytest.mark.q, "ex08.2", function="evo_discrete")
top = partial(pytest.mark.q, "ex08.3", function="top_and_bottom")
exploit = partial(pytest.mark.q, "ex08.4", function="exploit")


TIES = "of equal scores the lower place is first: np.argsort needs kind='stable' for it"


def whole(*values: int) -> Array:
    return np.array(values, dtype=np.int64)


# --- ex08.1 ---------------------------------------------------------------------------------------


def check_continuous(student: Student, *cases: Case, judge: Callable | None = None) -> None:
    others = [move(21, 9, -4, 0, 0.2, 0.4), move(22, 7, 2, 7, 0.5, 0.6)]
    others = [Case((s._replace(coin=np.sort(s.coin)),)) for s in others]
    check(lambda s: student.call("evo_continuous", *s), CONTINUOUS, cases, others, judge)


def move(seed: int, n: int, a: float, b: float, eps: float, p_re: float) -> Move:
    rng = np.random.default_rng(seed)
    return Move(rng.uniform(a, b, n), float(a), float(b), eps, p_re, *rng.uniform(size=(3, n)))


continuous_right = partial(right, by_numbers)


@continuous(points=1, aspect="a case computed by hand")
def test_continuous_by_hand(student: Student) -> None:
    s = Move(
        floats(-2, -3.75, -0.25, -1, -2), -4.0, 0.0, 1 / 8, 1 / 4,
        floats(0.5, 0.75, 0.25, 0.125, 0.875), floats(0.5, 0, 0.25, 0.75, 0.5),
        floats(0.75, 0.125, 0.9375, 0.25, 0.5),
    )  # fmt: skip
    rule = (
        "(b - a) eps is 1/2, and 2 u - 1 is [1/2, -3/4, 7/8, -1/2, 0]. Members 1 and 2 are clipped "
        "to the ends, and member 3 is drawn afresh: -4 + 4 * 3/4."
    )
    check_continuous(student, Case((s,), floats(-1.75, -4, 0, -1, -2), rule))


@continuous(points=1, aspect="drawn members, by plain loops")
def test_continuous_is_that_of_loops(student: Student) -> None:
    ranges = (-4, 0, 0.1), (0, 0.5, 0.3), (2, 7, 0.05), (-3, -1, 0.6)
    cases = [move(k, 8, a, b, eps, 0.4) for k, (a, b, eps) in enumerate(ranges)]
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
        continuous_right(move(6, 1, 0, 4, 0.2, 0.0), "There is one member."),
    )


@continuous(points=1, aspect="from a to b, and no farther than eps")
def test_continuous_stays_in_the_interval(student: Student) -> None:
    def judge(answer: Answer, case: Case) -> None:
        (s,) = case.arguments
        new = form(answer, s.h)
        for k in range(len(new)):
            told = f"{answer} returned {new[k]:.6g} for member {k}"
            if not s.a - 1e-9 <= new[k] <= s.b + 1e-9:
                raise Failure(f"All values must be from {s.a:g} to {s.b:g}. {told}.")
            if s.coin[k] >= s.p_re and not abs(new[k] - s.h[k]) <= s.reach + 1e-9:
                raise Failure(
                    f"What is not drawn afresh must stay within {s.reach:.6g} of h. {told}, whose "
                    f"h is {s.h[k]:.6g}."
                )
            if s.u[k] != 0.5 and s.coin[k] >= s.p_re and (new[k] > s.h[k]) != (s.u[k] > 0.5):
                way = "up" if s.u[k] > 0.5 else "down"
                raise Failure(f"With u = {s.u[k]:.6g} it must move {way}. {told}.")

    cases = [move(k, 8, *ends, 0.25, 0.2) for k, ends in ((7, (-4, 0)), (8, (10, 12)))]
    wide = move(9, 8, -1, 1, 0.5, 0.2)._replace(u=floats(*range(8)) / 8 + 1 / 16)
    check_continuous(student, *[Case((s,)) for s in (*cases, wide)], judge=judge)


@continuous(points=1, aspect="order, another scale, the other end first; arguments untouched")
def test_continuous_knows_no_order_and_no_scale(student: Student) -> None:
    s, order = move(10, 6, -4, 0, 0.3, 0.4), [3, 0, 5, 1, 4, 2]
    want = by_numbers(s)
    mirrored = s._replace(h=s.a + s.b - s.h, fresh=1 - s.fresh, u=1 - s.u)
    check_continuous(
        student,
        Case((s,), want),
        Case(
            (Move(s.h[order], *s[1:5], *(x[order] for x in s[5:])),),
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
    unchanged(student.call("evo_continuous", *s))


# --- ex08.2 ---------------------------------------------------------------------------------------


def check_discrete(student: Student, *cases: Case, judge: Callable | None = None) -> None:
    others = [step(21, 20, 11, 0.14, 0.3), step(22, 20, 12, 0.24, 0.5)]
    others = [Case((s._replace(coin=np.sort(s.coin)),)) for s in others]
    check(lambda s: student.call("evo_discrete", *s), DISCRETE, cases, others, judge)


def step(seed: int, m: int, n: int, eps: float, p_re: float) -> Step:
    rng = np.random.default_rng(seed)
    return Step(rng.integers(n, size=m), n, eps, p_re, *rng.uniform(size=(3, m)))


discrete_right = partial(right, by_options)


@discrete(points=1, aspect="two cases computed by hand")
def test_discrete_by_hand(student: Student) -> None:
    five = Step(
        whole(2, 2, 2, 0, 4, 3), 5, 0.1, 0.25, floats(0.5, 0.5, 0.5, 0.75, 0.25, 0.125),
        floats(0, 0.5, 0.5, 0.5, 0.5, 0.9), floats(0.25, 0.5, 0.75, 0.125, 0.875, 0.125),
    )  # fmt: skip
    rule = (
        "round(4 * 0.1) is 0, so that s is 1: down, stay, up, and twice clipped; 5 * 0.9 rounded "
        "down is 4."
    )
    nine = Step(
        whole(4, 1, 8, 5), 9, 0.33, 0.5, floats(0.75, 0.5, 0.875, 0.25), floats(0, 0, 0, 0.5),
        floats(0.125, 0.25, 0.5, 0.875),
    )  # fmt: skip
    two = "round(8 * 0.33) is 3: 4 - 3, 1 - 3 clipped, 8 as it is, and 9 * 0.5 rounded down."
    check_discrete(
        student,
        Case((five,), whole(1, 2, 3, 0, 4, 4), rule),
        Case((nine,), whole(1, 0, 8, 4), two),
    )


@discrete(points=1, aspect="drawn members, by plain loops")
def test_discrete_is_that_of_loops(student: Student) -> None:
    sizes = (5, 0.1), (11, 0.14), (8, 0.24), (4, 0.6), (12, 0.2)
    cases = [step(k, 12, n, eps, 0.4) for k, (n, eps) in enumerate(sizes)]
    check_discrete(student, *map(discrete_right, cases))


@discrete(points=1, aspect="eps of 0 and 1, all or none afresh, two options, one option")
def test_discrete_at_the_edges(student: Student) -> None:
    s = step(5, 9, 7, 0.3, 0.5)
    zero = s._replace(coin=np.zeros(9), p_re=0.0)
    half = s._replace(coin=floats(0.5, 0.25, 0.5, 0.75, 0.25, 0.5, 0.5, 0, 0.5))
    fresh = s._replace(p_re=1.0, fresh=floats(0, 0.99, 0.13, 0.3, 0.42, 0.6, 0.8, 0.95, 0.5))
    check_discrete(
        student,
        discrete_right(s),
        discrete_right(s._replace(eps=0.0), "With eps = 0 s is 1."),
        discrete_right(s._replace(eps=1.0), "With eps = 1 s is n - 1."),
        Case((fresh,), whole(0, 6, 0, 2, 2, 4, 5, 6, 3), "With p_re = 1 all are drawn afresh."),
        discrete_right(zero, "With p_re = 0 nothing is drawn afresh, not even where coin is 0."),
        discrete_right(half, "Some entries of coin are equal to p_re, and not below it."),
        discrete_right(step(6, 9, 2, 0.1, 0.3), "There are two options."),
        discrete_right(step(7, 6, 1, 0.1, 0.3), "There is one option, with place 0."),
        discrete_right(step(8, 1, 6, 0.2, 0.0), "There is one member."),
    )


@discrete(points=1, aspect="each option can be drawn, each move is as likely")
def test_discrete_reaches_each_option(student: Student) -> None:
    def judge(answer: Answer, case: Case) -> None:
        (s,) = case.arguments
        new = form(answer, s.i)
        if not ((new >= 0) & (new < s.n)).all():
            wrong = new[(new < 0) | (new >= s.n)][0]
            raise Failure(f"All places must be from 0 to {s.n - 1}; the answer has {wrong} in it.")
        expected = dict(zip(*np.unique(by_options(s), return_counts=True), strict=True))
        for place in range(s.n):
            got, want = int((new == place).sum()), int(expected.get(place, 0))
            if got != want:
                raise Failure(
                    f"{case.rule} In the answer, place {place} is there {got} times, expected "
                    f"{want} times."
                )

    def evenly(s: Step, rule: str) -> Case:
        u = (np.arange(len(s.i)) + 0.5) / len(s.i)
        return Case((s._replace(fresh=u, u=u, coin=np.full(len(u), 0.5)),), None, rule)

    def told(s: Step, moved: str) -> str:
        return f"{len(s.i)} members with n = {s.n} and eps = {s.eps:g} {moved}."

    cases = []
    for k, (n, eps) in enumerate(((5, 0.1), (9, 0.2))):
        s = step(10 + k, 6 * n, n, eps, 1.0)
        cases.append(evenly(s, told(s, "are drawn afresh, with fresh spread evenly over [0, 1)")))
        still = s._replace(p_re=0.0, i=np.full(6 * n, n // 2))
        moves = f"move from place {n // 2}, with u spread evenly over [0, 1)"
        cases.append(evenly(still, told(still, moves)))
    check_discrete(student, *cases, judge=judge)


@discrete(points=1, aspect="order, the list turned around; arguments untouched")
def test_discrete_knows_no_order_and_no_direction(student: Student) -> None:
    s, order = step(14, 6, 7, 0.3, 0.4), [3, 0, 5, 1, 4, 2]
    want = by_options(s)
    turned = s._replace(i=s.n - 1 - s.i, fresh=1 - s.fresh, u=1 - s.u)
    check_discrete(
        student,
        Case((s,), want),
        Case(
            (Step(s.i[order], *s[1:4], *(x[order] for x in s[4:])),),
            want[order],
            "The members are in another order.",
        ),
        Case(
            (turned,),
            s.n - 1 - want,
            "With n - 1 - i, 1 - fresh and 1 - u all places must be n - 1 minus the old ones.",
        ),
    )
    unchanged(student.call("evo_discrete", *s))


# --- ex08.3 ---------------------------------------------------------------------------------------


def check_top(student: Student, *cases: Case, judge: Callable | None = None) -> None:
    others = [Case((drawn(21, 11), 3.0)), Case((drawn(22, 7, 2), 2.5)), Case((drawn(23, 5), 1.0))]
    ask, names = partial(student.call, "top_and_bottom"), ("top", "bottom")
    check(ask, TOP, cases, others, judge or equal_or_tied, names)


def equal_or_tied(answer: Answer, case: Case) -> None:
    """Raise as `close` does, and tell places that are wrong, but have the right scores."""
    scores = case.arguments[0]
    for part, want in zip(parts(answer, "top", "bottom"), case.want, strict=True):
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


@top(points=1, aspect="two cases computed by hand")
def test_top_by_hand(student: Student) -> None:
    five = floats(0.5, 0.1, 0.9, 0.3, 0.7)
    eleven = floats(7, 2, 9, 1, 5, 8, 3, 6, 10, 4, 11)
    check_top(
        student,
        Case((five, 3.0), ([1, 3], [4, 2]), "5 / 3 rounded up is 2, and so is 5 / 2 rounded down."),
        Case((eleven, 3.0), ([3, 1, 6, 9], [5, 2, 8, 10]), "11 / 3 rounded up is 4."),
    )


@top(points=1, aspect="drawn scores, by counting")
def test_top_is_that_of_counting(student: Student) -> None:
    sizes = (7, 3.0), (12, 4.0), (9, 2.0), (6, 2.5), (13, 5.0)
    check_top(student, *[top_right(drawn(k, K), rho) for k, (K, rho) in enumerate(sizes)])


@top(points=1, aspect="NaN and inf; one, two and three members; rho of 1 and a large one")
def test_top_at_the_edges(student: Student) -> None:
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
    )


@top(points=1, aspect="nobody is in both; other scales of the scores")
def test_top_is_apart_and_knows_no_scale(student: Student) -> None:
    def judge(answer: Answer, case: Case) -> None:
        best, worst = (form(part, [0]) for part in parts(answer, "top", "bottom"))
        if both := sorted({*best} & {*worst}):
            raise Failure(
                f"No member may be in both sets. {answer} returned top = {best}, bottom = {worst}, "
                f"and {both} in both."
            )
        equal_or_tied(answer, case)

    cases = []
    for seed, K, rho in ((7, 9, 2.5), (8, 8, 1.5), (9, 11, 1.0)):
        scores = drawn(seed, K)
        want = by_counting(scores, rho)
        cases.append(Case((scores, rho), want))
        rule = "The scores have another scale, in which the same ones are lower."
        cases += [Case((f(scores), rho), want, rule) for f in (np.exp, np.log, lambda x: 5 * x - 9)]
    check_top(student, *cases, judge=judge)


@top(points=1, aspect="equal scores, the members in another order; scores untouched")
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
    causes = {} if s.top else {"IndexError": "the top is empty here, and nothing is to change"}
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


@exploit(points=1, aspect="members and bottom in other orders; arguments untouched")
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

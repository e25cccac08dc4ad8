"""Exercise 3, how would you tune this: 32 points."""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from operator import mul

import pytest
from experiment import check_interval, check_prediction, check_sentences, check_table
from mistakes_ex03 import (
    REAL,
    STOPS,
    SURVIVORS,
    UNSPENT,
    VARIANCES,
    WHOLE,
    Halving,
    Near,
    Pair,
    best_stops,
    by_counting,
    by_drawing,
    by_formula,
    of_mean,
    real_draw,
    spent,
    whole_draw,
)
from support import ask, draw_scores

from fedlab_edu.experiments.election import winner_repeats
from fedlab_grade.checks import Answer, Case, Failure, check, form, unchanged
from fedlab_grade.printing import SHOWN, kind
from fedlab_grade.student import Raised, Student

unspent = partial(pytest.mark.q, "ex03.1", function="unspent", minutes=15)
schedule = partial(pytest.mark.q, "ex03.2", function="schedule", minutes=25)
survivors = partial(pytest.mark.q, "ex03.3", function="survivors", minutes=20)
difference_variance = partial(pytest.mark.q, "ex03.4", function="difference_variance", minutes=15)
perturb = partial(pytest.mark.q, "ex03.5", function="perturb", minutes=20)
election = partial(pytest.mark.q, "ex03.6", minutes=60)


# --- ex03.1 ---------------------------------------------------------------------------------------


def check_unspent(student: Student, *cases: Case) -> None:
    def ask(h: Halving) -> Answer:
        answer = student.call("unspent", *h)
        return replace(answer, given=h._asdict())

    check(ask, UNSPENT, cases, [Case((Halving(80, 21, 6, 2),))])


def by_trying(h: Halving) -> int:
    """The least that is left over, over all increments that fit."""
    free = h.total - h.cap
    ranges = [range(1, free // cost + 1) for cost in h.costs]
    prices = (sum(map(mul, D, h.costs)) for D in product(*ranges))
    return min(free - price for price in prices if price <= free)


@unspent(points=1, aspect="a case computed by hand")
def test_unspent_by_hand(student: Student) -> None:
    rule = (
        "A round costs 8 in D_1 and 2 in D_2: what is spent beyond cap is even, but 61 - 50 is not."
    )
    also = "The costs are 15 and 3; with 1 and 2 rounds 21 of the 31 - 8 are spent, and 2 are left."
    check_unspent(
        student,
        Case((Halving(61, 50, 3, 2),), 1, rule),
        Case((Halving(31, 8, 4, 2),), 2, also),
    )


@unspent(points=1, aspect="drawn budgets, by trying all increments")
def test_unspent_is_the_least_of_all(student: Student) -> None:
    rng, cases = random.Random(15), []
    for eta, eliminations in ((2, 2), (3, 2), (4, 2), (5, 1), (6, 2), (5, 2), (3, 3)):
        one = Halving(0, rng.randrange(5, 40), eta, eliminations)
        one = one._replace(total=one.cap + sum(one.costs) + rng.randrange(70))
        cases.append(Case((one,), by_trying(one)))
    check_unspent(student, *cases)


@unspent(points=1, aspect="a billion rounds; ints", wall=3)
def test_unspent_of_a_billion_rounds(student: Student) -> None:
    last = Halving(10**9 + 7, 10**6, 8, 3)
    check_unspent(
        student,
        Case((Halving(10**9, 800, 3, 3),), 0, "Both are even, and so are all costs."),
        Case((Halving(10**9, 801, 3, 3),), 1),
        Case((last,), (10**9 + 7 - 10**6) % 7),
    )
    answer = student.call("unspent", *last)
    form(answer, 0)
    unchanged(answer)


# --- ex03.2 ---------------------------------------------------------------------------------------


def ask_stops(student: Student, h: Halving) -> Answer:
    given = ", ".join(f"{name} = {value}" for name, value in h._asdict().items())
    return ask(student, {"ValueError": f"there is a schedule for {given}"}, "schedule", *h)


def check_stops(student: Student, *cases: Case, **judge: Callable[[Answer, Case], None]) -> None:
    check(partial(ask_stops, student), STOPS, cases, **judge)


def check_refused(student: Student, h: Halving, why: str) -> None:
    try:
        answer = student.call("schedule", *h)
    except Raised as failure:
        if "ValueError" in failure.kinds:
            return
        raise Raised(str(failure), f"raise a ValueError here: {why}") from None
    got = form(answer, [0]) if isinstance(answer.value, list) else kind(answer.value)
    raise Failure(f"{answer} returned {got}, expected a ValueError.", f"raise one here: {why}")


@schedule(points=1, aspect="a case computed by hand")
def test_schedule_by_hand(student: Student) -> None:
    rule = (
        "A round costs 3 in D_1 and 1 in D_2. Of the 43 - 20 rounds, increments of 5 spend 20; the "
        "3 that are left make D_1 6, or D_2 8; the larger D_1 is asked for."
    )
    check_stops(student, Case((Halving(43, 20, 2, 2),), [6, 11, 20], rule))


@schedule(points=1, aspect="the paper's two, and one more")
def test_schedules_of_the_paper(student: Student) -> None:
    check_stops(
        student,
        Case((Halving(4000, 800, 3, 3),), [89, 177, 268, 800]),
        Case((Halving(2000, 200, 3, 3),), [50, 100, 150, 200]),
        Case((Halving(100, 40, 2, 3),), [5, 11, 18, 40]),
    )


def brackets(seed: int) -> list[Halving]:
    """Drawn ones, with a cap that all increments together cannot reach."""
    rng, out = random.Random(seed), []
    for eta, eliminations in ((2, 2), (2, 3), (3, 1), (3, 2), (3, 3), (4, 1), (4, 2), (2, 1)):
        one = Halving(0, 0, eta, eliminations)
        least, left = rng.randrange(2, 9), rng.randrange(sum(one.costs))
        cap = (least + left + 1) * eliminations + rng.randrange(30)
        out.append(one._replace(total=cap + least * sum(one.costs) + left, cap=cap))
    return out


@schedule(points=1, aspect="drawn totals and caps")
def test_schedule_is_the_best(student: Student) -> None:
    check_stops(student, *[Case((h,), best_stops(h)) for h in brackets(seed=2)])


@schedule(points=1, aspect="no round more than the total, and none left that could be spent")
def test_schedule_spends_what_there_is(student: Student) -> None:
    def judge(answer: Answer, case: Case) -> None:
        (h,), stops = case.arguments, form(answer, [0])
        if len(stops) != h.eliminations + 1 or stops[-1] != h.cap:
            text = f"{h.eliminations + 1} stops, of which the last is {h.cap}"
        elif sorted(stops) != stops or stops[0] < 1:
            text = "stops from 1 on, none before another"
        elif (used := spent(stops, h.eta**h.eliminations, h.eta)) > h.total:
            text = f"at most {h.total} rounds; these are {used}"
        elif h.total - used >= h.eta - 1:
            text = f"more than {used} rounds: D_{h.eliminations} can be larger"
        else:
            return
        raise Failure(f"{answer} returned {stops[:SHOWN]}, expected {text}.")

    check_stops(student, *[Case((h,)) for h in brackets(seed=3)], judge=judge)


@schedule(points=1, aspect="a ValueError where there is no schedule, and only there")
def test_schedule_refuses_what_cannot_be(student: Student) -> None:
    check_stops(
        student,
        Case((Halving(60, 50, 3, 2),), [1, 2, 50], "This is just possible."),
        Case((Halving(120, 20, 3, 2),), [10, 20, 20], "This is just possible."),
    )
    check_refused(student, Halving(59, 50, 3, 2), "the equal increment, 9 / 10, is below 1")
    check_refused(student, Halving(40, 50, 3, 2), "not even one arm can train up to cap")
    why = "the last elimination would come at round 22, after cap"
    check_refused(student, Halving(130, 20, 3, 2), why)
    why = "the last elimination would come at round 80, after cap"
    check_refused(student, Halving(450, 50, 3, 2), why)


# --- ex03.3 ---------------------------------------------------------------------------------------


def check_survivors(student: Student, *cases: Case) -> None:
    check(partial(student.call, "survivors"), SURVIVORS, cases)


def counted(scores: list[float], eta: int, rule: str = "") -> Case:
    return Case((scores, eta), by_counting(scores, eta), rule)


@survivors(points=1, aspect="a case computed by hand")
def test_survivors_by_hand(student: Student) -> None:
    check_survivors(
        student,
        Case(([0.3, 0.9, 0.1, 0.5, 0.2, 0.7], 2), [0, 2, 4]),
        Case(([0.5, 0.8, 0.6, 0.9, 0.3, 0.7, 0.1, 0.4], 3), [4, 6]),
        Case(([0.4, 0.8, 0.2, 0.6, 0.5, 0.7, 0.3], 3), [2, 6]),
    )


@survivors(points=1, aspect="drawn scores, by counting who is better")
def test_survivors_are_those_with_few_better_ones(student: Student) -> None:
    rng = random.Random(4)
    sizes = (27, 3), (16, 2), (14, 4), (9, 5), (11, 3), (13, 4)
    check_survivors(student, *[counted(draw_scores(rng, n), eta) for n, eta in sizes])


@survivors(points=1, aspect="equal scores")
def test_of_equal_scores_the_lower_positions_survive(student: Student) -> None:
    check_survivors(
        student,
        Case(([0.3, 0.2, 0.2, 0.2, 0.9, 0.2], 3), [1, 2]),
        Case(([0.5] * 9, 3), [0, 1, 2], "All scores are equal."),
        Case(([0.4, 0.6, 0.4, 0.1, 0.4, 0.4, 0.9], 3), [0, 3]),
    )


@survivors(points=1, aspect="NaN counts as inf")
def test_nan_counts_as_infinity(student: Student) -> None:
    nan, inf = math.nan, math.inf
    check_survivors(
        student,
        Case(([0.3, nan, 0.1, nan, 0.9, 0.5, 0.7, nan, 0.2], 3), [0, 2, 8]),
        Case(([nan, 0.6, 0.9, 0.2, nan, 0.8, 0.4, 0.7, nan], 3), [1, 3, 6]),
        Case(([-0.4, nan, -0.3, 0.1], 2), [0, 2]),
        Case(([nan, inf, inf, 0.4], 2), [0, 3], "NaN and inf are equal."),
        Case(([inf, nan, inf, 0.4], 2), [0, 3], "NaN and inf are equal."),
        Case(([nan, nan, nan, nan], 3), [0], "All are equal."),
    )


@survivors(points=1, aspect="how many; in any order of the arms; arguments left as they were")
def test_number_of_survivors(student: Student) -> None:
    def judge(answer: Answer, case: Case) -> None:
        positions, n = form(answer, [0]), len(case.arguments[0])
        places = max(1, n // 4)
        if len(positions) != places or not set(positions) <= set(range(n)):
            text = f"{places} of the positions 0 to {n - 1}"
            raise Failure(f"{answer} returned {positions[:SHOWN]}, expected {text}.")

    rng = random.Random(5)
    cases = [Case((draw_scores(rng, n), 4)) for n in range(1, 14)]
    check(partial(student.call, "survivors"), SURVIVORS, cases, judge=judge)
    scores, eta = cases[-1].arguments
    answer = student.call("survivors", scores, eta)
    unchanged(answer)
    at = rng.sample(range(len(scores)), len(scores))
    want = sorted(at.index(i) for i in form(answer, [0]))
    rule = "The arms that go on must be the same when they are listed in another order."
    check_survivors(student, Case(([scores[i] for i in at], eta), want, rule))


# --- ex03.4 ---------------------------------------------------------------------------------------


def check_variance(student: Student, *cases: Case) -> None:
    def ask(p: Pair) -> Answer:
        return student.call("difference_variance", *p)

    check(ask, VARIANCES, cases)


def drawn_pair(rng: random.Random, n: int, clients: int, same: bool) -> Pair:
    first = draw_scores(rng, n)
    second = [round(x + rng.randrange(-200, 300) / 1000, 3) for x in first]
    return Pair(first, second, clients, same)


@difference_variance(points=1, aspect="a case computed by hand")
def test_variance_by_hand(student: Student) -> None:
    first, second = [0.0, 0.5, 1.0], [0.0, 0.25, 0.5]
    own = "S^2 is 1/4 and 1/16; with B = 2 of N = 3 each counts 1/2 * 1/3."
    same = "The differences are 0, 1/4 and 1/2, with S^2 = 1/16."
    check_variance(
        student,
        Case((Pair(first, second, 2, False),), (1 / 4 + 1 / 16) / 6, own),
        Case((Pair(first, second, 2, True),), 1 / 96, same),
    )


@difference_variance(points=1, aspect="drawn errors, over all draws of the clients")
def test_variance_is_that_over_all_draws(student: Student) -> None:
    rng, cases = random.Random(16), []
    for n, clients in ((4, 2), (5, 2), (6, 3), (5, 1)):
        for same in (True, False):
            p = drawn_pair(rng, n, clients, same)
            cases.append(Case((p,), by_drawing(p)))
    check_variance(student, *cases)


@difference_variance(points=1, aspect="all clients; equal arms; arguments untouched")
def test_variance_at_the_edges(student: Student) -> None:
    p = drawn_pair(random.Random(17), 6, 4, False)
    alike = Pair(p.first, [x + 0.25 for x in p.first], 4, True)
    check_variance(
        student,
        Case((p,), by_formula(p)),
        Case((p._replace(clients=6),), 0.0, "If all clients are asked, there is no noise."),
        Case((alike,), 0.0, "If the arms differ by the same for each client, there is no noise."),
        Case((alike._replace(same=False),), 2 * of_mean(p.first, 4)),
    )
    unchanged(student.call("difference_variance", *p))


# --- ex03.5 ---------------------------------------------------------------------------------------


def ask_draws(student: Student, whole: bool, p: Near, us: Sequence[float]) -> Answer:
    """The draws by each u, as one answer."""
    draws: list[float] = []
    for u in us:
        answer = student.call("perturb", *p, u, whole)
        draws.append(form(answer, 0 if whole else 0.0))
    given = list(answer.given.items())
    each = "u", ", ".join(map(str, us))
    return replace(answer, value=draws, given=dict([*given[:4], each, *given[5:]]))


def check_draws(student: Student, whole: bool, *cases: Case) -> None:
    def each(draw: Callable[[Near, float], float]) -> Callable[..., list[float]]:
        return lambda p, us: [draw(p, u) for u in us]

    mistakes = {mistake: each(draw) for mistake, draw in (WHOLE if whole else REAL).items()}
    check(partial(ask_draws, student, whole), mistakes, cases)


def evenly(count: int) -> list[float]:
    """The middles of so many equal parts of [0, 1], to three places."""
    return [round((i + 0.5) / count, 3) for i in range(count)]


@perturb(points=1, aspect="not whole, by hand")
def test_perturb_by_hand(student: Student) -> None:
    us, rule = (0.125, 0.5, 0.875), "(high - low) eps is 1."
    clip = f"{rule} The values are then clipped."
    check_draws(
        student,
        False,
        Case((Near(-0.5, -3.0, 1.0, 0.25), us), [-1.25, -0.5, 0.25], rule),
        Case((Near(0.5, -3.0, 1.0, 0.25), us), [-0.25, 0.5, 1.0], clip),
        Case((Near(-2.5, -3.0, 1.0, 0.25), us), [-3.0, -2.5, -1.75], clip),
    )


@perturb(points=1, aspect="whole, by hand")
def test_perturb_whole_by_hand(student: Student) -> None:
    us, rule = (0.1, 0.3, 0.5, 0.7, 0.9), "(high - low) eps is 1.2, so that h is 2."
    clip = f"{rule} The values are then clipped."
    check_draws(
        student,
        True,
        Case((Near(10, 5, 15, 0.12), us), [8, 9, 10, 11, 12], rule),
        Case((Near(6, 5, 15, 0.12), us), [5, 5, 6, 7, 8], clip),
        Case((Near(15, 5, 15, 0.12), us), [13, 14, 15, 15, 15], clip),
        Case((Near(10, 5, 15, 0.36), us), [6, 8, 10, 12, 14], "Here h is 4."),
    )


@perturb(points=1, aspect="not whole: the law, for u from 0 to 1; eps = 0 changes nothing")
def test_perturb_law(student: Student) -> None:
    rng, us, cases = random.Random(7), evenly(20), []
    for eps in (0.1, 0.05, 0.4, 1.0):
        low = rng.randrange(-50, 50) / 10
        high = round(low + rng.randrange(10, 60) / 10, 1)
        for share in (0.4, 0.0, 0.96):
            p = Near(round(low + share * (high - low), 2), low, high, eps)
            cases.append(Case((p, us), [real_draw(p, u) for u in us]))
    still = Case((Near(0.3, -1.0, 2.0, 0.0), us[:4]), [0.3] * 4, "With eps = 0 nothing moves.")
    check_draws(student, False, *cases, still)


@perturb(points=1, aspect="whole: the law, for u from 0 to 1; eps = 0 changes nothing")
def test_perturb_whole_law(student: Student) -> None:
    rng, cases = random.Random(8), []
    for eps in (0.1, 0.25, 0.36, 0.7):
        low = rng.randrange(-9, 9)
        high = low + rng.randrange(4, 8)
        us = evenly(2 * (2 * math.ceil((high - low) * eps - 1e-9) + 1))
        for c in (low + 2, low, high):
            p = Near(c, low, high, eps)
            cases.append(Case((p, us), [whole_draw(p, u) for u in us]))
    seven = "50 * 0.14 is 7 but for a rounding error, so that h is 7."
    cases.append(Case((Near(20, 0, 50, 0.14), evenly(15)), list(range(13, 28)), seven))
    still = Case((Near(2, 1, 5, 0.0), us[:4]), [2] * 4, "With eps = 0 nothing moves.")
    check_draws(student, True, *cases, still)


# --- ex03.6 ---------------------------------------------------------------------------------------

CONDITIONS = [(5, False), (5, True), (20, False), (20, True)]


@election(points=1, function="predict_6", aspect="a prediction from the list")
def test_prediction(student: Student) -> None:
    check_prediction(student, "predict_6", ("the same 5", "20 of its own", "neither"))


@election(points=4, function="table_6", aspect="the table of all conditions and seeds")
def test_table(student: Student) -> None:
    check_table(student, "table_6", winner_repeats, CONDITIONS, range(10))


@election(points=4, function="interval_6", aspect="the interval of paired runs")
def test_interval(student: Student) -> None:
    check_interval(student, "interval_6")


@election(points=3, function="reading_6", aspect="three sentences, which your instructor reads")
def test_sentences(student: Student, record_property: Callable[[str, str], None]) -> None:
    record_property("reading", check_sentences(student, "reading_6"))

"""Exercise 5, sharing weights by hand: 33 points."""

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pytest
from experiment import check_interval, check_prediction, check_sentences, check_table
from mistakes_ex05 import (
    FIT,
    HALVE,
    SOFTENED,
    WEIGHTS,
    Fit,
    Round,
    by_counting,
    by_decimals,
    by_elimination,
    client_by_client,
    known,
)
from support import Array, ask, each_part, floats, right

from fedlab_edu.experiments.weights import better_share
from fedlab_grade.checks import Answer, Case, Failure, check, close, form, parts, unchanged
from fedlab_grade.student import Student

shared_fit = partial(pytest.mark.q, "ex05.1", function="shared_fit", minutes=30)
halve = partial(pytest.mark.q, "ex05.2", function="halve", minutes=40)
soften = partial(pytest.mark.q, "ex05.2", function="soften", minutes=40)
weights_round = partial(pytest.mark.q, "ex05.3", function="weights_round", minutes=25)
rest = partial(pytest.mark.q, "ex05.4", minutes=60)


# --- ex05.1 ---------------------------------------------------------------------------------------

SINGULAR = {"Singular matrix": "X'X alone may be singular: add lam * np.eye(n) to it"}


def check_fit(
    student: Student, *cases: Case, judge: Callable | None = None, only: str = ""
) -> None:
    others = [Case((problem(24, *size),)) for size in ((9, 3, 4), (7, 4, 3))]
    ask_fit = partial(ask, student, SINGULAR, "shared_fit")
    check(lambda s: ask_fit(*s), FIT, cases, others, judge, ("W", "b"), only)


def problem(seed: int, N: int, n: int, classes: int) -> Fit:
    """Numbers with few bits, so that fractions stay small; the last class has no example."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-16, 17, (N, n)) / 8 + rng.integers(-2, 3, n)
    return Fit(X, rng.integers(classes - 1, size=N), classes, float(rng.integers(3, 12)) / 8)


@each_part(shared_fit, "a case computed by hand", W=1, b=1)
def test_fit_by_hand(student: Student, only: str) -> None:
    s = Fit(floats([0], [1], [5]), np.array([0, 1, 1]), 3, 2.0)
    rule = (
        "x minus its mean 2 is [-2, -1, 3], with the sum of squares 14. The targets of class 0 "
        "are [1, -1, -1], so that W_0 is (-2 + 1 - 3) / (14 + 2) = -1/4, and b_0 is "
        "-1/3 - 2 (-1/4) = 1/6. Those of class 2 are all -1."
    )
    want = floats([-1 / 4, 1 / 4, 0]), floats(1 / 6, -1 / 6, -1)
    check_fit(student, Case((s,), want, rule), only=only)


@each_part(shared_fit, "drawn examples, with fractions", W=1, b=1)
def test_fit_is_that_of_fractions(student: Student, only: str) -> None:
    sizes = (8, 3, 3), (10, 4, 5), (12, 2, 4), (9, 5, 3)
    drawn = [problem(i, *size) for i, size in enumerate(sizes)]
    check_fit(student, *[Case((s,), by_elimination(s)) for s in drawn], only=only)


@shared_fit(points=1, aspect="more features than examples; one example; equal columns")
def test_fit_with_few_examples(student: Student) -> None:
    few, one = problem(13, 4, 6, 3), problem(14, 1, 3, 2)
    same = problem(15, 6, 2, 3)
    same = same._replace(X=np.repeat(same.X, 2, axis=1))
    all_zero = "X minus its mean is 0, so that W is 0, and b the target."
    check_fit(
        student,
        Case((few,), by_elimination(few), "There are 6 features and 4 examples."),
        Case((same,), by_elimination(same), "Each column of X is there twice."),
        Case((one,), (np.zeros((3, 2)), floats(1, -1)), all_zero),
    )


@shared_fit(points=1, aspect="the derivatives are 0 at the minimum")
def test_fit_is_where_the_derivatives_vanish(student: Student) -> None:
    def judge(answer: Answer, case: Case) -> None:
        (s,) = case.arguments
        like = np.empty((s.X.shape[1], s.classes)), np.empty(s.classes)
        W, b = map(form, parts(answer, "W", "b"), like)
        with np.errstate(all="ignore"):
            error = s.targets - s.X @ W - b
            derivatives = {"W": 2 * s.lam * W - 2 * s.X.T @ error, "b": -2 * error.sum(0)}
        for name, by in derivatives.items():
            if not (size := np.abs(by)).max() <= 1e-4:
                at = list(map(int, np.unravel_index(size.argmax(), by.shape)))
                text = f"the derivative with respect to {name}{at} is {by[*at]:.4g}, expected 0"
                raise Failure(f"At what {answer} returned, {text}.")

    rng, cases = np.random.default_rng(16), []
    for N, n, classes, lam in ((60, 5, 4, 0.5), (40, 12, 3, 3.0), (30, 9, 2, 0.75)):
        y = rng.integers(classes, size=N)
        cases.append(Case((Fit(rng.normal(0.5, 1, (N, n)), y, classes, lam),)))
    check_fit(student, *cases, judge=judge)


@shared_fit(
    points=1, aspect="order, shifted features, a huge lam; arguments untouched", invariant=True
)
def test_fit_knows_no_order_and_no_shift(student: Student) -> None:
    s, order, shift = problem(17, 7, 3, 3), [3, 0, 6, 1, 4, 2, 5], floats(1, -2, 4)
    W, b = by_elimination(s)
    huge = s._replace(lam=float(2**30))
    near_zero = "With such a lam W is nearly 0, and b, which is not penalised, the mean of t."
    check_fit(
        student,
        Case((s,), (W, b)),
        Case(
            (s._replace(X=s.X[order], y=s.y[order]),),
            (W, b),
            "Listing the examples in another order must change nothing.",
        ),
        Case(
            (s._replace(X=s.X + shift),),
            (W, b - shift @ W),
            "Adding a number to a column of X must change b only.",
        ),
        Case((huge,), by_elimination(huge), near_zero),
    )
    unchanged(student.call("shared_fit", *s))


# --- ex05.2 ---------------------------------------------------------------------------------------

LUCK = "of equal scores those at lower positions stay: np.argsort needs kind='stable' for that"
NOBODY = {
    "ZeroDivisionError": "if this divides by the number of maps that stay, none does here: of n "
    "living maps ceil(n / 2) stay, at least 1",
}


def by_place(answer: Answer, case: Case) -> None:
    """Raise as `close` does, and tell a wrong choice among equal scores."""
    try:
        close(answer, case.want, rule=case.rule)
    except Failure as failure:
        want = by_counting(*case.arguments)
        got, (scores, alive) = form(answer, want), case.arguments
        equals = [sorted(zip(p, known(scores), alive, strict=True)) for p in (got, want)]
        likely = LUCK if np.allclose(*equals, equal_nan=True) else failure.likely
        raise Failure(str(failure), likely) from None


def check_halve(student: Student, *cases: Case, judge: Callable = by_place) -> None:
    others = [Case(scored(25 + n, 9, n)) for n in (4, 5, 7)]
    check(partial(ask, student, NOBODY, "halve"), HALVE, cases, others, judge)


def scored(seed: int, k: int, n: int) -> tuple[Array, Array]:
    """No two scores equal; n of the k maps are living, and the best of all is not, if any is."""
    rng = np.random.default_rng(seed)
    scores, alive = rng.permutation(1000)[:k] / 1000, np.ones(k, dtype=bool)
    gone = [int(scores.argmin()), *(i for i in rng.permutation(k).tolist() if i != scores.argmin())]
    alive[gone[: k - n]] = False
    return scores, alive


def halved(scores: Sequence[float], alive: Sequence[int], rule: str = "") -> Case:
    given = np.array(scores, dtype=np.float64), np.array(alive, dtype=bool)
    return Case(given, by_counting(*given), rule)


@halve(points=1, aspect="a case computed by hand, and the one of the printed rule")
def test_halve_by_hand(student: Student) -> None:
    five = floats(0.5, 0.1, 0.9, 0.2, 0.4, 0.3), np.array([1, 0, 1, 1, 1, 1]) > 0
    first = floats(1, 2, 3, 4), np.array([1, 1, 1, 1]) > 0
    second = floats(1, 2, 3, 4), np.array([1, 1, 0, 0]) > 0
    three = floats(0.9, 0.2, 0.7), np.array([1, 1, 1]) > 0
    rule = "Of the 5 living maps ceil(5 / 2) = 3 stay; map 1 has gone."
    check_halve(
        student,
        Case(five, floats(0, 0, 0, 1 / 3, 1 / 3, 1 / 3), rule),
        Case(first, floats(1 / 2, 1 / 2, 0, 0), "It is the first round."),
        Case(second, floats(1, 0, 0, 0), "Maps 2 and 3 have gone."),
        Case(three, floats(0, 1 / 2, 1 / 2), "Of 3 living maps 2 stay."),
    )


@halve(points=1, aspect="drawn scores, by counting the better ones")
def test_halve_keeps_those_with_few_better_ones(student: Student) -> None:
    sizes = (6, 6), (8, 5), (9, 4), (7, 7), (12, 9), (10, 3), (11, 2), (5, 1)
    drawn = [scored(i, *size) for i, size in enumerate(sizes)]
    check_halve(student, *[halved(*one) for one in drawn])


@halve(points=1, aspect="equal scores")
def test_of_equal_scores_the_lower_positions_stay(student: Student) -> None:
    many = np.array([0.5, 0.25, 0.5, 0.5] * 10), np.arange(40) % 9 != 4
    check_halve(
        student,
        halved([0.2, 0.5, 0.5, 0.5, 0.9], [1, 1, 1, 1, 1]),
        halved([0.3] * 6, [1, 0, 1, 1, 0, 1], "All scores are equal."),
        halved([0.1, 0.4, 0.4, 0.4, 0.4], [0, 1, 1, 1, 1]),
        halved(*many, "9 of the 36 living maps have 0.25, the others 0.5."),
    )


@halve(points=1, aspect="NaN and inf")
def test_halve_counts_nan_as_infinity(student: Student) -> None:
    x, oo = math.nan, math.inf
    tie = "NaN and inf are equal."
    check_halve(
        student,
        halved([x, 0.4, x, 0.6], [1, 1, 1, 1]),
        halved([0.7, x, 0.2, 0.9, x], [1, 1, 1, 1, 1]),
        halved([-0.5, x, -0.1, -0.2, x, 0.4], [1, 1, 1, 1, 0, 1]),
        halved([x, x, 0.3, x], [1, 1, 1, 1], "NaN counts as one of the living maps."),
        halved([x, oo, 0.5, x, oo], [0, 1, 1, 1, 1], tie),
        halved([0.5, x, oo, oo], [1, 1, 1, 1], tie),
        halved([0.1, x, x, 0.5], [0, 1, 1, 1], "Map 0 has gone, and two living maps have NaN."),
        halved([x, x, x], [1, 1, 1], "All are equal."),
        halved([x, 0.8, x, 0.3, 0.5], [0, 1, 0, 1, 1], "The maps with NaN have gone."),
    )


@halve(points=1, aspect="only the order of the scores counts; arguments untouched", invariant=True)
def test_halve_sees_only_the_order_of_scores(student: Student) -> None:
    scores, alive = scored(18, 9, 7)
    want = by_counting(scores, alive)
    check_halve(
        student,
        Case((scores, alive), want),
        Case((np.exp(3 * scores), alive), want, "exp(3 s) has the order of s."),
        Case((scores**3 - 5, alive), want, "s^3 - 5 has the order of s."),
        Case((np.where(alive, scores, 7.0), alive), want, "Maps that have gone play no part."),
    )
    unchanged(student.call("halve", scores, alive))
    unchanged(student.call("halve", floats(0.5, math.nan, 0.25), np.array([True, True, False])))


@halve(points=1, aspect="six halvings leave one of 64 maps, the best")
def test_six_halvings_leave_the_best_of_64(student: Student) -> None:
    def judge(answer: Answer, case: Case) -> None:
        scores, alive = case.arguments
        p, n = form(answer, scores), (int(alive.sum()) + 1) // 2
        if (p != 0).sum() != n or abs(p.sum() - 1) > 1e-6:
            text = f"{(p != 0).sum()} of the {alive.sum()} living maps, with the sum {p.sum():.5g}"
            raise Failure(f"{answer} left {text}; expected {n}, with the sum 1.")
        left.append(p != 0)

    scores, everyone = scored(19, 64, 64)
    left = [everyone]
    for _ in range(6):
        check_halve(student, Case((scores, left[-1])), judge=judge)
    last, best = int(left[-1].argmax()), int(scores.argmin())
    if last != best:
        text = f"map {last}, with the score {scores[last]}"
        want = f"map {best}, with the score {scores[best]}"
        likely = "the worst half stays: lower is better" if scores[last] == scores.max() else ""
        raise Failure(f"Six times halve left {text}, expected {want}.", likely)


# The second part: exponentiated gradient.


def check_soften(student: Student, *cases: Case) -> None:
    others = [Case(errors_of(40 + k, k)) for k in (3, 5)]
    zero = "ZeroDivisionError", "math domain error"
    causes = dict.fromkeys(zero, "each factor is 0 in float64: subtract the lowest error first")
    check(partial(ask, student, causes, "soften"), SOFTENED, cases, others)


def errors_of(seed: int, k: int) -> tuple[Array, Array, float]:
    rng = np.random.default_rng(seed)
    p = rng.integers(3, 20, k) / 1.0
    return p / p.sum(), rng.integers(1, 100, k) / 100, float(rng.integers(2, 8))


@soften(points=1, aspect="cases computed by hand")
def test_soften_by_hand(student: Student) -> None:
    p, errors = floats(1 / 2, 1 / 4, 1 / 4), floats(0.75, 0.25, 0.75)
    rule = "The factors are 1/8, 1/2 and 1/8, so that p becomes [1/16, 1/8, 1/32] before the sum."
    check_soften(
        student,
        Case((p, errors, math.log(16)), floats(2, 4, 1) / 7, rule),
        Case((p, errors, 0.0), p, "With eta = 0 each factor is 1."),
    )


@soften(points=1, aspect="drawn errors, in decimal numbers")
def test_soften_is_that_of_decimal_numbers(student: Student) -> None:
    drawn = [errors_of(k, k) for k in (2, 4, 9, 64)]
    check_soften(student, *[Case(one, by_decimals(*one)) for one in drawn])


@soften(points=1, aspect="large steps, and a number added to all errors; arguments untouched")
def test_soften_takes_large_steps(student: Student) -> None:
    p, errors, eta = errors_of(7, 4)
    close, far = floats(0.5, 0.5002, 0.5001, 0.9), floats(1, 0.5, 1, 1)
    check_soften(
        student,
        Case((p, errors, eta), by_decimals(p, errors, eta)),
        Case((p, close, 10_000.0), by_decimals(p, close, 10_000.0), "exp(-5000) is 0 in float64."),
        Case((p, far, 1e6), floats(0, 1, 0, 0), "exp(-500000) is 0 in float64."),
        Case(
            (p, errors + 0.125, eta),
            by_decimals(p, errors, eta),
            "0.125 added to all errors must change nothing.",
        ),
    )
    unchanged(student.call("soften", p, errors, eta))


# --- ex05.3 ---------------------------------------------------------------------------------------


def check_round(student: Student, *cases: Case) -> None:
    others = [Case((a_round(25 + n, 4, 6, divide),)) for n, divide in ((0, False), (1, True))]
    check(lambda s: student.call("weights_round", *s), WEIGHTS, cases, others)


def a_round(seed: int, k: int, B: int, divide: bool) -> Round:
    """A configuration that several clients have drawn, and one that none has, if k is above 1."""
    rng = np.random.default_rng(seed)
    p = rng.integers(3, 20, k) / 1.0
    rows = rng.integers(max(1, k - 1), size=B)
    rows[-1] = rows[0]
    return Round(p / p.sum(), rows, rng.uniform(0.1, 1.5, B), int(rng.integers(20, 60)), divide)


by_clients = partial(right, client_by_client)


@weights_round(points=2, aspect="cases computed by hand")
def test_weights_by_hand(student: Student) -> None:
    s = Round(floats(1 / 2, 1 / 4, 1 / 4), np.array([0, 1, 0]), np.full(3, math.log(4)), 4, False)
    check_round(
        student,
        Case(
            (s,),
            floats(1, 1, 2) / 4,
            "Each factor is exp(-ln 4 / 2) = 1/2, so that p becomes [1/8, 1/8, 1/4] before it is "
            "normalised.",
        ),
        Case(
            (s._replace(divide=True),),
            floats(2, 1, 16) / 19,
            "The factors are exp(-ln 4 / (2 / 2)) = 1/4 for configuration 0, twice, and "
            "exp(-ln 4 / (2 / 4)) = 1/16 for configuration 1, so that p becomes [1/32, 1/64, 1/4] "
            "before it is normalised.",
        ),
    )


@weights_round(points=1, aspect="drawn rounds of the printed rule, client by client")
def test_weights_as_printed(student: Student) -> None:
    sizes = (3, 5), (5, 10), (2, 4), (1, 3)
    check_round(student, *[by_clients(a_round(i, *size, False)) for i, size in enumerate(sizes)])


@weights_round(points=1, aspect="drawn rounds with the division, client by client")
def test_weights_divided(student: Student) -> None:
    sizes = (3, 5), (5, 10), (2, 4), (1, 3)
    check_round(student, *[by_clients(a_round(i, *size, True)) for i, size in enumerate(sizes)])


@weights_round(points=1, aspect="order, scores of 0; arguments untouched", invariant=True)
def test_weights_know_no_order(student: Student) -> None:
    s, order, clients = a_round(9, 4, 6, True), [2, 0, 3, 1], [3, 0, 5, 1, 4, 2]
    want = client_by_client(s)
    renamed = np.array([order.index(i) for i in s.rows.tolist()])
    check_round(
        student,
        Case((s,), want),
        Case(
            (s._replace(rows=s.rows[clients], scores=s.scores[clients]),),
            want,
            "Listing the clients in another order must change nothing.",
        ),
        Case(
            (s._replace(p=s.p[order], rows=renamed),),
            want[order],
            "Listing the configurations in another order must change the order only.",
        ),
        Case((s._replace(scores=0 * s.scores),), s.p, "With scores of 0 nothing changes."),
    )
    unchanged(student.call("weights_round", *s))


# --- ex05.4 ---------------------------------------------------------------------------------------

CONDITIONS, SEEDS = [(2.0, False), (2.0, True), (4.0, False), (4.0, True)], range(6)


@rest(points=1, function="predict_4", aspect="a prediction from the list")
def test_prediction(student: Student) -> None:
    check_prediction(student, "predict_4", ("to 1", "to 1/2", "in between"))


@rest(points=4, function="table_4", aspect="the table of all conditions and seeds")
def test_table(student: Student) -> None:
    check_table(student, "table_4", better_share, CONDITIONS, SEEDS)


@rest(points=4, function="interval_4", aspect="the interval of paired runs")
def test_interval(student: Student) -> None:
    check_interval(student, "interval_4")


@rest(points=3, function="reading_4", aspect="three sentences, which your instructor reads")
def test_sentences(student: Student, record_property: Callable[[str, str], None]) -> None:
    record_property("reading", check_sentences(student, "reading_4"))

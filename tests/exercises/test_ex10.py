"""Exercise 10, reading the tables: 23 points."""

import random
from collections.abc import Callable
from functools import partial

import pytest
from experiment import check_interval, check_prediction, check_sentences, check_table
from mistakes_ex10 import (
    DIFFERENCE,
    HOLM,
    VERDICT,
    WORDS,
    by_fractions,
    by_rejections,
    by_table,
)
from support import each_part, right

from fedlab_edu.experiments.selection import printed_error
from fedlab_grade.checks import Answer, Case, Failure, check, composite, unchanged
from fedlab_grade.student import Student

difference = partial(pytest.mark.q, "ex10.1", function="difference", minutes=20)
holm = partial(pytest.mark.q, "ex10.2", function="holm", minutes=25)
verdict = partial(pytest.mark.q, "ex10.3", function="verdict", minutes=10)
chosen = partial(pytest.mark.q, "ex10.4", minutes=60)

# --- ex10.1 ---------------------------------------------------------------------------------------


def check_difference(student: Student, only: str, *cases: Case) -> None:
    other = Case(([9.0, 12.5, 11.0, 14.0], [10.0, 11.0, 13.5, 12.0], 3.0))
    ask = partial(student.call, "difference")
    check(ask, DIFFERENCE, cases, [other], names=("mean", "half"), only=only)


@each_part(difference, "a case computed by hand", mean=1, half=1)
def test_difference_by_hand(student: Student, only: str) -> None:
    rule = "The differences are -1, -3 and -2: mean -2, deviation 1, and 3 * 1 / sqrt(3)."
    case = Case(([9.0, 9.0, 10.0], [10.0, 12.0, 12.0], 3.0), (-2.0, 3**0.5), rule)
    check_difference(student, only, case)


@each_part(difference, "drawn errors, without rounding", mean=0.5, half=1)
def test_difference_is_that_of_fractions(student: Student, only: str) -> None:
    rng, cases = random.Random(3), []
    for n in (2, 5, 11):
        errors = [[round(rng.uniform(5, 60), 2) for _ in range(n)] for _ in range(2)]
        cases.append(Case((*errors, 2.5), by_fractions(*errors, 2.5), f"{n} seeds."))
    check_difference(student, only, *cases)


@difference(points=0.5, aspect="equal methods; numbers as floats; arguments untouched")
def test_difference_of_equal_methods_is_zero(student: Student) -> None:
    case = Case(([7.0, 8.0], [7.0, 8.0], 12.7), (0.0, 0.0), "All differences are 0.")
    check_difference(student, "", case)
    unchanged(student.call("difference", [7.0, 9.0], [8.0, 7.5], 12.7))


# --- ex10.2 ---------------------------------------------------------------------------------------


def check_holm(student: Student, *cases: Case) -> None:
    other = Case(([0.2, 0.015, 0.4, 0.02, 0.011],))
    check(partial(student.call, "holm"), HOLM, cases, [other])


@holm(points=2, aspect="a case computed by hand")
def test_holm_by_hand(student: Student) -> None:
    rule = "4 * 0.01; 3 * 0.02; 2 * 0.03; and 0.04, but not below the 0.06 before it."
    check_holm(student, Case(([0.04, 0.01, 0.03, 0.02],), [0.06, 0.04, 0.06, 0.06], rule))


@holm(points=2, aspect="drawn p-values, by the step-down procedure")
def test_holm_is_the_smallest_level_that_rejects(student: Student) -> None:
    rng = random.Random(5)
    drawn = [[round(rng.random() ** 3, 4) for _ in range(m)] for m in (3, 6, 12)]
    check_holm(student, *(right(by_rejections, p, f"{len(p)} p-values.") for p in drawn))


@holm(points=1, aspect="one p-value, none, ties, and at most 1; arguments untouched")
def test_holm_at_the_edges(student: Student) -> None:
    check_holm(
        student,
        Case(([0.03],), [0.03], "A single p-value stays."),
        Case(([0.6, 0.7],), [1.0, 1.0], "2 * 0.6 is above 1."),
        Case(([0.02, 0.02],), [0.04, 0.04], "Equal p-values stay equal."),
    )
    unchanged(student.call("holm", [0.4, 0.01, 0.03]))


# --- ex10.3 ---------------------------------------------------------------------------------------


def word(student: Student, *arguments: float) -> Answer:
    """Return the answer once it is one of the four words."""
    answer = student.call("verdict", *arguments)
    if answer.value not in WORDS:
        listed = ", ".join(map(repr, WORDS))
        raise Failure(f"{answer} returned {str(answer.value)[:80]!r}, expected one of {listed}.")
    return answer


def check_verdict(student: Student, *arguments: tuple[float, float, int]) -> None:
    cases = [Case(each, by_table(*each)) for each in arguments]
    others = [Case(one) for one in ((-2.0, 0.01, 9), (2.0, 0.01, 5), (1.0, 0.9, 3), (1.0, 0.5, 8))]
    check(partial(word, student), VERDICT, cases, others)


@verdict(points=1, aspect="claims with enough seeds")
def test_verdict_follows_from_sign_and_p_value(student: Student) -> None:
    check_verdict(
        student, (-1.5, 0.001, 20), (1.5, 0.001, 20), (-1.5, 0.2, 20), (1.5, 0.2, 20), (0.0, 1.0, 9)
    )


@verdict(points=1, aspect="at the edges: 4 and 5 seeds, p = 0.05")
def test_verdict_at_the_edges(student: Student) -> None:
    check_verdict(
        student, (-1.5, 0.0, 4), (-1.5, 0.001, 5), (2.0, 0.9, 2), (-3.0, 0.05, 10), (3.0, 0.05, 10)
    )


# --- ex10.4 ---------------------------------------------------------------------------------------

CONDITIONS, SEEDS = [("validation", 5), ("test", 5)], range(8)


@chosen(points=1, function="predict_4", aspect="a prediction from the list")
def test_prediction(student: Student) -> None:
    allowed = ("not at all", "by less than half a point", "by half a point or more")
    check_prediction(student, "predict_4", allowed)


@chosen(points=4, function="table_4", aspect="the table of all conditions and seeds")
def test_table(student: Student) -> None:
    check_table(student, "table_4", printed_error, CONDITIONS, SEEDS)


@chosen(points=4, function="interval_4", aspect="the interval of paired runs")
@composite(difference=by_fractions)
def test_interval(student: Student) -> None:
    check_interval(student, "interval_4")


@chosen(points=3, function="reading_4", aspect="three sentences, which your instructor reads")
def test_sentences(student: Student, record_property: Callable[[str, str], None]) -> None:
    record_property("reading", check_sentences(student, "reading_4"))

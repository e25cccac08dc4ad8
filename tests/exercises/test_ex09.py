"""Exercise 9, a round that survives missing answers: 25 points."""

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from experiment import check_interval, check_prediction, check_sentences, check_table
from mistakes_ex09 import (
    AVERAGE,
    COUNTED,
    LAST,
    WAIT,
    Answers,
    Round,
    Tries,
    by_clients,
    by_looking_back,
    by_sums,
    by_tries,
)
from support import ask, each_part, floats, right

from fedlab_edu.experiments.deadline import slow_error
from fedlab_grade.checks import Answer, Case, check, unchanged
from fedlab_grade.student import Student

who = partial(pytest.mark.q, "ex09.1", function="counted", minutes=20)
average = partial(pytest.mark.q, "ex09.2", function="average_of", minutes=15)
wait = partial(pytest.mark.q, "ex09.3", function="wait_for", minutes=20)
last = partial(pytest.mark.q, "ex09.4", function="last_counted", minutes=10)
deadline = partial(pytest.mark.q, "ex09.5", minutes=60)
NAN, INF = math.nan, math.inf

# --- ex09.1 ---------------------------------------------------------------------------------------

who_right = partial(right, by_clients)


def ask_who(student: Student, s: Answers) -> Answer:
    causes = {
        "truth value of an array": "`and` and `a <= x <= b` ask for one answer, but each client "
        "has its own: join the comparisons with &, each in parentheses",
        "shapes (3,) (3,2)": "each client has two errors: .all(axis=1) makes one answer of the two",
        "invalid value": "a model may hold inf: do not subtract before you know that it is finite",
    }
    return ask(student, causes, "counted", *s)


def check_who(student: Student, *cases: Case) -> None:
    others = [Case((answers(k, 9, 4),)) for k in (21, 22, 23)]
    check(partial(ask_who, student), COUNTED, cases, others)


def answers(seed: int, B: int, d: int) -> Answers:
    """Drawn answers, about half of which have a fault, each of another kind."""
    rng = np.random.default_rng(seed)
    w = rng.normal(size=d).round(2)
    models = w + rng.normal(size=(B, d)).round(2)
    errors, seconds = rng.uniform(size=(B, 2)).round(2), rng.uniform(0, 10, B).round(1)
    announced = rng.integers(5, 30, B)
    n, fault = announced.copy(), rng.integers(0, 9, B)
    models[fault == 0, 0], models[fault == 1, -1] = INF, NAN
    errors[fault == 2, 0], errors[fault == 3, 1] = 1.5, -0.5
    n = n + 3 * (fault == 4) - 3 * (fault == 5)
    errors[fault == 6, 0] = NAN
    seconds[fault == 7] = INF
    return Answers(w, models, errors, n, announced, seconds, 8.0, 1.2 * math.sqrt(d))


GOOD = Answers(
    floats(1, 2), floats([1, 2], [4, 6], [1, 3]), floats([0.5, 0.25], [0, 1], [1, 0]),
    np.array([10, 20, 30]), np.array([10, 20, 30]), floats(1, 2, 5), 5.0, 5.0,
)  # fmt: skip


def spoilt(**changes: tuple[int, object]) -> Answers:
    """The good answers, with one client's part of some arrays replaced."""
    fields = {}
    for name, (i, value) in changes.items():
        fields[name] = getattr(GOOD, name).copy()
        fields[name][i] = value
    return GOOD._replace(**fields)


@who(points=1.5, aspect="single faults, by hand")
def test_who_by_hand(student: Student) -> None:
    one = [True, False, True]
    check_who(
        student,
        Case((GOOD,), np.array([True] * 3), "All count: model 1 is 5 away, answer 2 took 5 s."),
        Case((spoilt(seconds=(1, 5.5)),), np.array(one), "Client 1 is late."),
        Case((spoilt(models=(1, [NAN, 2])),), np.array(one), "Model 1 has NaN."),
        Case((spoilt(models=(1, [4, 7])),), np.array(one), "Model 1 is sqrt(34) > 5 away."),
        Case((spoilt(errors=(1, [-0.25, 0.5])),), np.array(one), "Error -0.25 of client 1."),
        Case((spoilt(n=(1, 21)),), np.array(one), "Client 1 had announced 20 examples."),
    )


@who(points=1, aspect="drawn answers, client by client")
def test_who_is_that_of_loops(student: Student) -> None:
    sizes = (6, 2), (9, 5), (12, 3), (20, 4)
    check_who(student, *(who_right(answers(k, *size)) for k, size in enumerate(sizes)))


@who(points=1, aspect="NaN, inf, no answer at all; a bound of inf; one client")
def test_who_at_the_edges(student: Student) -> None:
    free = GOOD._replace(largest=INF)
    far = spoilt(models=(1, [1e6, 2]))._replace(largest=INF)
    gone = GOOD._replace(seconds=floats(INF, INF, INF))
    check_who(
        student,
        who_right(free, "largest is inf."),
        who_right(far, "largest is inf: a model may be anywhere."),
        who_right(spoilt(models=(0, [INF, 2]))._replace(largest=INF), "Model 0 has inf."),
        who_right(spoilt(errors=(2, [0.5, NAN])), "An error is NaN."),
        who_right(spoilt(errors=(2, [INF, 0.5])), "An error is inf."),
        who_right(spoilt(n=(2, 29)), "Client 2 had announced 30 examples."),
        who_right(gone, "No answer has come."),
    )


@who(points=0.5, aspect="clients in another order; arguments untouched", invariant=True)
def test_who_knows_no_order(student: Student) -> None:
    s, order = answers(9, 8, 3), [3, 0, 5, 1, 4, 2, 7, 6]
    want = by_clients(s)
    moved = Answers(s.w, *(x[order] for x in s[1:6]), *s[6:])
    check_who(student, Case((s,), want), Case((moved,), want[order], "Another order of clients."))
    unchanged(ask_who(student, s))


# --- ex09.2 ---------------------------------------------------------------------------------------

average_right = partial(right, by_sums)


def ask_average(student: Student, s: Round) -> Answer:
    causes = {"invalid value": "what does not count may hold inf or NaN: leave it out first"}
    return ask(student, causes, "average_of", *s)


def check_average(student: Student, *cases: Case) -> None:
    others = [Case((models(k, 6, 3),)) for k in (21, 22)]
    check(partial(ask_average, student), AVERAGE, cases, others)


def models(seed: int, B: int, d: int, broken: bool = False) -> Round:
    rng = np.random.default_rng(seed)
    here = rng.uniform(size=B) < 0.6
    here[:2] = True, False
    found = rng.normal(size=(B, d)).round(2)
    if broken:
        found[~here] = rng.choice([INF, NAN, 1e30], size=(int((~here).sum()), d))
    return Round(rng.normal(size=d).round(2), found, rng.integers(5, 30, B), here)


SOME = np.array([True, False, True])


@average(points=1, aspect="a case computed by hand")
def test_average_by_hand(student: Student) -> None:
    s = Round(floats(9, 9), floats([1, 2], [7, 7], [5, 6]), np.array([30, 50, 10]), SOME)
    check_average(student, Case((s,), floats(2, 3), "The weights are 30/40 and 10/40."))


@average(points=1, aspect="drawn models, without NaN and with it")
def test_average_is_that_of_loops(student: Student) -> None:
    sizes = (5, 3, False), (8, 4, False), (6, 2, True), (9, 5, True)
    check_average(student, *(average_right(models(k, *size)) for k, size in enumerate(sizes)))


@average(points=0.5, aspect="nobody, one and all count")
def test_average_at_the_edges(student: Student) -> None:
    s = models(7, 5, 3)
    nobody = s._replace(here=np.zeros(5, dtype=bool))
    check_average(
        student,
        Case((nobody,), s.w, "Nobody counts: the model stays."),
        Case((s._replace(here=np.arange(5) == 3),), s.models[3], "Only client 3 counts."),
        average_right(s._replace(here=np.ones(5, dtype=bool)), "All count."),
        average_right(nobody._replace(models=s.models * NAN), "Nobody counts; all models are NaN."),
    )


@average(points=0.5, aspect="scale of the weights; arguments untouched", invariant=True)
def test_average_knows_no_scale(student: Student) -> None:
    s = models(8, 7, 3)
    want = by_sums(s)
    tenfold = Case((s._replace(n=10 * s.n),), want, "All have ten times as many examples.")
    check_average(student, Case((s,), want), tenfold)
    unchanged(ask_average(student, models(9, 6, 2, True)))


# --- ex09.3 ---------------------------------------------------------------------------------------


def wait_right(s: Tries, rule: str = "") -> Case:
    return Case((s,), by_tries(s), rule)


def check_wait(student: Student, *cases: Case, only: str = "") -> None:
    others = [Case((tries(k, 3, 5, least),)) for k, least in ((21, 3), (22, 4), (23, 2), (24, 5))]

    def ask_wait(s: Tries) -> Answer:
        return student.call("wait_for", *s)

    check(ask_wait, WAIT, cases, others, names=("elapsed", "here"), only=only)


def tries(seed: int, T: int, B: int, least: int) -> Tries:
    rng = np.random.default_rng(seed)
    seconds = rng.uniform(0, 8, size=(T, B)).round(1)
    seconds[rng.uniform(size=(T, B)) < 0.15] = INF
    return Tries(seconds, 5.0, least)


@each_part(wait, "cases computed by hand", elapsed=1, here=0.5)
def test_wait_by_hand(student: Student, only: str) -> None:
    seconds = floats([1, 9, INF], [2, 4, 7], [3, 3, 3])
    check_wait(
        student,
        Case((Tries(seconds, 5.0, 1),), (5.0, np.array([1, 0, 0], bool)), "One is enough."),
        Case(
            (Tries(seconds, 5.0, 2),),
            (10.0, np.array([1, 1, 0], bool)),
            "One has answered in the first try, and two in the second: 5 + 5 seconds.",
        ),
        Case(
            (Tries(seconds, 5.0, 3),),
            (13.0, np.array([1, 1, 1], bool)),
            "Two tries fail at the deadline, and the third ends after 3 seconds.",
        ),
        only=only,
    )


@each_part(wait, "drawn times, try by try", elapsed=1, here=0.5)
def test_wait_is_that_of_loops(student: Student, only: str) -> None:
    sizes = (2, 4, 3), (3, 6, 4), (4, 5, 4), (1, 7, 2)
    cases = [wait_right(tries(k, *size)) for k, size in enumerate(sizes)]
    check_wait(student, *cases, only=only)


@each_part(wait, "at the deadline, exactly enough, given up", elapsed=0.5, here=0.25)
def test_wait_at_the_edges(student: Student, only: str) -> None:
    early = floats([1, 2, 3])
    check_wait(
        student,
        wait_right(Tries(early, 3.0, 3), "The last answer comes at the deadline."),
        wait_right(Tries(early, 9.0, 1), "All have answered long before the deadline."),
        wait_right(Tries(floats([1, 6, 6], [6, 1, 6]), 5.0, 2), "The server gives up."),
        wait_right(Tries(floats([INF, INF]), 4.0, 1), "Nobody ever answers."),
        wait_right(Tries(floats([2.0]), 4.0, 1), "There is one client."),
        only=only,
    )


@wait(points=0.25, aspect="arguments untouched")
def test_wait_changes_nothing(student: Student) -> None:
    s = tries(9, 3, 5, 3)
    check_wait(student, wait_right(s))
    unchanged(student.call("wait_for", *s))


# --- ex09.4 ---------------------------------------------------------------------------------------


def check_last(student: Student, *cases: Case) -> None:
    others = [Case(([[0, 2], [3], [2, 1], []], 5)), Case(([[1], [0, 4], [4]], 6))]
    check(partial(student.call, "last_counted"), LAST, cases, others)


def last_right(rounds: list[list[int]], clients: int, rule: str = "") -> Case:
    return Case((rounds, clients), by_looking_back(rounds, clients), rule)


@last(points=1, aspect="a case by hand, and drawn rounds")
def test_last_by_hand_and_drawn(student: Student) -> None:
    rng = np.random.default_rng(5)
    drawn = [[int(i) for i in rng.permutation(6)[: rng.integers(0, 4)]] for _ in range(7)]
    check_last(
        student,
        Case(([[2, 0], [1], [2]], 4), np.array([0, 1, 2, -1]), "Client 3 never counted."),
        last_right(drawn, 6),
        last_right(drawn[:4], 8),
    )


@last(points=1, aspect="no round, empty rounds, one client; arguments untouched")
def test_last_at_the_edges(student: Student) -> None:
    check_last(
        student,
        Case(([], 3), np.array([-1, -1, -1]), "There was no round."),
        Case(([[], [1], []], 2), np.array([-1, 1]), "In rounds 0 and 2 nobody counted."),
        Case(([[0], [0]], 1), np.array([1]), "There is one client."),
    )
    unchanged(student.call("last_counted", [[2, 0], [1], [2]], 4))


# --- ex09.5 ---------------------------------------------------------------------------------------

CONDITIONS, SEEDS = [(6.0, True), (1.5, True)], range(8)


@deadline(points=1, function="predict_5", aspect="a prediction from the list")
def test_prediction(student: Student) -> None:
    check_prediction(student, "predict_5", ("higher", "as high", "lower"))


@deadline(points=4, function="table_5", aspect="the table of all conditions and seeds")
def test_table(student: Student) -> None:
    check_table(student, "table_5", slow_error, CONDITIONS, SEEDS)


@deadline(points=4, function="interval_5", aspect="the interval of paired runs")
def test_interval(student: Student) -> None:
    check_interval(student, "interval_5")


@deadline(points=3, function="reading_5", aspect="three sentences, which your instructor reads")
def test_sentences(student: Student, record_property: Callable[[str, str], None]) -> None:
    record_property("reading", check_sentences(student, "reading_5"))

"""Exercise 4, FedEx by hand: 40 points."""

import math
import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import pytest
import torch
from experiment import check_interval, check_prediction, check_sentences, check_table
from mistakes_ex04 import (
    BASELINE,
    COMMITTED,
    EXPONENTIATED,
    FIRST,
    GRADIENT,
    NEXT_TRACE,
    RACES,
    ROUND,
    Halved,
    Round,
    Scores,
    by_decimals,
    by_fractions,
    by_sums,
    by_the_book,
    estimate,
    exponentiated,
    mean_before,
    moved,
    raced,
)
from support import (
    MEANS_AT_THE_EDGES,
    MEANS_BY_HAND,
    OUTSIDE,
    TRACE,
    ask,
    ask_mean,
    draw_means,
    each_part,
    real,
    right,
)
from torch import Tensor

from fedlab_edu.experiments.first_round import error_found
from fedlab_grade.checks import Answer, Case, check, composite, form, parts, unchanged
from fedlab_grade.student import Student

gradient = partial(pytest.mark.q, "ex04.1", function="gradient", minutes=25)
exponentiate = partial(pytest.mark.q, "ex04.2", function="exponentiate", minutes=20)
baseline = partial(pytest.mark.q, "ex04.3", function="baseline", minutes=15)
fedex_round = partial(pytest.mark.q, "ex04.4", function="fedex_round", minutes=40)
theta_after = partial(pytest.mark.q, "ex04.4", function="theta_after", minutes=40)
fedex_in_halving = partial(pytest.mark.q, "ex04.5", function="fedex_in_halving", minutes=30)
first_round = partial(pytest.mark.q, "ex04.6", minutes=60)

# What stands in for the student's own parts, so that a mistake in a part is charged once.
PARTS = {
    "gradient": lambda *s: estimate(Scores(*s)),
    "exponentiate": exponentiated,
    "baseline": mean_before,
}


def by_rule(*arguments: Any) -> tuple[Tensor, list[float]]:
    s = Round(*arguments)
    return moved(s), [*s.trace, s.mean]


def rows(*row: int) -> Tensor:
    return torch.tensor(row)


# --- ex04.1 ---------------------------------------------------------------------------------------


def check_gradient(student: Student, *cases: Case) -> None:
    other = drawn_scores(random.Random(12), 4, 7)
    check(lambda s: student.call("gradient", *s), GRADIENT, cases, [Case((other,))])


def drawn_scores(rng: random.Random, k: int, clients: int) -> Scores:
    """One row is used by nobody, the others in turn: with k clients or more, some share a row."""
    weights = [rng.randrange(1, 20) for _ in range(k)]
    theta = real(*(w / sum(weights) for w in weights))
    used = rng.sample(range(k), k - 1)
    row = rows(*(used[i % len(used)] for i in rng.sample(range(clients), clients)))
    score = real(*(rng.randrange(1, 100) / 100 for _ in range(clients)))
    size = real(*(rng.randrange(1, 60) for _ in range(clients)))
    return Scores(theta, row, score, size, rng.randrange(10, 90) / 100)


@gradient(points=1, aspect="a case computed by hand")
def test_gradient_by_hand(student: Student) -> None:
    s = Scores(real(0.5, 0.25, 0.25), rows(1, 0), real(0.75, 0.5), real(10, 30), 0.25)
    rule = "The shares of the sizes are 1/4 and 3/4; 1/4 * 0.5 / 0.25 is 0.5, 3/4 * 0.25 / 0.5 is"
    check_gradient(student, Case((s,), real(0.375, 0.5, 0), f"{rule} 0.375."))


@gradient(points=1, aspect="several clients with the same row, by hand")
def test_gradient_adds_up_over_the_clients_of_a_row(student: Student) -> None:
    s = Scores(real(0.25, 0.75), rows(1, 0, 1), real(1, 0.5, 0.75), real(3, 2, 3), 0.5)
    rule = "Row 1 has two clients: (3/8 * 0.5 + 3/8 * 0.25) / 0.75 is 0.375."
    same = Scores(real(0.5, 0.5), rows(0, 0, 0, 0), real(3, 1, 0, 2), real(1, 1, 1, 1), 1.0)
    all_of_them = "All clients have row 0: (2 + 0 - 1 + 1) / 4 / 0.5 is 1."
    check_gradient(
        student, Case((s,), real(0, 0.375), rule), Case((same,), real(1, 0), all_of_them)
    )


@gradient(points=1, aspect="rows that nobody used, even with theta_j = 0; arguments untouched")
def test_gradient_is_zero_for_rows_that_nobody_used(student: Student) -> None:
    some = Scores(real(0.2, 0.3, 0.4, 0.1), rows(2, 2), real(0.6, 0.8), real(1, 1), 0.5)
    zero = Scores(real(0, 0.5, 0.5, 0), rows(1, 2, 1), real(0.5, 1, 1), real(2, 1, 1), 0.25)
    rule = "Rows 0, 1 and 3 are used by nobody."
    also = "Rows 0 and 3 are used by nobody, and have the probability 0."
    check_gradient(
        student,
        Case((some,), real(0, 0, 0.5, 0), rule),
        Case((zero,), real(0, 0.625, 0.375, 0), also),
    )
    unchanged(student.call("gradient", *some))


@gradient(points=1, aspect="drawn rounds, without rounding")
def test_gradient_is_that_of_fractions(student: Student) -> None:
    rng = random.Random(1)
    sizes = (3, 5), (4, 2), (5, 10), (6, 6), (2, 1)
    drawn = [drawn_scores(rng, k, clients) for k, clients in sizes]
    check_gradient(student, *[Case((s,), by_fractions(s)) for s in drawn])


@gradient(points=1, aspect="unbiased up to lambda: the mean over all assignments of rows")
def test_gradient_is_unbiased_up_to_the_baseline(student: Student) -> None:
    def mean(rule: Callable[[Scores], Tensor], s: Scores, losses: Tensor) -> Tensor:
        """Return the mean over the k^B rounds that clients can draw, weighted by theta."""
        clients, total = torch.arange(len(losses)), 0.0
        for drawn in product(range(len(s.theta)), repeat=len(losses)):
            row = rows(*drawn)
            one = s._replace(row=row, score=losses[clients, row])
            total = total + s.theta[row].prod() * rule(one)
        return total

    def ask(s: Scores, losses: Tensor) -> Answer:
        def own(s: Scores) -> Tensor:
            return form(student.call("gradient", *s), like=s.theta)

        answer = student.call("gradient", *s)
        given = list(answer.given.items())
        return replace(answer, value=mean(own, s, losses), given=dict(given[:1] + given[3:]))

    rule = (
        "Averaged over all rounds that can be drawn from theta, g_j must be the mean score of row "
        "j, weighted by size, minus lambda."
    )
    rng, cases = random.Random(2), []
    for k, clients in ((3, 2), (2, 3), (4, 2)):
        s = drawn_scores(rng, k, clients)
        losses = real(*([rng.randrange(100) / 100 for _ in range(k)] for _ in range(clients)))
        mean_scores = real(*(sum(s.size * losses[:, j]) / sum(s.size) for j in range(k)))
        cases.append(Case((s, losses), mean_scores - s.lam, rule))
    check(ask, {mistake: partial(mean, rule) for mistake, rule in GRADIENT.items()}, cases)


@gradient(points=1, aspect="neither the order of the clients nor the scale of the sizes matters")
def test_gradient_knows_no_order_and_no_scale(student: Student) -> None:
    s = drawn_scores(random.Random(3), 4, 6)
    want, order = by_fractions(s), torch.tensor([3, 0, 5, 1, 4, 2])
    other = s._replace(row=s.row[order], score=s.score[order], size=s.size[order])
    check_gradient(
        student,
        Case((s,), want),
        Case((other,), want, "Listing the clients in another order must change nothing."),
        Case((s._replace(size=8 * s.size),), want, "Multiplying the sizes must change nothing."),
    )


# --- ex04.2 ---------------------------------------------------------------------------------------


def check_step(student: Student, *cases: Case) -> None:
    other = *drawn_step(random.Random(13), 5), 0.4
    check(partial(ask, student, OUTSIDE, "exponentiate"), EXPONENTIATED, cases, [Case(other)])


def log(*theta: float) -> Tensor:
    return real(*theta).log()


def exact(z: Tensor, g: Tensor, eta: float, rule: str = "") -> Case:
    return Case((z, g, eta), by_decimals(z, g, eta), rule)


def drawn_step(rng: random.Random, k: int) -> tuple[Tensor, Tensor]:
    weights = [rng.randrange(1, 20) for _ in range(k)]
    g = real(*(rng.randrange(-300, 300) / 100 for _ in range(k)))
    return log(*(w / sum(weights) for w in weights)), g


@exponentiate(points=1, aspect="a case computed by hand")
def test_step_by_hand(student: Student) -> None:
    rule = (
        "theta = [1/2, 1/4, 1/4] times [1/4, 1, 2] is [1/8, 1/4, 1/2], with the sum 7/8; expected "
        "are the logarithms of [1/7, 2/7, 4/7]."
    )
    g = real(4 * math.log(2), 0, -2 * math.log(2))
    want = log(1 / 7, 2 / 7, 4 / 7)
    check_step(student, Case((log(0.5, 0.25, 0.25), g, 0.5), want, rule))


@exponentiate(points=1, aspect="drawn steps, with 40 digits; with eta = 0 z stays")
def test_step_is_that_of_powers(student: Student) -> None:
    rng, cases = random.Random(4), []
    for k, eta in ((3, 0.7), (5, 2.5), (8, 0.1), (2, 1.0)):
        cases.append(exact(*drawn_step(rng, k), eta))
    z, g = drawn_step(rng, 4)
    check_step(student, *cases, Case((z, g, 0.0), z, "With eta = 0 nothing changes."))


@exponentiate(points=1, aspect="entries of g up to 100000, and entries -inf of z")
def test_step_stays_in_the_logarithms(student: Student) -> None:
    z, huge = log(0.5, 0.3, 0.2), "Entries of g are large."
    gone = "Entry 1 of z is -inf, as theta_1 is 0, and stays -inf."
    check_step(
        student,
        exact(z, real(0.5, -0.25, 1), 0.8),
        exact(log(0.4, 0, 0.6), real(0.5, 0, -0.25), 0.8, gone),
        exact(z, real(1e5, 0, -3), 1.0, huge),
        exact(z, real(0, 2e4, -1e5), 1.0, huge),
        exact(z, real(1e5, 1e5 + 2, 1e5 + 1), 1.0, huge),
        exact(real(-5000, 0, -900), real(-4000, 200, 0), 1.0, "Probabilities are tiny."),
    )


@exponentiate(points=1, aspect="exp sums to 1, and a constant plays no part; arguments untouched")
def test_step_does_not_see_a_constant(student: Student) -> None:
    z, g = drawn_step(random.Random(5), 4)
    want = by_decimals(z, g, 0.6)
    check_step(
        student,
        Case((z, g, 0.6), want),
        Case((z + 3, g, 0.6), want, "A constant that is added to z must change nothing."),
        Case((z, g - 5, 0.6), want, "A constant that is added to g must change nothing."),
        Case((real(0), real(7), 0.6), real(0), "With one row its probability is 1."),
    )
    unchanged(student.call("exponentiate", z, g, 0.6))


# --- ex04.3 ---------------------------------------------------------------------------------------


def ask_baseline(student: Student, trace: list[float], gamma: float) -> Answer:
    if trace:
        return ask_mean(student, "baseline", trace, gamma)
    return ask(student, {"": FIRST}, "baseline", trace, gamma)


def check_baseline(student: Student, *cases: Case) -> None:
    other = [0.3, 0.9, 0.4, 0.8], 0.6
    check(partial(ask_baseline, student), BASELINE, cases, [Case(other)])


@baseline(points=1, aspect="a case computed by hand")
def test_baseline_by_hand(student: Student) -> None:
    check_baseline(student, *MEANS_BY_HAND)


@baseline(points=1, aspect="drawn traces, by running sums")
def test_baseline_is_that_of_running_sums(student: Student) -> None:
    check_baseline(student, *draw_means())


@baseline(points=1, aspect="the first round, where the trace is empty")
def test_baseline_of_the_first_round_is_zero(student: Student) -> None:
    second = Case(([0.75], 0.5), 0.75, "With one entry it is this entry.")
    first = [Case(([], gamma), 0.0, "The trace is empty.") for gamma in (0.5, 0.0, 1.0)]
    check_baseline(student, second, *first)


@baseline(points=1, aspect="gamma = 0 and 1; equal entries; arguments untouched")
def test_baseline_at_the_edges(student: Student) -> None:
    check_baseline(student, *MEANS_AT_THE_EDGES)
    unchanged(student.call("baseline", TRACE, 0.5))


# --- ex04.4 ---------------------------------------------------------------------------------------


def played(student: Student, s: Round) -> list[Answer]:
    still = "where all g_j are 0, eta is 0" if (s.score == s.lam).all() else ""
    causes = {"ZeroDivisionError": still if s.trace else FIRST}
    return parts(ask(student, causes, "fedex_round", *s), "z", "trace")


def check_z(student: Student, *cases: Case) -> None:
    check(lambda s: played(student, s)[0], ROUND, cases, other_rounds())


def check_trace(student: Student, *cases: Case) -> None:
    check(lambda s: played(student, s)[1], NEXT_TRACE, cases, other_rounds())


def other_rounds() -> list[Case]:
    rng = random.Random(14)
    return [Case((drawn_round(rng, *size),)) for size in ((4, 7, 0), (5, 3, 4))]


def drawn_round(rng: random.Random, k: int, clients: int, rounds: int) -> Round:
    s = drawn_scores(rng, k, clients)
    trace = [rng.randrange(200, 800) / 1000 for _ in range(rounds)]
    return Round(s.theta.log(), trace, s.row, s.score, s.size, rng.randrange(1, 10) / 10)


played_right = partial(right, by_the_book)


def mean_added(s: Round, rule: str = "") -> Case:
    sizes = s.size.tolist()
    total = math.fsum(n * x for n, x in zip(sizes, s.score.tolist(), strict=True))
    return Case((s,), [*s.trace, total / sum(sizes)], rule)


def round_by_hand() -> Round:
    z = log(0.5, 0.25, 0.25)
    return Round(z, [0.25, 0.625], rows(0, 1), real(0.9, 0.3), real(1, 3), 0.5)


@fedex_round(points=1, aspect="the next z, by hand")
@composite(**PARTS)
def test_round_by_hand(student: Student) -> None:
    s = round_by_hand()
    c = math.sqrt(2 * math.log(3))
    factors = real(math.exp(-c / 3), math.exp(c), 1)
    theta = real(0.5, 0.25, 0.25) * factors
    rule = (
        "lambda is (0.5 * 0.25 + 0.625) / 1.5 = 0.5, and g is [0.2, -0.6, 0], so that eta is "
        "sqrt(2 ln 3) / 0.6."
    )
    first = s._replace(trace=[], z=log(0.5, 0.5), score=real(0.8, 0.4))
    root = math.sqrt(2 * math.log(2))
    moved = real(math.exp(-root * 2 / 3), math.exp(-root))
    also = "In the first round lambda is 0; g is [0.4, 0.6], and eta sqrt(2 ln 2) / 0.6."
    check_z(
        student,
        Case((s,), (theta / theta.sum()).log(), rule),
        Case((first,), (moved / moved.sum()).log(), also),
    )


@fedex_round(points=1, aspect="the next trace, by hand and drawn")
@composite(**PARTS)
def test_round_adds_its_mean_score_to_the_trace(student: Student) -> None:
    s = round_by_hand()
    rule = "The mean score of this round is (1 * 0.9 + 3 * 0.3) / 4 = 0.45."
    first = s._replace(trace=[])
    rng = random.Random(7)
    check_trace(
        student,
        Case((s,), [0.25, 0.625, 0.45], rule),
        Case((first,), [0.45], f"{rule} It is the first round."),
        *[mean_added(drawn_round(rng, k, b, t)) for k, b, t in ((3, 5, 4), (5, 3, 1), (4, 8, 6))],
    )


@fedex_round(points=1, aspect="drawn rounds, with fractions and 40 digits")
@composite(**PARTS)
def test_round_is_that_of_fractions(student: Student) -> None:
    rng = random.Random(8)
    sizes = (3, 6, 0), (4, 2, 3), (5, 8, 1), (6, 5, 7), (9, 4, 0)
    check_z(student, *[played_right(drawn_round(rng, *size)) for size in sizes])


@fedex_round(points=1, aspect="nothing to learn from: all g_j are 0, or there is one row only")
@composite(**PARTS)
def test_round_without_a_step(student: Student) -> None:
    still = Round(log(0.5, 0.25, 0.25), [0.5, 0.5], rows(0, 2, 2), real(0.5, 0.5, 0.5),
        real(2, 1, 1), 0.5)  # fmt: skip
    one = Round(real(0), [0.25], rows(0, 0), real(0.75, 0.5), real(1, 3), 0.5)
    gone = Round(log(0.6, 0, 0.4), [0.5], rows(0, 2), real(0.75, 0.25), real(1, 1), 0.5)
    rng = random.Random(9)
    check_z(
        student,
        played_right(drawn_round(rng, 4, 5, 2)),
        Case((still,), still.z, "All scores are lambda, so that all g_j are 0."),
        Case((one,), real(0), "With one row its probability is 1."),
        played_right(gone, "theta_1 is 0, and stays 0."),
    )


@fedex_round(points=1, aspect="one client in the first round: its score plays no part")
@composite(**PARTS)
def test_one_client_moves_theta_by_the_same_whatever_its_score(student: Student) -> None:
    rng, cases = random.Random(10), []
    for k, j in ((3, 0), (4, 2), (27, 5)):
        theta = drawn_scores(rng, k, 1).theta
        after = theta.clone()
        after[j] *= math.exp(-math.sqrt(2 * math.log(k)))
        want = (after / after.sum()).log()
        for score in (0.0625, 0.75, 64.0):
            rule = f"One client with row {j} and lambda = 0: the score {score} plays no part."
            s = Round(theta.log(), [], rows(j), real(score), real(8), 0.5)
            cases.append(Case((s,), want, rule))
    check_z(student, *cases)


@fedex_round(points=1, aspect="neither order nor scales matter; arguments untouched")
@composite(**PARTS)
def test_round_knows_no_order_and_no_scale(student: Student) -> None:
    s = drawn_round(random.Random(11), 5, 6, 3)
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    other = s._replace(row=s.row[order], score=s.score[order], size=s.size[order])
    twice = s._replace(trace=[2 * x for x in s.trace], score=2 * s.score)
    want = by_the_book(s)
    check_z(
        student,
        Case((s,), want),
        Case((other,), want, "Listing the clients in another order must change nothing."),
        Case((s._replace(size=8 * s.size),), want, "Multiplying the sizes must change nothing."),
        Case((twice,), want, "Doubling all scores, the earlier ones too, must change nothing."),
    )
    unchanged(played(student, s)[0])


def check_committed(student: Student, *cases: Case) -> None:
    g = real(0.3, -0.2, 0.7, 0.1)
    others = [Case((g, rule, 7)) for rule in ("constant", "adaptive", "aggressive")]
    zero = "rounds are counted from 1; and where all g_j are 0, m is 0"
    ask_for = partial(ask, student, {"ZeroDivisionError": zero})
    check(partial(ask_for, "theta_after"), COMMITTED, cases, others)


@theta_after(points=1, aspect="theta after some rounds, by hand")
@composite(exponentiate=exponentiated)
def test_theta_after_rounds_by_hand(student: Student) -> None:
    root = math.sqrt(2 * math.log(2))
    moves = {"constant": 4 * 2, "aggressive": 4, "adaptive": 1 + 1 / 2**0.5 + 1 / 3**0.5 + 1 / 2}
    cases = []
    for rule, times in moves.items():
        factor = math.exp(-root * times)
        want = real(factor / (1 + factor), 1 / (1 + factor))
        told = f"k = 2 and m = 2: the four steps move z_0 by -sqrt(2 ln 2) times {times:.5g}."
        cases.append(Case((real(2, 0), rule, 4), want, told))
    check_committed(student, *cases)


@theta_after(points=1, aspect="drawn gradients, by the sums of step sizes")
@composite(exponentiate=exponentiated)
def test_theta_after_rounds_is_that_of_the_sum_of_steps(student: Student) -> None:
    rng, cases = random.Random(12), []
    for k, rounds in ((3, 1), (5, 6), (9, 3)):
        g = real(*[rng.randrange(-500, 900) / 1000 for _ in range(k)])
        for rule in ("constant", "adaptive", "aggressive"):
            cases.append(right(lambda some: by_sums(*some), (g, rule, rounds)))
    check_committed(student, *[case._replace(arguments=case.arguments[0]) for case in cases])


@theta_after(points=1, aspect="no round, no gradient, and another scale; arguments untouched")
@composite(exponentiate=exponentiated)
def test_theta_after_rounds_at_the_edges(student: Student) -> None:
    g, equal = real(0.5, 0.25, -0.5, 0.125), real(*[0.25] * 4)
    scaled = "Multiplying g by 100 must change nothing with this rule."
    check_committed(
        student,
        Case((g, "adaptive", 3), by_sums(g, "adaptive", 3)),
        Case((g, "aggressive", 0), equal, "Before the first round all are equal."),
        *[
            Case((0 * g, rule, 5), equal, "All g_j are 0, so that theta does not change.")
            for rule in ("constant", "adaptive", "aggressive")
        ],
        Case((100 * g, "aggressive", 2), by_sums(g, "aggressive", 2), scaled),
        Case((100 * g, "adaptive", 2), by_sums(g, "adaptive", 2), scaled),
    )
    unchanged(student.call("theta_after", g, "constant", 2))


# --- ex04.5 ---------------------------------------------------------------------------------------


def check_halving(student: Student, only: str, *cases: Case) -> None:
    def ask(s: Halved) -> Answer:
        return student.call("fedex_in_halving", *s)

    gen = torch.Generator().manual_seed(23)  # all arms are alike, so that each mistake shows
    draw = partial(torch.rand, generator=gen, dtype=torch.float64)
    few = 5 if len(cases) < 4 else 0  # many cases tell mistakes apart by themselves
    others = [
        Case((Halved(draw(9, 6, 4, 3), draw(9, 6, 4), [2, 4, 6], 3, 0.5),)) for _ in range(few)
    ]
    check(ask, RACES, cases, others, names=("winner", "z"), only=only)


def drawn_halving(
    rng: random.Random, shape: tuple[int, int, int, int], stops: list[int], eta: int
) -> Halved:
    """Arms of different quality, whose rows differ, too."""
    arms, rounds, clients, k = shape
    level = [rng.randrange(20, 80) / 100 for _ in range(arms)]
    rows = [rng.randrange(-15, 15) / 100 for _ in range(k)]

    def score(a: int, j: int) -> float:
        return round(level[a] + rows[j] + rng.randrange(-20, 20) / 100, 2)

    scores = [
        [[[score(a, j) for j in range(k)] for _ in range(clients)] for _ in range(rounds)]
        for a in range(arms)
    ]
    u = [[[rng.random() for _ in range(clients)] for _ in range(rounds)] for _ in range(arms)]
    return Halved(real(*scores), real(*u), stops, eta, rng.randrange(1, 9) / 10)


@each_part(fedex_in_halving, "by hand", winner=1, z=1)
@composite(**PARTS, fedex_round=by_rule)
def test_halving_by_hand(student: Student, only: str) -> None:
    # one client a round; arm 0 draws row 0 first (u < 1/2), then row 1
    scores = real([[[0.5, 0.9]], [[0.8, 0.2]]], [[[0.6, 0.1]], [[0.1, 0.1]]])
    u = real([[0.25], [0.75]], [[0.25], [0.25]])
    step = math.sqrt(2 * math.log(2))
    one = (real(-step, 0)).log_softmax(0)  # the row that was used falls in the first round
    two = (one + real(0, step)).log_softmax(0)  # 0.2 is below the baseline 0.5, so row 1 rises
    rule = "Arm 0 has the lower score in round 1, 0.5, and plays round 2 alone, from its own z."
    check_halving(student, only, Case((Halved(scores, u, [1, 2], 2, 0.5),), (0, two), rule))


@each_part(fedex_in_halving, "drawn races, with fractions and 40 digits", winner=1, z=1)
@composite(**PARTS, fedex_round=by_rule)
def test_halving_is_that_of_a_plain_loop(student: Student, only: str) -> None:
    rng = random.Random(21)
    shapes = (
        ((9, 6, 4, 3), [2, 4, 6], 3), ((4, 5, 3, 4), [1, 3, 5], 2), ((5, 4, 5, 2), [2, 4], 2),
        ((8, 7, 3, 5), [3, 5, 7], 2), ((7, 5, 6, 3), [2, 3, 5], 2),
        ((10, 5, 2, 3), [1, 3, 5], 3), ((13, 4, 2, 2), [1, 2, 4], 4),
    )  # fmt: skip
    drawn = [drawn_halving(rng, *one) for one in shapes]
    check_halving(student, only, *[Case((s,), raced(s, play=by_the_book)) for s in drawn])


@fedex_in_halving(points=1, aspect="at least 1 goes on; equal scores; arguments untouched")
@composite(**PARTS, fedex_round=by_rule)
def test_halving_at_the_edges(student: Student) -> None:
    rng = random.Random(22)
    few = drawn_halving(rng, (2, 3, 3, 2), [1, 3], 3)
    alike = few._replace(
        scores=torch.full((4, 3, 2, 2), 0.5).double(), u=few.u.new_full((4, 3, 2), 0.3)
    )
    late = real(*[[[[x] * 2] * 2 for x in arm] for arm in ([0.9, 0.1, 0.2], [0.3, 0.4, 0.1])])
    turned = Halved(late, few.u[:, :, :2], [2, 3], 2, 0.5)
    cases = [
        Case((few,), raced(few), "Of 2 arms with eta = 3 one goes on."),
        Case((turned,), raced(turned), "After round 2 arm 0 has 0.1, and arm 1 has 0.4."),
        Case((alike,), raced(alike), "All scores are equal: the arm with the lowest number wins."),
    ]
    for part in ("winner", "z"):
        check_halving(student, part, *cases)
    unchanged(student.call("fedex_in_halving", *few))


# --- ex04.6 ---------------------------------------------------------------------------------------

CONDITIONS = [(where, first) for where in ("alone", "halving") for first in ("zero", "skip")]


@first_round(points=1, function="predict_6", aspect="a prediction from the list")
def test_prediction(student: Student) -> None:
    check_prediction(student, "predict_6", ("skip is better", "zero is better", "open"))


@first_round(points=4, function="table_6", aspect="the table of all conditions and seeds")
def test_table(student: Student) -> None:
    check_table(student, "table_6", error_found, CONDITIONS, range(20))


@first_round(points=4, function="interval_6", aspect="the interval of paired runs")
def test_interval(student: Student) -> None:
    check_interval(student, "interval_6")


@first_round(points=3, function="reading_6", aspect="three sentences, which your instructor reads")
def test_sentences(student: Student, record_property: Callable[[str, str], None]) -> None:
    record_property("reading", check_sentences(student, "reading_6"))

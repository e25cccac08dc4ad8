"""Exercise 7, credit by hand: 20 points."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from mistakes_ex07 import (
    CREDIT,
    DIRECTIONS,
    SCORE,
    UPDATE,
    Single,
    Turn,
    Votes,
    by_dummy_ones,
    by_expectation,
    by_loops,
    by_small_steps,
    with_ones,
)
from support import Array, ask, floats, right

from fedlab_grade.checks import Answer, Case, Failure, check, form, parts, unchanged
from fedlab_grade.student import Student

credit = partial(pytest.mark.q, "ex07.1", function="credit")
score = partial(pytest.mark.q, "ex07.2", function="score")
update = partial(pytest.mark.q, "ex07.3", function="update")
directions = partial(pytest.mark.q, "ex07.4", function="directions")

LARGE = "Some numbers are so large that exp of them is inf."
CAUSES = {  # what an exception can only mean, see `ask`
    "OverflowError": "exp of a large number is too large for a float: subtract the largest one "
    "before exp",
    "math domain error": "a probability is too small for a float, and 0 has no logarithm: log p is "
    "the logit minus the log of the sum of exp",
    "ZeroDivisionError": "exp of all the numbers is 0: subtract the largest one before exp",
    "broadcast": "two shapes do not fit: often max or sum along an axis lacks keepdims=True, or "
    "one number for each row its second axis, as in d[:, None]",
}


# --- ex07.1 ---------------------------------------------------------------------------------------


def check_credit(student: Student, *cases: Case, judge: Callable | None = None) -> None:
    others = [Case((votes(21, 3, 4, 5),)), Case((votes(22, 4, 6, 3),))]
    ask_credit, names = partial(ask, student, CAUSES, "credit"), ("loss", "d")
    check(lambda s: ask_credit(*s), CREDIT, cases, others, judge, names)


def votes(seed: int, N: int, M: int, C: int) -> Votes:
    rng = np.random.default_rng(seed)
    q = rng.permutation(np.arange(1, N + 1) ** 2) / sum(i * i for i in range(1, N + 1))
    return Votes(rng.normal(0, 2, (N, M, C)), q, rng.integers(C, size=M))


credit_right = partial(right, by_dummy_ones)


@credit(points=1, aspect="a case computed by hand")
def test_credit_by_hand(student: Student) -> None:
    three = math.log(3)
    s = Votes(
        floats([[4, 0], [0, 0]], [[0, 0], [4, 4]]) * three, floats(1 / 4, 3 / 4), np.array([0, 1])
    )
    rule = (
        "F is ln 3 times [[1, 0], [3, 3]], its softmax [[3/4, 1/4], [1/2, 1/2]]. The loss is the "
        "mean of ln 4/3 and ln 2; d_0 is that of -1/4 ln 3 and 0."
    )
    want = (math.log(4 / 3) + math.log(2)) / 2, floats(-three / 8, 0)
    check_credit(student, Case((s,), want, rule))


@credit(points=1, aspect="the derivatives by the dummy ones, of a loss in plain loops")
def test_credit_is_the_derivative_by_the_dummy_ones(student: Student) -> None:
    sizes = (3, 5, 4), (2, 4, 3), (5, 3, 2), (3, 3, 3), (4, 7, 6)
    check_credit(student, *[credit_right(votes(i, *one)) for i, one in enumerate(sizes)])


@credit(points=1, aspect="one client, one point, one class; outputs of 0")
def test_credit_at_the_edges(student: Student) -> None:
    some = votes(6, 3, 4, 4)
    zero = some._replace(outputs=0 * some.outputs)
    check_credit(
        student,
        credit_right(some),
        credit_right(votes(7, 1, 5, 3), "There is one client."),
        credit_right(votes(8, 4, 1, 3), "There is one point."),
        Case((votes(9, 3, 4, 1),), (0.0, np.zeros(3)), "There is one class, and its p is 1."),
        Case((zero,), (math.log(4), np.zeros(3)), "All outputs are 0, so that each p is 1/4."),
    )


@credit(points=1, aspect="huge outputs")
def test_credit_of_huge_outputs(student: Student) -> None:
    outputs = floats([[20_000, 0, 0], [0, 0, 4]], [[0, 0, 8_000], [0, 4, 0]])
    s = Votes(outputs, floats(1 / 4, 3 / 4), np.array([0, 1]))
    below = s._replace(outputs=-s.outputs)
    low = s._replace(outputs=votes(10, 2, 2, 3).outputs - 12_000)
    check_credit(
        student, credit_right(s, LARGE), credit_right(below, "exp of some is 0."),
        credit_right(low, "exp of all outputs is 0."),
    )  # fmt: skip


@credit(points=1, aspect="the sum of all d is the derivative by a common factor")
def test_credit_adds_up_to_the_derivative_by_a_common_factor(student: Student) -> None:
    def judge(answer: Answer, case: Case) -> None:
        (s,) = case.arguments
        given = parts(answer, "loss", "d")
        value, d = map(form, given, (0.0, s.q))
        at = {one: with_ones(s, [one] * len(s.q)).real for one in (1 - 1e-4, 1.0, 1 + 1e-4)}
        if not math.isclose(value, at[1.0], rel_tol=1e-6):
            raise Failure(f"{answer} returned loss = {value:.7g}, expected {at[1.0]:.7g}.")
        slope = (at[1 + 1e-4] - at[1 - 1e-4]) / 2e-4
        if not abs(d.sum() - slope) <= 1e-5:
            raise Failure(
                f"With 1.0001 times all outputs the loss is {at[1 + 1e-4]:.9g}, with 0.9999 times "
                f"all {at[1 - 1e-4]:.9g}; the sum of d must be their difference divided by 0.0002. "
                f"{answer} returned d with the sum {d.sum():.6g}, expected {slope:.6g}."
            )

    check_credit(student, *[Case((votes(i, 6, 20, 5),)) for i in (11, 12, 13)], judge=judge)


@credit(points=1, aspect="order, shifted logits, a client in two halves; arguments untouched")
def test_credit_knows_no_order_and_no_shift(student: Student) -> None:
    s, order, points = votes(14, 4, 5, 3), [2, 0, 3, 1], [3, 0, 4, 2, 1]
    value, d = by_dummy_ones(s)
    twice, halves = [0, 0, 1, 2, 3], floats(0.5, 0.5, 1, 1, 1)
    check_credit(
        student,
        Case((s,), (value, d)),
        Case(
            (Votes(s.outputs[order], s.q[order], s.y),),
            (value, d[order]),
            "Listing the clients in another order must change only the order of d.",
        ),
        Case(
            (Votes(s.outputs[:, points], s.q, s.y[points]),),
            (value, d),
            "Listing the points in another order must change nothing.",
        ),
        Case(
            (s._replace(outputs=s.outputs + floats(3, -1, 0, 2, -4)[:, None]),),
            (value, d),
            "Adding a number to all logits of a point must change nothing.",
        ),
        Case(
            (s._replace(outputs=s.outputs[twice], q=s.q[twice] * halves),),
            (value, d[twice] * halves),
            "Client 0 is there twice, with half of its share each: the loss must stay, and its d "
            "be half.",
        ),
    )
    unchanged(student.call("credit", *s))


# --- ex07.2 ---------------------------------------------------------------------------------------


def ask_score(student: Student, logits: Array, z: Array) -> Answer:
    return ask(student, CAUSES, "score", logits, z)


def check_score(student: Student, *cases: Case) -> None:
    others = [Case(turn(23, 4, 3)[:2]), Case(turn(24, 3, 5)[:2])]
    check(partial(ask_score, student), SCORE, cases, others)


def turn(seed: int, N: int, H: int) -> Turn:
    """Not all clients draw the same, if they can do otherwise."""
    rng = np.random.default_rng(seed)
    z = rng.integers(H, size=N)
    while min(N, H) > 1 and (z == z[0]).all():
        z = rng.integers(H, size=N)
    d = rng.permutation(np.arange(1, N + 1)) * rng.choice([-0.25, 0.25], N)
    return Turn(rng.normal(0, 1, (N, H)), z, d + 0.125, float(rng.integers(6, 15)) / 16)


def score_right(logits: Array, z: Array, rule: str = "") -> Case:
    return Case((logits, z), by_small_steps(logits, z), rule)


@score(points=1, aspect="a case computed by hand")
def test_score_by_hand(student: Student) -> None:
    logits = np.log(floats([1, 2, 1], [6, 3, 1]))
    rule = "The probabilities are [[1/4, 1/2, 1/4], [6/10, 3/10, 1/10]]."
    want = floats([-1 / 4, 1 / 2, -1 / 4], [-6 / 10, -3 / 10, 9 / 10])
    check_score(student, Case((logits, np.array([1, 2])), want, rule))


@score(points=1, aspect="the derivatives of log p, in plain loops")
def test_score_is_the_derivative_of_log_p(student: Student) -> None:
    sizes = (3, 4), (2, 6), (4, 4), (5, 2)
    check_score(student, *[score_right(*turn(i, *one)[:2]) for i, one in enumerate(sizes)])


@score(points=1, aspect="huge logits, one candidate, one client")
def test_score_at_the_edges(student: Student) -> None:
    some = turn(5, 3, 4)
    logits, z = some[:2]
    huge = floats([2000, 0, -2000, 1999], [-3000, -3001, -3000, -3002], [1500, 1500, 0, 0])
    check_score(
        student,
        score_right(logits, z),
        score_right(logits[:1], z[:1], "There is one client."),
        Case((logits[:, :1], 0 * z), np.zeros((3, 1)), "With one candidate its p is always 1."),
        score_right(huge, z, LARGE),
        score_right(huge[1:2], z[1:2], "exp of all logits is 0."),
    )


@score(points=1, aspect="the mean over the draws is 0; order, shifted logits; arguments untouched")
def test_score_is_0_in_the_mean(student: Student) -> None:
    def mean(rule: Callable[[Array, Array], object], logits: Array) -> Array | None:
        """Over the draws of all clients, weighted by their probabilities."""
        p = np.exp(logits)
        p, total = p / p.sum(1, keepdims=True), np.zeros(logits.shape)
        for h in range(logits.shape[1]):
            one = rule(logits, np.full(len(logits), h))
            if np.shape(one) != logits.shape:
                return None
            total = total + p[:, h : h + 1] * one
        return total

    def ask_mean(logits: Array) -> Answer:
        answer = ask_score(student, logits, np.zeros(len(logits), dtype=np.int64))
        value = mean(lambda a, z: form(ask_score(student, a, z), a), logits)
        return replace(answer, value=value, given=dict(list(answer.given.items())[:1]))

    rule = "The mean over the draws, weighted by their probabilities, must be 0."
    cases = [
        Case((turn(i, *one).logits,), np.zeros(one), rule) for i, one in ((6, (2, 3)), (7, (3, 5)))
    ]
    check(ask_mean, {name: partial(mean, wrong) for name, wrong in SCORE.items()}, cases)
    s, order, candidates = turn(8, 4, 5), [2, 0, 3, 1], [3, 0, 4, 1, 2]
    want, renamed = by_small_steps(s.logits, s.z), np.array([candidates.index(h) for h in s.z])
    check_score(
        student,
        Case((s.logits[order], s.z[order]), want[order], "The clients are in another order."),
        Case(
            (s.logits[:, candidates], renamed),
            want[:, candidates],
            "The candidates are in another order.",
        ),
        Case(
            (s.logits + floats(2, -1, 0, 3)[:, None], s.z),
            want,
            "Adding a number to all logits of a client must change nothing.",
        ),
    )
    unchanged(ask_score(student, s.logits, s.z))


# --- ex07.3 ---------------------------------------------------------------------------------------


def check_update(student: Student, *cases: Case, judge: Callable | None = None) -> None:
    others = [Case((turn(25, 4, 3),)), Case((turn(26, 3, 5),))]
    check(lambda s: ask(student, CAUSES, "update", *s), UPDATE, cases, others, judge)


update_right = partial(right, by_loops)


@update(points=1, aspect="a case computed by hand")
def test_update_by_hand(student: Student) -> None:
    third = math.log(3)
    s = Turn(floats([0, third, 0], [2, 2, 2]), np.array([1, 0]), floats(-2, 3), 0.5)
    rule = (
        "The scores are [-1/5, 2/5, -1/5] and [2/3, -1/3, -1/3], and lr d is [-1, 3/2]: client 0 "
        "adds its score, and client 1 subtracts 3/2 of it."
    )
    want = floats([-1 / 5, third + 2 / 5, -1 / 5], [1, 5 / 2, 5 / 2])
    check_update(student, Case((s,), want, rule))


@update(points=1, aspect="drawn steps, by plain loops")
def test_update_is_that_of_loops(student: Student) -> None:
    sizes = (3, 4), (2, 6), (4, 4), (5, 2)
    check_update(student, *[update_right(turn(i, *one)) for i, one in enumerate(sizes)])


@update(points=1, aspect="no credit, huge logits, one client, one candidate")
def test_update_at_the_edges(student: Student) -> None:
    s = turn(5, 3, 4)
    huge = floats([2000, 0, -2000, 1999], [-3000, -3001, -3000, -3002], [1500, 1500, 0, 0])
    one = s._replace(logits=s.logits[:, :1], z=0 * s.z)
    check_update(
        student,
        update_right(s),
        Case((s._replace(d=0 * s.d),), s.logits, "With d = 0 nothing changes."),
        Case((s._replace(lr=0.0),), s.logits, "With lr = 0 nothing changes."),
        update_right(Turn(s.logits[:1], s.z[:1], s.d[:1], s.lr), "There is one client."),
        Case((one,), one.logits, "With one candidate nothing changes."),
        update_right(s._replace(logits=huge), LARGE),
    )


@update(points=1, aspect="credit makes likelier, the sums of rows stay; arguments untouched")
def test_update_makes_what_has_credit_likelier(student: Student) -> None:
    def judge(answer: Answer, case: Case) -> None:
        (s,) = case.arguments
        change = form(answer, s.logits) - s.logits
        for i, (z, d, row) in enumerate(zip(s.z.tolist(), s.d.tolist(), change, strict=True)):
            if not abs(row.sum()) <= 1e-8:
                raise Failure(
                    f"The sum of each client's logits must stay. {answer} returned row {i} with "
                    f"the sum {(s.logits[i] + row).sum():.6g}, expected {s.logits[i].sum():.6g}."
                )
            other = np.delete(row, z)
            if not all(row[z] * d < 0 < x * d for x in other):
                up, down = ("fall", "rise") if d > 0 else ("rise", "fall")
                raise Failure(
                    f"d_{i} is {d:.4g}, so that the logit of candidate {z}, which client {i} drew, "
                    f"must {up}, and all its others must {down}. {answer} returned a row {i} that "
                    f"differs from the old one by [{', '.join(f'{x:.4g}' for x in row)}]."
                )

    check_update(student, *[Case((turn(i, 4, 5),)) for i in (6, 7)], judge=judge)
    s, order = turn(8, 4, 5), [2, 0, 3, 1]
    want = by_loops(s)
    check_update(
        student,
        Case((s,), want),
        Case(
            (Turn(s.logits[order], s.z[order], s.d[order], s.lr),),
            want[order],
            "The clients are in another order.",
        ),
        Case((s._replace(d=4 * s.d, lr=s.lr / 4),), want, "lr d is the same."),
    )
    unchanged(student.call("update", *s))


# --- ex07.4 ---------------------------------------------------------------------------------------


def check_directions(student: Student, *cases: Case) -> None:
    others = [Case((single(27, 4),)), Case((single(28, 3),))]
    ask_directions = partial(ask, student, CAUSES, "directions")
    check(lambda s: ask_directions(*s), DIRECTIONS, cases, others, names=("paper", "exact"))


def single(seed: int, H: int) -> Single:
    """Outputs with both signs, on both sides of y, if there are enough."""
    rng = np.random.default_rng(seed)
    outputs = rng.permutation(np.linspace(-2, 3, H) + rng.uniform(-0.4, 0.4, H))
    return Single(outputs, float(rng.integers(8, 15)) / 8, rng.normal(0, 1, H))


directions_right = partial(right, by_expectation)


@directions(points=1, aspect="two cases computed by hand")
def test_directions_by_hand(student: Student) -> None:
    equal = Single(floats(0.5, 1), 1.0, floats(0, 0))
    rule = (
        "The scores are [1/2, -1/2] and [-1/2, 1/2], d is [-1/4, 0] and L is [1/8, 0]; both "
        "probabilities are 1/2."
    )
    skewed = Single(floats(3, -1), 1.0, floats(math.log(3), 0))
    two = (
        "The probabilities are [3/4, 1/4], the scores [1/4, -1/4] and [-3/4, 3/4], d is [6, 2], "
        "and L is 2 for both."
    )
    check_directions(
        student,
        Case((equal,), (floats(-1 / 16, 1 / 16), floats(1 / 32, -1 / 32)), rule),
        Case((skewed,), (floats(3 / 4, -3 / 4), floats(0, 0)), two),
    )


@directions(points=1, aspect="the gradient of E[L], and that of E[d] with d fixed")
def test_directions_are_gradients_of_means(student: Student) -> None:
    check_directions(student, *[directions_right(single(i, H)) for i, H in enumerate((3, 5, 2, 6))])


@directions(points=1, aspect="one candidate, equal outputs, no error, huge logits")
def test_directions_at_the_edges(student: Student) -> None:
    s = single(5, 4)
    still = np.zeros(4)
    huge = s._replace(logits=floats(2000, 1999, -2000, 2001))
    low = s._replace(logits=floats(-3000, -3001, -3000, -3002))
    check_directions(
        student,
        directions_right(s),
        Case(
            (Single(floats(2), 1.0, floats(0.5)),),
            (floats(0), floats(0)),
            "With one candidate its probability is always 1.",
        ),
        Case((s._replace(outputs=still + 3),), (still, still), "All outputs are equal."),
        Case((s._replace(outputs=still + s.y),), (still, still), "No candidate makes an error."),
        directions_right(huge, LARGE),
        directions_right(low, "exp of all logits is 0."),
    )


@directions(points=1, aspect="equal losses: exact stays, and paper does not")
def test_directions_of_the_same_losses(student: Student) -> None:
    s = single(6, 5)
    exact = by_expectation(s)[1]
    mirrored = s._replace(outputs=2 * s.y - s.outputs)
    shifted = s._replace(outputs=s.y + np.sqrt((s.outputs - s.y) ** 2 + 4))
    cases = [(s, "")]
    cases.append((mirrored, "The errors have changed their signs only: exact must stay."))
    cases.append((shifted, "All losses are larger by 2: exact must stay."))
    check_directions(student, *[Case((t,), (by_expectation(t)[0], exact), r) for t, r in cases])


@directions(points=1, aspect="y = 0, where a step follows the gradient; other y")
def test_directions_agree_where_y_is_0(student: Student) -> None:
    s = single(7, 5)
    paper, exact = by_expectation(s._replace(y=0.0))
    by_y = by_expectation(s._replace(y=1.0))[0] - paper
    rule = "For y = 0 the loss is F^2 / 2 and d is F^2: paper must be twice exact."
    cases = [Case((s._replace(y=0.0),), (2 * exact, exact), rule)]
    for y in (-3.0, 2.5):
        moved = f"From y = 0 to y = {y} both must change by {y} times the same direction."
        cases.append(Case((s._replace(y=y),), (paper + y * by_y, exact + y * by_y), moved))
    check_directions(student, *cases)


@directions(points=1, aspect="order, shifted logits, a larger scale; arguments untouched")
def test_directions_know_no_order_and_no_shift(student: Student) -> None:
    s, order = single(8, 5), [3, 0, 4, 1, 2]
    paper, exact = by_expectation(s)
    check_directions(
        student,
        Case((s,), (paper, exact)),
        Case(
            (Single(s.outputs[order], s.y, s.logits[order]),),
            (paper[order], exact[order]),
            "The candidates are in another order.",
        ),
        Case((s._replace(logits=s.logits - 4),), (paper, exact), "All logits are lower by 4."),
        Case(
            (s._replace(outputs=4 * s.outputs, y=4 * s.y),),
            (16 * paper, 16 * exact),
            "With 4 times the outputs and y both must be 16 times as large.",
        ),
    )
    unchanged(student.call("directions", *s))

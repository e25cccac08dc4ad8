"""Exercise 7, credit by hand: 30 points."""

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from experiment import check_interval, check_prediction, check_sentences, check_table
from mistakes_ex07 import (
    CENTRED,
    CREDIT,
    DIRECTIONS,
    UPDATE,
    Rounds,
    Single,
    Turn,
    Votes,
    by_dummy_ones,
    by_expectation,
    by_loops,
    by_means,
    with_ones,
)
from support import ask, each_part, floats, right

from fedlab_edu.experiments.credits import personal_error
from fedlab_grade.checks import Answer, Case, Failure, check, form, parts, unchanged
from fedlab_grade.student import Student

credit = partial(pytest.mark.q, "ex07.1", function="credit", minutes=30)
update = partial(pytest.mark.q, "ex07.2", function="update", minutes=20)
centred = partial(pytest.mark.q, "ex07.3", function="centred", minutes=15)
directions = partial(pytest.mark.q, "ex07.4", function="directions", minutes=25)
credits = partial(pytest.mark.q, "ex07.5", minutes=60)

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


def check_credit(
    student: Student, *cases: Case, judge: Callable | None = None, only: str = ""
) -> None:
    others = [Case((votes(21, 3, 4, 5),)), Case((votes(22, 4, 6, 3),))]
    ask_credit, names = partial(ask, student, CAUSES, "credit"), ("loss", "d")
    check(lambda s: ask_credit(*s), CREDIT, cases, others, judge, names, only=only)


def votes(seed: int, N: int, M: int, C: int) -> Votes:
    rng = np.random.default_rng(seed)
    q = rng.permutation(np.arange(1, N + 1) ** 2) / sum(i * i for i in range(1, N + 1))
    return Votes(rng.normal(0, 2, (N, M, C)), q, rng.integers(C, size=M))


credit_right = partial(right, by_dummy_ones)


@each_part(credit, "a case computed by hand", loss=0.5, d=0.5)
def test_credit_by_hand(student: Student, only: str) -> None:
    three = math.log(3)
    s = Votes(
        floats([[4, 0], [0, 0]], [[0, 0], [4, 4]]) * three, floats(1 / 4, 3 / 4), np.array([0, 1])
    )
    rule = (
        "F is ln 3 times [[1, 0], [3, 3]], its softmax [[3/4, 1/4], [1/2, 1/2]]. The loss is the "
        "mean of ln 4/3 and ln 2; d_0 is that of -1/4 ln 3 and 0."
    )
    want = (math.log(4 / 3) + math.log(2)) / 2, floats(-three / 8, 0)
    check_credit(student, Case((s,), want, rule), only=only)


@each_part(credit, "drawn models, the loss in plain loops", loss=0.5, d=1)
def test_credit_is_the_derivative_by_the_dummy_ones(student: Student, only: str) -> None:
    sizes = (3, 5, 4), (2, 4, 3), (5, 3, 2), (3, 3, 3), (4, 7, 6)
    check_credit(student, *[credit_right(votes(i, *one)) for i, one in enumerate(sizes)], only=only)


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


@credit(points=1, aspect="the sum of all d is the derivative by a common factor", invariant=True)
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


@credit(
    points=0.5, aspect="order, shifted logits, a client in two halves; arguments untouched",
    invariant=True,
)  # fmt: skip
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


def turn(seed: int, N: int, H: int) -> Turn:
    """Not all clients draw the same, if they can do otherwise."""
    rng = np.random.default_rng(seed)
    z = rng.integers(H, size=N)
    while min(N, H) > 1 and (z == z[0]).all():
        z = rng.integers(H, size=N)
    d = rng.permutation(np.arange(1, N + 1)) * rng.choice([-0.25, 0.25], N)
    return Turn(rng.normal(0, 1, (N, H)), z, d + 0.125, float(rng.integers(6, 15)) / 16)


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


@update(points=1, aspect="no credit, one client, one candidate")
def test_update_at_the_edges(student: Student) -> None:
    s = turn(5, 3, 4)
    one = s._replace(logits=s.logits[:, :1], z=0 * s.z)
    check_update(
        student,
        update_right(s),
        Case((s._replace(d=0 * s.d),), s.logits, "With d = 0 nothing changes."),
        Case((s._replace(lr=0.0),), s.logits, "With lr = 0 nothing changes."),
        update_right(Turn(s.logits[:1], s.z[:1], s.d[:1], s.lr), "There is one client."),
        Case((one,), one.logits, "With one candidate nothing changes."),
    )


@update(
    points=1, aspect="credit makes likelier, the sums of rows stay; arguments untouched",
    invariant=True,
)  # fmt: skip
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


# --- ex07.3 ---------------------------------------------------------------------------------------


def check_centred(student: Student, *cases: Case) -> None:
    others = [Case((rounds(31, 4, 3),)), Case((rounds(32, 6, 2),))]
    check(lambda s: ask(student, CAUSES, "centred", *s), CENTRED, cases, others)


def rounds(seed: int, T: int, N: int) -> Rounds:
    """Finite numbers, in each column another mean; no two means are near one another."""
    rng = np.random.default_rng(seed)
    past = rng.normal(0, 1, (T, N)) + 3 * rng.permutation(np.arange(1, N + 1))
    return Rounds(past, rng.normal(0, 1, N) + 5)


centred_right = partial(right, by_means)


@centred(points=1, aspect="by hand, and drawn rounds in plain loops")
def test_centred_is_less_the_mean_of_each_column(student: Student) -> None:
    s = Rounds(floats([1, 10], [3, 40]), floats(5, 15))
    rule = "The means are 2 and 25: the d of this round does not count in them."
    sizes = (3, 4), (5, 2), (1, 3), (4, 4)
    drawn = [centred_right(rounds(i, *one)) for i, one in enumerate(sizes)]
    check_centred(student, Case((s,), floats(3, -10), rule), *drawn)


@centred(points=1, aspect="no earlier round, and rounds in which a client diverged")
def test_centred_without_a_number_to_compare_with(student: Student) -> None:
    inf, s = math.inf, rounds(6, 3, 3)
    some = s.past.copy()
    some[1, 0] = some[0, 2] = some[2, 2] = inf
    check_centred(
        student,
        Case((Rounds(s.past[:0], s.d),), floats(0, 0, 0), "There is no earlier round."),
        centred_right(Rounds(some, s.d), "Entries of past that are inf do not count."),
        Case(
            (Rounds(floats([inf, 2], [inf, 4]), floats(7, 7)),),
            floats(0, 4),
            "Client 0 has diverged in all earlier rounds, so that it has no mean.",
        ),
        Case(
            (Rounds(floats([1, 2], [3, 4]), floats(inf, 7)),),
            floats(inf, 4),
            "Client 0 has diverged in this round: its entry stays inf.",
        ),
        Case((Rounds(floats([inf]), floats(inf)),), floats(inf), "Client 0 always diverges."),
    )


@centred(
    points=1, aspect="a shift of all d changes nothing; order; arguments untouched", invariant=True
)
def test_centred_does_not_see_what_is_added_to_all(student: Student) -> None:
    s, order = rounds(7, 4, 3), [2, 0, 1]
    want = by_means(s)
    shifted = Rounds(s.past + floats(5, -3, 2), s.d + floats(5, -3, 2))
    check_centred(
        student,
        Case((shifted,), want, "A number is added to all d of a client, those of past, too."),
        Case((Rounds(s.past[::-1], s.d),), want, "The earlier rounds are in another order."),
        Case((Rounds(s.past[:, order], s.d[order]),), want[order], "The clients are reordered."),
    )
    unchanged(student.call("centred", *s))


# --- ex07.4 ---------------------------------------------------------------------------------------


def check_directions(student: Student, *cases: Case, only: str = "") -> None:
    others = [Case((single(27, 4),)), Case((single(28, 3),))]
    ask_directions, names = partial(ask, student, CAUSES, "directions"), ("paper", "exact")
    check(lambda s: ask_directions(*s), DIRECTIONS, cases, others, names=names, only=only)


def single(seed: int, H: int) -> Single:
    """Outputs with both signs, on both sides of y, if there are enough."""
    rng = np.random.default_rng(seed)
    outputs = rng.permutation(np.linspace(-2, 3, H) + rng.uniform(-0.4, 0.4, H))
    return Single(outputs, float(rng.integers(8, 15)) / 8, rng.normal(0, 1, H))


directions_right = partial(right, by_expectation)


@each_part(directions, "two cases computed by hand", paper=0.5, exact=0.5)
def test_directions_by_hand(student: Student, only: str) -> None:
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
        only=only,
    )


@each_part(directions, "drawn cases, as gradients of means", paper=0.75, exact=0.75)
def test_directions_are_gradients_of_means(student: Student, only: str) -> None:
    drawn = [directions_right(single(i, H)) for i, H in enumerate((3, 5, 2, 6))]
    check_directions(student, *drawn, only=only)


@directions(points=1, aspect="one candidate, equal outputs, no error")
def test_directions_at_the_edges(student: Student) -> None:
    s = single(5, 4)
    still = np.zeros(4)
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
    )


@directions(points=0.5, aspect="equal losses: exact stays, and paper does not", invariant=True)
def test_directions_of_the_same_losses(student: Student) -> None:
    s = single(6, 5)
    exact = by_expectation(s)[1]
    mirrored = s._replace(outputs=2 * s.y - s.outputs)
    shifted = s._replace(outputs=s.y + np.sqrt((s.outputs - s.y) ** 2 + 4))
    cases = [(s, "")]
    cases.append((mirrored, "The errors have changed their signs only: exact must stay."))
    cases.append((shifted, "All losses are larger by 2: exact must stay."))
    check_directions(student, *[Case((t,), (by_expectation(t)[0], exact), r) for t, r in cases])


@directions(points=0.5, aspect="y = 0, where a step follows the gradient; other y", invariant=True)
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


@directions(
    points=0.5, aspect="order, shifted logits, a larger scale; arguments untouched", invariant=True
)
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


# --- ex07.5 ---------------------------------------------------------------------------------------

CONDITIONS = [("dummy_one", "joint")]
CONDITIONS += [(credit, "shared") for credit in ("dummy_one", "leave_one_out", "reinforce")]


@credits(points=1, aspect="a prediction", function="predict_5")
def test_the_prediction_names_a_credit(student: Student) -> None:
    check_prediction(student, "predict_5", ("dummy_one", "leave_one_out", "reinforce"))


@credits(points=4, aspect="a row for each condition, a number for each seed", function="table_5")
def test_the_table_is_that_of_the_runs(student: Student) -> None:
    check_table(student, "table_5", personal_error, CONDITIONS, range(6))


@credits(points=4, aspect="the interval of a mean difference of pairs", function="interval_5")
def test_the_interval_is_that_of_the_pairs(student: Student) -> None:
    check_interval(student, "interval_5")


@credits(points=3, function="reading_5", aspect="three sentences, which your instructor reads")
def test_the_sentences_are_there(student: Student) -> None:
    check_sentences(student, "reading_5")

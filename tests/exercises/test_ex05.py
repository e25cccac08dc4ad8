"""Exercise 5, sharing weights by hand: 20 points."""

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pytest
from mistakes_ex05 import (
    FIT,
    FOURIER,
    HALVE,
    MIXED,
    Draw,
    Fit,
    by_counting,
    by_elimination,
    by_loops,
    known,
    row_by_row,
)
from support import Array, ask, floats

from fedlab_grade.checks import (
    Answer,
    Case,
    Failure,
    check,
    close,
    form,
    parts,
    unchanged,
)
from fedlab_grade.student import Student

fourier = partial(pytest.mark.q, "ex05.1", function="fourier")
mixed = partial(pytest.mark.q, "ex05.2", function="mixed")
shared_fit = partial(pytest.mark.q, "ex05.3", function="shared_fit")
halve = partial(pytest.mark.q, "ex05.4", function="halve")


# --- ex05.1 ---------------------------------------------------------------------------------------

PRODUCT = "the shapes do not fit in a product: x is (N, d), omega (d, n), and x @ omega is (N, n)"
NO_FIT = {"matmul": PRODUCT, "not aligned": PRODUCT, "remapped": PRODUCT, "out of bounds": PRODUCT}


def check_features(student: Student, *cases: Case) -> None:
    others = [Case((drawn(21, *size),)) for size in ((3, 2, 5), (5, 4, 7))]
    check(lambda s: ask(student, NO_FIT, "fourier", *s), FOURIER, cases, others)


def drawn(seed: int, N: int, d: int, n: int) -> Draw:
    rng = np.random.default_rng(seed)
    omega, offset = rng.normal(size=(d, n)), rng.uniform(0, 2 * math.pi, n)
    return Draw(rng.uniform(-1, 1, (N, d)), omega, offset, float(rng.uniform(0.6, 3)))


@fourier(points=1, aspect="a case computed by hand")
def test_features_by_hand(student: Student) -> None:
    sixth, root = math.pi / 6, math.sqrt(3)
    omega = sixth * floats([0, 2, 3], [1, 2, 0])
    s = Draw(floats([0.25, 0], [0.5, -0.25]), omega, sixth * floats(2, 0, 1), 8.0)
    rule = (
        "sqrt(2 gamma) is 4, n is 3, and the angles are pi/6 times [[2, 2, 4], [1, 2, 7]], with "
        "the cosines [[1/2, 1/2, -1/2], [sqrt(3)/2, 1/2, -sqrt(3)/2]]."
    )
    cosines = floats([1, 1, -1], [root, 1, -root]) / 2
    check_features(student, Case((s,), cosines * math.sqrt(2 / 3), rule))


@fourier(points=1, aspect="drawn features, by plain loops")
def test_features_are_those_of_loops(student: Student) -> None:
    sizes = (4, 3, 6), (5, 6, 2), (3, 4, 4), (2, 1, 5)
    draws = [drawn(i, *size) for i, size in enumerate(sizes)]
    check_features(student, *[Case((s,), by_loops(s)) for s in draws])


@fourier(points=1, aspect="one example, one feature; x = 0")
def test_features_at_the_edges(student: Student) -> None:
    one = Draw(floats([0.5]), floats([math.pi]), floats(math.pi / 3), 2.0)
    zero = drawn(5, 3, 2, 4)
    zero = zero._replace(x=0 * zero.x)
    still = [[math.sqrt(2 / 4) * math.cos(b) for b in zero.offset]] * 3
    single = drawn(6, 1, 4, 3)
    check_features(
        student,
        Case((single,), by_loops(single), "There is one example."),
        Case((one,), floats([-math.sqrt(2) / 2]), "The angle is pi + pi/3."),
        Case((zero,), floats(*still), "With x = 0 the angles are the offsets."),
    )


@fourier(points=1, aspect="the mean over many features is the kernel")
def test_features_have_the_kernel_as_their_mean(student: Student) -> None:
    def judge(answer: Answer, case: Case) -> None:
        (s,) = case.arguments
        n = len(s.offset)
        features = form(answer, np.empty((2, n)))
        with np.errstate(all="ignore"):
            mean = float((features[0] * features[1]).sum())
        want = math.exp(-s.gamma * sum((a - b) ** 2 for a, b in s.x.T.tolist()))
        error = math.sqrt((1 + want**4 / 2 - want**2) / n)  # the variance of 2 cos a cos b
        if not abs(mean - want) <= 4 * error:
            text = f"they add up to {mean:.4g}, expected {want:.4f}, up to {4 * error:.4f}"
            rule = "The features of x times those of x' must add up to exp(-gamma |x - x'|^2)."
            raise Failure(f"{rule} {answer} returned {n} features; {text}.")

    cases = []
    for seed, gamma in ((7, 0.25), (8, 1.0), (9, 3.0)):
        s = drawn(seed, 2, 3, 20_000)
        x = np.round(s.x, 2)
        cases.append(Case((s._replace(x=x * 0.8, gamma=gamma),)))
    others = [Case((drawn(22, 3, 2, 5),))]
    check(lambda s: ask(student, NO_FIT, "fourier", *s), FOURIER, cases, others, judge)


@fourier(points=1, aspect="each example by itself, and the scale of x; arguments untouched")
def test_features_of_an_example_are_its_own(student: Student) -> None:
    s, order = drawn(10, 4, 3, 5), [2, 0, 3, 1]
    want = by_loops(s)
    half = s._replace(x=s.x / 2, gamma=4 * s.gamma)
    check_features(
        student,
        Case((s,), want),
        Case((s._replace(x=s.x[order]),), want[order], "The examples are in another order."),
        Case((s._replace(x=s.x[1:2]),), want[1:2], "There is one example only."),
        Case((half,), want, "Half of x with 4 gamma must have the features of x with gamma."),
    )
    unchanged(student.call("fourier", *s))


# --- ex05.2 ---------------------------------------------------------------------------------------

OUT_OF_BOUNDS = {
    "out of bounds": "the first index of features is the map, up to k - 1, and the second one the "
    "example, up to N - 1",
}


def check_mixed(student: Student, *cases: Case) -> None:
    others = []
    for k, rows in ((3, [0, 2, 2, 1]), (6, [5, 3, 2, 2, 4])):
        others.append(Case((seen(23, k, len(rows), 4)[0], np.array(rows))))
    check(partial(ask, student, OUT_OF_BOUNDS, "mixed"), MIXED, cases, others)


def seen(seed: int, k: int, N: int, n: int) -> tuple[Array, Array]:
    """No two features equal; the maps are neither in order nor those of the first examples."""
    rng = np.random.default_rng(seed)
    features = rng.permutation(k * N * n).reshape(k, N, n) / 8
    assignment = rng.integers(k, size=N)
    while k > 1 and N > 2 and (np.diff(assignment) >= 0).all():
        assignment = rng.integers(k, size=N)
    return features, assignment


def mixed_right(features: Array, assignment: Array, rule: str = "") -> Case:
    return Case((features, assignment), row_by_row(features, assignment), rule)


@mixed(points=1, aspect="a case computed by hand")
def test_mixed_by_hand(student: Student) -> None:
    features = floats([[1, 2], [3, 4], [5, 6]], [[10, 20], [30, 40], [50, 60]])
    rule = "Example 0 has map 1, example 1 has map 0, and example 2 has map 1."
    want = floats([10, 20], [3, 4], [50, 60])
    check_mixed(student, Case((features, np.array([1, 0, 1])), want, rule))


@mixed(points=1, aspect="drawn features, row by row")
def test_mixed_is_that_of_single_numbers(student: Student) -> None:
    sizes = (3, 5, 2), (4, 4, 4), (2, 7, 3), (6, 3, 5)
    check_mixed(student, *[mixed_right(*seen(i, *size)) for i, size in enumerate(sizes)])


@mixed(points=1, aspect="one map, one example, one feature; all with the same map")
def test_mixed_at_the_edges(student: Student) -> None:
    features, drawn = seen(11, 3, 5, 2)
    same = np.full(5, 2)
    check_mixed(
        student,
        mixed_right(features, drawn),
        Case((features, same), features[2], "All examples have map 2."),
        Case((features[:1], 0 * drawn), features[0], "There is one map."),
        Case((features[:, :1], np.array([1])), features[1, :1], "There is one example."),
        mixed_right(features[:, :, :1], drawn, "There is one feature."),
    )


@mixed(points=1, aspect="the order of examples, and the numbers of the maps; arguments untouched")
def test_mixed_knows_no_order(student: Student) -> None:
    features, drawn = seen(12, 4, 6, 3)
    want, examples, maps = row_by_row(features, drawn), [3, 0, 5, 1, 4, 2], [2, 0, 3, 1]
    renamed = np.array([maps.index(j) for j in drawn.tolist()])
    check_mixed(
        student,
        Case((features, drawn), want),
        Case(
            (features[:, examples], drawn[examples]),
            want[examples],
            "The examples are in another order, and the rows must be, too.",
        ),
        Case(
            (features[maps], renamed),
            want,
            "Listing the maps in another order, with each example's map the same, must change "
            "nothing.",
        ),
    )
    unchanged(student.call("mixed", features, drawn))


# --- ex05.3 ---------------------------------------------------------------------------------------

SINGULAR = {"Singular matrix": "X'X alone may be singular: add lam * np.eye(n) to it"}


def check_fit(student: Student, *cases: Case, judge: Callable | None = None) -> None:
    others = [Case((problem(24, *size),)) for size in ((9, 3, 4), (7, 4, 3))]
    ask_fit = partial(ask, student, SINGULAR, "shared_fit")
    check(lambda s: ask_fit(*s), FIT, cases, others, judge, ("W", "b"))


def problem(seed: int, N: int, n: int, classes: int) -> Fit:
    """Numbers with few bits, so that fractions stay small; the last class has no example."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-16, 17, (N, n)) / 8 + rng.integers(-2, 3, n)
    return Fit(X, rng.integers(classes - 1, size=N), classes, float(rng.integers(3, 12)) / 8)


@shared_fit(points=1, aspect="a case computed by hand")
def test_fit_by_hand(student: Student) -> None:
    s = Fit(floats([0], [1], [5]), np.array([0, 1, 1]), 3, 2.0)
    rule = (
        "x minus its mean 2 is [-2, -1, 3], with the sum of squares 14. The targets of class 0 "
        "are [1, -1, -1], so that W_0 is (-2 + 1 - 3) / (14 + 2) = -1/4, and b_0 is "
        "-1/3 - 2 (-1/4) = 1/6. Those of class 2 are all -1."
    )
    want = floats([-1 / 4, 1 / 4, 0]), floats(1 / 6, -1 / 6, -1)
    check_fit(student, Case((s,), want, rule))


@shared_fit(points=1, aspect="drawn examples, with fractions")
def test_fit_is_that_of_fractions(student: Student) -> None:
    sizes = (8, 3, 3), (10, 4, 5), (12, 2, 4), (9, 5, 3)
    drawn = [problem(i, *size) for i, size in enumerate(sizes)]
    check_fit(student, *[Case((s,), by_elimination(s)) for s in drawn])


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


@shared_fit(points=1, aspect="order, shifted features, a huge lam; arguments untouched")
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


# --- ex05.4 ---------------------------------------------------------------------------------------

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


@halve(points=1, aspect="only the order of the scores counts; arguments untouched")
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

"""Exercise 6, a bound by hand: 32 points."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from experiment import check_interval, check_prediction, check_sentences, check_table
from mistakes_ex06 import (
    BANDIT,
    BEST,
    OGD,
    Draw,
    Grid,
    Task,
    by_decimals,
    by_fractions,
    by_loops,
    loss,
    nearest,
    size,
)
from support import OUTSIDE, Array, ask, each_part, floats, right

from fedlab_edu.experiments.bounds import looseness
from fedlab_grade.checks import Answer, Case, Failure, check, form, parts, unchanged
from fedlab_grade.student import Student

ogd = partial(pytest.mark.q, "ex06.1", function="ogd", minutes=35)
bandit_step = partial(pytest.mark.q, "ex06.2", function="bandit_step", minutes=25)
best_step = partial(pytest.mark.q, "ex06.3", function="best_step", minutes=25)
loose = partial(pytest.mark.q, "ex06.4", minutes=60)


# --- ex06.1 ---------------------------------------------------------------------------------------

TURN = floats([0.6, -0.8], [0.8, 0.6])  # a rotation of the plane
NO_LENGTH = {
    "ZeroDivisionError": "if this divides by |w|: it may be 0, so divide only where |w| is above "
    "the radius",
}


def check_points(
    student: Student, *cases: Case, judge: Callable | None = None, only: str = ""
) -> None:
    others = [Case((task(21, 6, 3, 0.75),)), Case((task(22, 5, 2, 2.5),))]
    ask_points, names = partial(ask, student, NO_LENGTH, "ogd"), ("points", "total")
    check(lambda s: ask_points(*s), OGD, cases, others, judge, names, only)


def task(seed: int, m: int, d: int, radius: float) -> Task:
    """Among the points that are played some lie inside the ball and some on its boundary."""
    rng = np.random.default_rng(seed)
    while True:
        z = rng.normal(0, 1.2 * radius, (m, d))
        w = nearest(rng.normal(0, 0.3 * radius, d), radius / 2)
        s = Task(z, w, float(rng.uniform(0.3, 0.9)), radius)
        inside = [size(w) < radius * (1 - 1e-9) for w in by_loops(s)[0][1:]]
        if m < 4 or 2 <= sum(inside) <= m - 2:
            return s


@each_part(ogd, "a case computed by hand", points=1, total=1)
def test_points_by_hand(student: Student, only: str) -> None:
    s = Task(floats([6, 8], [1.5, -2], [0.5, 0]), floats(0, 0), 0.5, 2.5)
    rule = (
        "The first step leads to [3, 4], of length 5, and its projection is [1.5, 2]; the second "
        "one to [1.5, 0], inside the ball. The losses are 50, 8 and 0.5."
    )
    want = floats([0, 0], [1.5, 2], [1.5, 0]), 58.5
    check_points(student, Case((s,), want, rule), only=only)


@each_part(ogd, "drawn tasks, by plain loops", points=1, total=1)
def test_points_are_those_of_loops(student: Student, only: str) -> None:
    sizes = (5, 2, 1.0), (7, 3, 0.6), (6, 4, 2.0), (12, 2, 3.0)
    drawn = [task(i, *one) for i, one in enumerate(sizes)]
    check_points(student, *[Case((s,), by_loops(s)) for s in drawn], only=only)


@ogd(points=1, aspect="one loss, one dimension, a point at 0")
def test_points_at_the_edges(student: Student) -> None:
    one, line = task(5, 1, 3, 1.0), task(6, 5, 1, 1.5)
    zero = Task(floats([0, 0], [0, 0], [3, 4]), floats(0, 1), 1.0, 2.0)
    edge = Task(floats([0, 8], [0, 0.5]), floats(0, 2), 0.5, 2.0)
    check_points(
        student,
        Case((one,), (one.w[None], loss(one.w, one.z[0])), "There is one loss."),
        Case((line,), by_loops(line), "There is one dimension."),
        Case((zero,), (floats([0, 1], [0, 0], [0, 0]), 13.0), "The first step leads to 0."),
        Case((edge,), (floats([0, 2], [0, 2]), 19.125), "The first point is on the boundary."),
    )


@ogd(points=1, aspect="the regret is within its bound, against any point of the ball")
def test_regret_is_within_the_bound(student: Student) -> None:
    def judge(answer: Answer, case: Case) -> None:
        (s,) = case.arguments
        given = parts(answer, "points", "total")
        points, total = map(form, given, (s.z, 0.0))
        for i, w in enumerate(points):
            if not size(w) <= s.radius * (1 + 1e-9):
                text = f"point {i} has the length {size(w):.5g}, and the radius is {s.radius:.5g}"
                raise Failure(f"{answer} left the ball: {text}.")
        own = sum(map(loss, points, s.z))
        if not math.isclose(total, own, rel_tol=1e-6):
            text = f"total = {total:.7g}, expected {own:.7g}, the sum of the losses at its points"
            raise Failure(f"{answer} returned {text}.")
        squares = sum(2 * loss(w, z) for w, z in zip(points, s.z, strict=True))
        rng = np.random.default_rng(7)
        for u in (nearest(s.z.mean(0), s.radius), *rng.normal(0, s.radius, (20, len(s.w)))):
            u = nearest(u, s.radius)
            regret = total - sum(loss(u, z) for z in s.z)
            bound = size(s.w - u) ** 2 / (2 * s.c) + s.c * squares / 2
            if not regret <= bound + 1e-9:
                at = f"against [{', '.join(f'{x:.4g}' for x in u)}]"
                text = f"the regret {at} is {regret:.5g}, expected at most {bound:.5g}"
                raise Failure(
                    f"The regret must be at most |w_1 - w*|^2 / (2 c) + c / 2 times the sum of the "
                    f"gradients' squared lengths. Of what {answer} returned, {text}."
                )

    cases = [Case((task(8, 30, 2, 1.0)._replace(c=c),)) for c in (0.02, 0.2, 1.2)]
    check_points(student, *cases, Case((task(9, 12, 4, 0.5),)), judge=judge)


@ogd(points=1, aspect="where nothing is projected, a closed form")
def test_points_in_a_huge_ball_are_weighted_sums(student: Student) -> None:
    rule = (
        "The ball is so large that nothing is projected: w_i must be (1 - c)^(i-1) w_1 plus the "
        "sum of c (1 - c)^(i-1-s) z_s over s < i."
    )
    cases = []
    for seed, c in ((10, 0.3), (11, 0.8), (12, 1.4)):
        s = task(seed, 6, 2, 1.0)._replace(c=c, radius=1e6)
        points = np.array(
            [
                (1 - c) ** i * s.w + sum(c * (1 - c) ** (i - 1 - n) * s.z[n] for n in range(i))
                for i in range(6)
            ]
        )
        cases.append(Case((s,), (points, float(((points - s.z) ** 2).sum() / 2)), rule))
    check_points(student, *cases)


@ogd(
    points=1,
    aspect="a turned and a scaled plane, later losses; arguments untouched",
    invariant=True,
)
def test_points_turn_and_scale_with_the_plane(student: Student) -> None:
    s = task(13, 7, 2, 1.0)
    points, total = by_loops(s)
    turned = s._replace(z=s.z @ TURN.T, w=TURN @ s.w)
    larger = Task(4 * s.z, 4 * s.w, s.c, 4 * s.radius)
    ends = s.z.copy()
    ends[-1] = [3, -5]
    last = loss(points[-1], ends[-1]) - loss(points[-1], s.z[-1])
    check_points(
        student,
        Case((s,), (points, total)),
        Case((turned,), (points @ TURN.T, total), "Turning z and w must turn all points."),
        Case(
            (larger,),
            (4 * points, 16 * total),
            "With 4 z, 4 w and 4 times the radius the points must be 4 times as far from 0, and "
            "the losses 16 times as large.",
        ),
        Case((s._replace(z=ends),), (points, total + last), "Only the last row of z has changed."),
    )
    unchanged(student.call("ogd", *s))
    unchanged(student.call("ogd", *s._replace(radius=1e6)))


# --- ex06.2 ---------------------------------------------------------------------------------------


def ask_step(student: Student, s: Draw) -> Answer:
    return ask(student, OUTSIDE, "bandit_step", *s)


def check_step(student: Student, *cases: Case) -> None:
    others = [Case((step(23, 5),)), Case((step(24, 4),))]
    check(partial(ask_step, student), BANDIT, cases, others)


def step(seed: int, k: int) -> Draw:
    """An arm that is not the first, if there are several."""
    rng = np.random.default_rng(seed)
    p = rng.integers(2, 20, k)
    arm = int(rng.integers(min(1, k - 1), k))
    return Draw(np.log(p / p.sum()), arm, float(rng.uniform(0.5, 3)), float(rng.uniform(0.1, 0.4)))


exact = partial(right, by_decimals)


@bandit_step(points=1, aspect="a case computed by hand")
def test_step_by_hand(student: Student) -> None:
    s = Draw(np.log(floats(1 / 2, 1 / 4, 1 / 4)), 1, math.log(2), 0.5)
    rule = (
        "eta loss / p_1 is ln 4, so that p = [1/2, 1/4, 1/4] becomes [1/2, 1/16, 1/4], with the "
        "sum 13/16; expected are the logarithms of [8/13, 1/13, 4/13]."
    )
    check_step(student, Case((s,), np.log(floats(8, 1, 4) / 13), rule))


@bandit_step(points=1, aspect="drawn steps, with 40 digits; losses below 0, too")
def test_step_is_that_of_powers(student: Student) -> None:
    drawn = [step(i, k) for i, k in enumerate((3, 5, 2, 8, 4))]
    below = step(5, 4)
    below = below._replace(loss=-below.loss)
    check_step(student, *map(exact, drawn), exact(below, "The loss is below 0."))


@bandit_step(points=1, aspect="tiny probabilities, and large steps")
def test_step_stays_in_the_logarithms(student: Student) -> None:
    z = np.log(floats(0.5, 0.3, 0.2))
    tiny = floats(0, -1200, -1201)
    rare = floats(math.log(0.75), -600, math.log(0.25))
    large = "p_a changes by a large factor."
    check_step(
        student,
        exact(Draw(z, 1, 0.4, 0.5)),
        exact(Draw(tiny, 0, 0.5, 1.0), "Two arms have tiny probabilities."),
        exact(Draw(tiny, 0, 2000.0, 1.0), f"{large} The arms left have tiny probabilities."),
        exact(Draw(z, 0, 50_000.0, 1.0), large),
        exact(Draw(z, 2, -20_000.0, 1.0), large),
        exact(Draw(rare, 1, 1.0, 0.5), "The arm that was played has a tiny probability."),
    )


@bandit_step(points=1, aspect="the mean over the arms, drawn from p, falls by eta loss")
def test_step_is_unbiased_before_it_is_normalised(student: Student) -> None:
    def mean(rule: Callable[[Draw], object], z: Array, losses: Array, eta: float) -> Array | None:
        """Return the change of z, compared with that of an arm that was not played."""
        total = np.zeros(len(z))
        for a, p in enumerate(np.exp(z)):
            after = rule(Draw(z, a, float(losses[a]), eta))
            if np.shape(after) != z.shape:
                return None
            change = np.asarray(after) - z
            total = total + p * (change - change[a - 1])
        return total

    def ask_mean(z: Array, losses: Array, eta: float) -> Answer:
        answer = ask_step(student, Draw(z, 0, float(losses[0]), eta))
        with np.errstate(all="ignore"):
            value = mean(lambda s: form(ask_step(student, s), z), z, losses, eta)
        given = list(answer.given.items())
        return replace(answer, value=value, given=dict(given[:1] + given[-1:]))

    rule = (
        "Averaged over the arms, drawn from p, the change of z_j before normalising must be -eta "
        "times the loss of arm j. (Arms that are not played change by normalising only, and that "
        "is subtracted.)"
    )
    cases = []
    for seed, k in ((6, 3), (7, 5), (8, 2)):
        s, losses = step(seed, k), np.random.default_rng(seed).uniform(0.2, 4, k)
        cases.append(Case((s.z, losses, s.eta), -s.eta * losses, rule))
    check(ask_mean, {name: partial(mean, wrong) for name, wrong in BANDIT.items()}, cases)


@bandit_step(
    points=1, aspect="the order of the arms, no loss, one arm; z untouched", invariant=True
)
def test_step_knows_no_order(student: Student) -> None:
    s, order = step(9, 5), [3, 0, 4, 1, 2]
    want = by_decimals(s)
    check_step(
        student,
        Case((s,), want),
        Case(
            (s._replace(z=s.z[order], arm=order.index(s.arm)),),
            want[order],
            "Listing the arms in another order must change only the order.",
        ),
        Case((s._replace(loss=s.loss / 2, eta=2 * s.eta),), want, "eta loss is the same."),
        Case((s._replace(loss=0.0),), s.z, "With the loss 0 nothing changes."),
        Case((s._replace(eta=0.0),), s.z, "With eta = 0 nothing changes."),
        Case((Draw(floats(0), 0, 3.0, 0.5),), floats(0), "With one arm its probability is 1."),
    )
    unchanged(ask_step(student, s))


# --- ex06.3 ---------------------------------------------------------------------------------------


def check_best(
    student: Student, *cases: Case, judge: Callable | None = None, only: str = ""
) -> None:
    others = [Case((problem(seed, 7, 6),)) for seed in (28, 29, 30, 31)]
    names = "bound", "j"
    check(lambda s: student.call("best_step", *s), BEST, cases, others, judge, names, only)


def problem(seed: int, tau: int, k: int) -> Grid:
    """The distances differ much. The best step size is neither first nor last in c, nor the
    smallest or the largest, if k allows it."""
    rng = np.random.default_rng(seed)
    while True:
        distances, m = rng.uniform(0.1, 1, tau) ** 2 * 4, int(rng.integers(3, 30))
        s = Grid(distances, np.ones(1), float(rng.uniform(0.4, 3)), m)
        s = s._replace(c=s.best * rng.permutation(1.7 ** (np.arange(k) - rng.uniform(1, k - 1))))
        j = by_fractions(s)[1]
        if k < 4 or (0 < j < k - 1 and s.c[j] not in (s.c.min(), s.c.max())):
            return s


best_right = partial(right, by_fractions)


@each_part(best_step, "a case computed by hand", bound=1, j=1)
def test_best_by_hand(student: Student, only: str) -> None:
    s = Grid(floats(1, 2, 3, 4), floats(2, 1, 0.5, 0.25), 1.5, 4)
    rule = (
        "The mean of the squares is 30/4 = 7.5, and m G^2 / 2 is 4.5: the bounds are 1.875 + 9, "
        "3.75 + 4.5, 7.5 + 2.25 and 15 + 1.125."
    )
    check_best(student, Case((s,), (8.25, 1), rule), only=only)


@each_part(best_step, "drawn distances, with fractions", bound=1, j=1)
def test_best_is_that_of_fractions(student: Student, only: str) -> None:
    sizes = (5, 4), (8, 7), (3, 5), (12, 9), (6, 4)
    check_best(student, *[best_right(problem(i, *one)) for i, one in enumerate(sizes)], only=only)


@best_step(points=1, aspect="one task, one step size, distances of 0, equal bounds")
def test_best_at_the_edges(student: Student) -> None:
    some = problem(6, 5, 5)
    still = some._replace(distances=np.zeros(5))
    equal = Grid(floats(1, 1), floats(4, 2, 0.5, 2, 0.5), 1.0, 1)
    check_best(
        student,
        best_right(some),
        best_right(some._replace(distances=some.distances[:1]), "There is one task."),
        best_right(some._replace(c=some.c[2:3]), "There is one step size."),
        best_right(
            some._replace(distances=some.distances * [1, 0, 1, 0, 1]), "Two distances are 0."
        ),
        Case(
            (still,),
            (float(still.c.min()) * still.m * still.G**2 / 2, int(still.c.argmin())),
            "All distances are 0, so that the smallest step size is best.",
        ),
        Case((equal,), (1.25, 1), "The step sizes 2 and 0.5 have the same bound, 1.25."),
    )


@best_step(points=1, aspect="near the best of all step sizes, if that lies within the grid")
def test_best_is_near_the_best_of_all_step_sizes(student: Student) -> None:
    def judge(answer: Answer, case: Case) -> None:
        (s,) = case.arguments
        given = parts(answer, "bound", "j")
        bound, j = map(form, given, (0.0, 0))
        if not s.least * (1 - 1e-9) <= bound <= s.least * 3 / math.sqrt(8) * (1 + 1e-9):
            raise Failure(
                f"The bound must be at least sqrt(m) G sqrt(mean of distances^2), which the best "
                f"of all step sizes has, and at most 3 / (2 sqrt(2)) times it. {answer} returned "
                f"bound = {bound:.7g}, expected {s.least:.7g} to {s.least * 3 / math.sqrt(8):.7g}."
            )
        if not 0 <= j < len(s.c):
            raise Failure(f"{answer} returned j = {j}, expected 0 to {len(s.c) - 1}.")
        x = float(s.c[j]) / s.best
        want = s.least * (x + 1 / x) / 2
        if not math.isclose(bound, want, rel_tol=1e-6):
            raise Failure(
                f"A step size that is x times the best of all has (x + 1/x) / 2 times its bound. "
                f"{answer} returned bound = {bound:.7g} and j = {j}; but c_j has {want:.7g}."
            )

    cases = []
    for seed, tau, k in ((7, 6, 12), (8, 4, 8), (9, 15, 20)):
        s = problem(seed, tau, 4)
        place = 1.41 if seed == 7 else 0.4 * k  # between c_1 and c_2, where the grid is coarse
        cases.append(Case((s._replace(c=s.best * place / np.arange(1, k + 1)),)))
    check_best(student, *cases, judge=judge)


@best_step(
    points=1, aspect="losses on another scale, and the order; arguments untouched", invariant=True
)
def test_best_scales_with_the_losses(student: Student) -> None:
    s, order = problem(10, 6, 7), [3, 0, 5, 6, 1, 4, 2]
    bound, j = by_fractions(s)
    check_best(
        student,
        Case((s,), (bound, j)),
        Case(
            (s._replace(c=s.c / 4, G=4 * s.G),),
            (4 * bound, j),
            "With 4 G and a fourth of each step size the bound must be 4 times as large.",
        ),
        Case(
            (s._replace(distances=4 * s.distances, c=4 * s.c),),
            (4 * bound, j),
            "With 4 times the distances and step sizes the bound must be 4 times as large.",
        ),
        Case(
            (s._replace(distances=np.repeat(s.distances[::-1], 2)),),
            (bound, j),
            "Neither the order of the tasks matters, nor whether each is there twice.",
        ),
        Case(
            (s._replace(c=s.c[order]),),
            (bound, order.index(j)),
            "The step sizes are in another order.",
        ),
    )
    unchanged(student.call("best_step", *s))


# --- ex06.4 ---------------------------------------------------------------------------------------

CONDITIONS, SEEDS = [(0.0, 100), (0.0, 1000), (0.5, 100), (0.5, 1000)], range(5)


@loose(points=1, function="predict_4", aspect="a prediction from the list")
def test_prediction(student: Student) -> None:
    check_prediction(student, "predict_4", ("grows", "stays", "shrinks"))


@loose(points=4, function="table_4", aspect="the table of all conditions and seeds")
def test_table(student: Student) -> None:
    check_table(student, "table_4", looseness, CONDITIONS, SEEDS)


@loose(points=4, function="interval_4", aspect="the interval of paired runs")
def test_interval(student: Student) -> None:
    check_interval(student, "interval_4")


@loose(points=3, function="reading_4", aspect="three sentences, which your instructor reads")
def test_sentences(student: Student, record_property: Callable[[str, str], None]) -> None:
    record_property("reading", check_sentences(student, "reading_4"))

"""Exercise 2, every method is Loc and Agg: 29 points."""

from collections.abc import Callable
from functools import partial

import pytest
import torch
from experiment import check_interval, check_prediction, check_sentences, check_table
from mistakes_ex02 import (
    ADAPTED,
    LOCALLY,
    META,
    NEXT_CONTROL,
    NEXT_H,
    NEXT_W,
    SERVED,
    SERVED_CONTROL,
    Dyn,
    Local,
    Maml,
    Quadratic,
    Scaffold,
    adapt,
    chain,
    descended,
    normal,
    optimum,
    quadratics,
    returned,
    two_of_three,
)
from support import real
from torch import Tensor

from fedlab_edu.experiments.skew import error
from fedlab_grade.checks import Answer, close, parts, tensor, unchanged
from fedlab_grade.student import Student

scaffold_local = partial(pytest.mark.q, "ex02.1", function="scaffold_local", minutes=20)
scaffold_server = partial(pytest.mark.q, "ex02.2", function="scaffold_server", minutes=20)
feddyn_server = partial(pytest.mark.q, "ex02.3", function="feddyn_server", minutes=20)
maml_gradient = partial(pytest.mark.q, "ex02.4", function="maml_gradient", minutes=30)
skew = partial(pytest.mark.q, "ex02.5", minutes=60)


# --- ex02.1 ---------------------------------------------------------------------------------------


def check_local(student: Student, s: Local, want: Tensor, rule: str = "") -> Answer:
    """The model; the pair has two values, the second of which is handed on."""
    y, control = parts(student.call("scaffold_local", *s), "y", "new_control_i")
    close(y, want, returned(LOCALLY, s), rule)
    return control


def local_by_hand() -> Local:
    towards = Quadratic(torch.eye(2, dtype=torch.float64), real(4, 0))
    return Local(real(0, 8), real(4, 0), real(0, 4), 0.25, 2, towards.gradient)


def drawn_local() -> list[tuple[Quadratic, Local]]:
    gen = torch.Generator().manual_seed(3)
    return [
        (f, Local(*normal(gen, 3, 4), 0.1, steps, f.gradient))
        for f, steps in zip(quadratics(3, 4, seed=4), (1, 3, 8), strict=True)
    ]


@scaffold_local(points=1, aspect="the model y after two steps, by hand")
def test_scaffold_model_by_hand(student: Student) -> None:
    rule = "With gradient y - [4, 0], y goes from [0, 8] to [2, 5] to [3.5, 2.75]."
    check_local(student, local_by_hand(), real(3.5, 2.75), rule)


@scaffold_local(points=1, aspect="the model y on drawn quadratics, in closed form")
def test_scaffold_model_in_closed_form(student: Student) -> None:
    for f, s in drawn_local():
        check_local(student, s, descended(f, s.x, s.lr, s.steps, s.control - s.control_i))


@scaffold_local(points=1, aspect="the next control variate, from your own y")
def test_scaffold_control_from_own_model(student: Student) -> None:
    by_hand = local_by_hand(), real(3.5, 2.75), real(-3, 6.5)
    cases = [by_hand]
    for f, s in drawn_local():  # c_i is the mean of the gradients, uncorrected, of the K steps
        path = [descended(f, s.x, s.lr, k, s.control - s.control_i) for k in range(s.steps + 1)]
        cases.append((s, path[-1], torch.stack([f.gradient(y) for y in path[:-1]]).mean(0)))
    for s, end, control_i in cases:
        y, control = parts(student.call("scaffold_local", *s), "y", "new_control_i")
        own = tensor(y, like=s.x)  # be it right or wrong
        want = control_i - (own - end) / (s.steps * s.lr)
        close(control, want, returned(NEXT_CONTROL, s, own))


@scaffold_local(
    points=1, aspect="zero controls: SGD; the optimum stays; arguments untouched", invariant=True
)
def test_scaffold_is_sgd_without_controls_and_rests_at_the_optimum_with_the_right_ones(
    student: Student,
) -> None:
    losses, zero = quadratics(3, 4, seed=5), torch.zeros(4, dtype=torch.float64)
    x = normal(torch.Generator().manual_seed(6), 4)
    f = losses[0]
    one = Local(x, zero, zero, 0.1, 1, f.gradient)
    rule = "One step with zero controls is a step of SGD."
    control = check_local(student, one, x - 0.1 * f.gradient(x), rule)
    rule = "After one step with zero controls the next control variate is the gradient at x."
    close(control, f.gradient(x), returned(NEXT_CONTROL, one, x - 0.1 * f.gradient(x)), rule)
    unchanged(control)
    best = optimum(losses)
    for f in losses:
        s = Local(best, f.gradient(best), zero, 0.1, 5, f.gradient)
        rule = "At the optimum of all clients, where c = 0 and c_i is the gradient, y stays."
        control = check_local(student, s, best, rule)
        rule = "At the optimum of all clients, where c = 0 and c_i is the gradient, c_i stays."
        close(control, s.control_i, returned(NEXT_CONTROL, s, best), rule)


# --- ex02.2 ---------------------------------------------------------------------------------------


def served(student: Student, s: Scaffold) -> list[Answer]:
    return parts(student.call("scaffold_server", *s), "x", "control")


def server_by_hand() -> Scaffold:
    ys, new, old = real([4, 2], [2, 6]), real([4, 0], [0, 4]), real([0, 2], [2, -2])
    return Scaffold(real(1, 2), real(0, 1), ys, new, old, 1.5, 8)


@scaffold_server(points=1, aspect="the next model, by hand")
def test_scaffold_server_model_by_hand(student: Student) -> None:
    s = server_by_hand()
    close(served(student, s)[0], real(4, 5), returned(SERVED, s))
    s = s._replace(server_lr=0.6)
    close(served(student, s)[0], real(2.2, 3.2), returned(SERVED, s))


@scaffold_server(points=1, aspect="the next control variate, by hand")
def test_scaffold_server_control_by_hand(student: Student) -> None:
    s = server_by_hand()
    close(served(student, s)[1], real(0.25, 1.5), returned(SERVED_CONTROL, s))


@scaffold_server(points=1, aspect="c stays the mean over all clients; arguments left as they were")
def test_scaffold_server_control_stays_the_mean_of_all(student: Student) -> None:
    gen = torch.Generator().manual_seed(7)
    table, x = normal(gen, 6, 5), normal(gen, 5)
    for who in ([1, 4, 0], [5], [3, 2, 0, 1, 5, 4]):
        after = table.clone()
        after[who] = normal(gen, len(who), 5)
        s = Scaffold(
            x, table.mean(0), normal(gen, len(who), 5), after[who], table[who], 0.6, len(table)
        )
        control = served(student, s)[1]
        rule = f"{len(who)} of 6 clients took part, and c was the mean of the c_i of all 6."
        close(control, after.mean(0), returned(SERVED_CONTROL, s), rule)
        unchanged(control)


@scaffold_server(points=1, aspect="100 rounds end at the optimum of all clients", invariant=True)
def test_scaffold_server_finds_the_optimum(student: Student) -> None:
    losses, lr, steps = quadratics(3, 4, seed=8), 0.1, 5
    x = c = torch.zeros(4, dtype=torch.float64)
    table = torch.zeros(3, 4, dtype=torch.float64)
    for who in two_of_three(rounds=100):
        ys = torch.stack([descended(losses[i], x, lr, steps, c - table[i]) for i in who])
        new = table[who] - c + (x - ys) / (steps * lr)
        model, control = served(student, Scaffold(x, c, ys, new, table[who], 1.0, 3))
        table[who] = new
        close(control, table.mean(0), rule="In each round c must be the mean of all three c_i.")
        x, c = tensor(model, like=x), tensor(control, like=c)
    rule = (
        "Two of three clients in turn, each with a quadratic loss and right local training: after "
        "100 rounds x must be the optimum of the mean loss."
    )
    close(model, optimum(losses), rule=rule)


# --- ex02.3 ---------------------------------------------------------------------------------------


def dynamic(student: Student, s: Dyn) -> list[Answer]:
    return parts(student.call("feddyn_server", *s), "w", "h")


def dyn_by_hand() -> Dyn:
    return Dyn(real(1, 0, 2), real([3, 2, 1], [1, 4, 3]), real(4, 0, 6), 3.0, 6)


@feddyn_server(points=1, aspect="the next h, by hand")
def test_dyn_h_by_hand(student: Student) -> None:
    s = dyn_by_hand()
    close(dynamic(student, s)[1], real(3, -3, 6), returned(NEXT_H, s))


@feddyn_server(points=1, aspect="the next model, from your own next h, by hand")
def test_dyn_model_by_hand(student: Student) -> None:
    s = dyn_by_hand()
    w, h = dynamic(student, s)
    own = tensor(h, like=s.h)  # be it right or wrong; from [3, -3, 6] the model is [1, 4, 0]
    close(w, real(1, 4, 0) - (own - real(3, -3, 6)) / 3, returned(NEXT_W, s, own))


@feddyn_server(
    points=1, aspect="from h = 0 alpha plays no part in w; arguments untouched", invariant=True
)
def test_dyn_from_zero(student: Student) -> None:
    gen = torch.Generator().manual_seed(9)
    W, w = normal(gen, 5, 5), normal(gen, 5)
    for clients in (5, 20):
        ahead = W.mean(0) + 5 / clients * (W.mean(0) - w)
        for alpha in (0.1, 2.5):
            s = Dyn(w, W, torch.zeros_like(w), alpha, clients)
            model, h = dynamic(student, s)
            close(h, 5 * alpha / clients * (w - W.mean(0)), returned(NEXT_H, s))
            rule = "From h = 0 the next w is mean w_i + B/m (mean w_i - w), whatever alpha is."
            close(model, ahead, rule=rule)
            unchanged(h)


@feddyn_server(points=1, aspect="100 rounds end at the optimum of all clients", invariant=True)
def test_dyn_finds_the_optimum(student: Student) -> None:
    losses, alpha = quadratics(3, 4, seed=8), 1.0
    w = h = torch.zeros(4, dtype=torch.float64)
    kept = torch.zeros(3, 4, dtype=torch.float64)  # each client's gradient at its last model
    pull = alpha * torch.eye(4, dtype=torch.float64)
    for who in two_of_three(rounds=100):
        terms = [(losses[i], losses[i].A @ losses[i].mu + kept[i] + alpha * w) for i in who]
        W = torch.stack([torch.linalg.solve(f.A + pull, rhs) for f, rhs in terms])
        kept[who] -= alpha * (W - w)
        answer_w, answer_h = dynamic(student, Dyn(w, W, h, alpha, 3))
        close(answer_h, kept.mean(0), rule="In each round h must be the mean of all three g_i.")
        w, h = tensor(answer_w, like=w), tensor(answer_h, like=h)
    rule = (
        "Two of three clients in turn, each with a quadratic loss and right local training: after "
        "100 rounds w must be the optimum of the mean loss."
    )
    close(answer_w, optimum(losses), rule=rule)


# --- ex02.4 ---------------------------------------------------------------------------------------


def meta(student: Student, s: Maml) -> list[Answer]:
    return parts(student.call("maml_gradient", *s), "adapted", "meta_gradient")


def maml_by_hand() -> Maml:
    train, val = real([2, 1], [1, 4]), real([4, 0], [0, 12])
    return Maml(real(17, 17), train, real(1, 1), val, real(0, -4), 0.25, 2)


def maml_drawn(steps: int, seed: int) -> Maml:
    train, val = quadratics(2, 5, seed)
    w = normal(torch.Generator().manual_seed(seed), 5)
    return Maml(w, *train, *val, 0.1, steps)


@maml_gradient(points=1, aspect="the adapted model, by hand")
def test_maml_adapts_by_hand(student: Student) -> None:
    s = maml_by_hand()
    rule = "The model goes from [17, 17] to [5, -3] to [4, 0]."
    close(meta(student, s)[0], real(4, 0), returned(ADAPTED, s), rule)


@maml_gradient(points=1, aspect="the gradient, from your own adapted model, by hand")
def test_maml_gradient_by_hand(student: Student) -> None:
    s = maml_by_hand()
    adapted, gradient = meta(student, s)
    # be it right or wrong; from [4, 0] the gradient goes from [16, 48] to [-4, -4] to [-1, 1]
    own = tensor(adapted, like=s.w)
    want = real(-1, 1) + real([1.25, -1.5], [-0.5, 0.75]) @ (own - real(4, 0))
    close(gradient, want, returned(META, s, own))


@maml_gradient(points=1, aspect="drawn quadratics, in closed form; arguments left as they were")
def test_maml_in_closed_form(student: Student) -> None:
    for steps in (1, 3, 6):
        s = maml_drawn(steps, seed=10 + steps)
        adapted, gradient = meta(student, s)
        close(adapted, adapt(s), returned(ADAPTED, s))
        close(gradient, chain(s, s.val.gradient(adapt(s))), returned(META, s, adapt(s)))
        unchanged(gradient)


@maml_gradient(points=1, aspect="it is the slope of the validation loss of your own adapted model")
def test_maml_gradient_is_the_slope_of_the_loss_after_adaptation(student: Student) -> None:
    s, h = maml_drawn(4, seed=20), 0.01  # differences of a quadratic are exact for any h
    slope = torch.zeros_like(s.w)
    for j, side in enumerate(torch.eye(len(s.w), dtype=s.w.dtype) * h):
        ends = [meta(student, s._replace(w=w))[0] for w in (s.w + side, s.w - side)]
        above, below = (s.val.loss(tensor(end, like=s.w)) for end in ends)
        slope[j] = (above - below) / (2 * h)
    rule = (
        "Expected are the slopes with which the validation loss of your own adapted model changes "
        "when an entry of w moves by 0.01 up or down."
    )
    adapted, gradient = meta(student, s)
    close(gradient, slope, returned(META, s, tensor(adapted, like=s.w)), rule)


@maml_gradient(points=1, aspect="K = 0: the plain gradient of the validation loss", invariant=True)
def test_maml_without_adaptation(student: Student) -> None:
    s = maml_drawn(0, seed=30)
    adapted, gradient = meta(student, s)
    close(adapted, s.w, returned(ADAPTED, s), "With K = 0 nothing is adapted.")
    rule = "With K = 0 this is the gradient of the validation loss at w."
    close(gradient, s.A_val @ (s.w - s.mu_val), returned(META, s, s.w), rule)


# --- ex02.5 ---------------------------------------------------------------------------------------

CONDITIONS = [(m, alpha) for alpha in (100.0, 1.0, 0.1) for m in ("plain", "scaffold")]


@skew(points=1, function="predict_5", aspect="a prediction from the list")
def test_prediction(student: Student) -> None:
    check_prediction(student, "predict_5", ("grows", "stays", "shrinks"))


@skew(points=4, function="table_5", aspect="the table of all conditions and seeds")
def test_table(student: Student) -> None:
    check_table(student, "table_5", error, CONDITIONS, range(6))


@skew(points=4, function="interval_5", aspect="the interval of paired runs")
def test_interval(student: Student) -> None:
    check_interval(student, "interval_5")


@skew(points=3, function="reading_5", aspect="three sentences, which your instructor reads")
def test_sentences(student: Student, record_property: Callable[[str, str], None]) -> None:
    record_property("reading", check_sentences(student, "reading_5"))

"""Losses, online gradient descent, best fixed points and streams: vectors, loops, enumeration."""

import math
import re
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from torch import Tensor

from fedlab_edu.data.digits import digit_images
from fedlab_edu.oco.bounds import ogd_bound
from fedlab_edu.oco.losses import KINDS, Losses, constants
from fedlab_edu.oco.ogd import ogd, project
from fedlab_edu.oco.optimum import GAP, best_fixed, certificate
from fedlab_edu.oco.tasks import digit_tasks, draw_tasks, similarity
from fedlab_edu.seeds import generator
from tests.fuzz import fuzz
from tests.vectors import F64, case

SEEDS = st.integers(0, 10**6)


def in_ball(radius: float, *shape: int, gen: torch.Generator) -> Tensor:
    """Points of a ball, many of them on its surface."""
    return project(2 * radius * torch.randn(*shape, generator=gen, dtype=F64), radius)


def drawn(gen: torch.Generator, kind: str, *batch: int) -> tuple[Losses, float]:
    """Losses of any size, some of them twice in a task, and a radius."""
    m, d = (int(torch.randint(1, 7, (), generator=gen)) for _ in range(2))
    d = 1 if kind == "absolute" else d
    z = torch.randn(*batch, m, d, generator=gen, dtype=F64)
    if torch.rand((), generator=gen) < 0.3:
        z = z.round()
    radius = 10 ** float(2 * torch.rand((), generator=gen) - 1)
    return Losses(kind, z), radius


def plain(kind: str, w: list[float], z: list[float]) -> tuple[float, list[float]]:
    """Value and subgradient in plain numbers."""
    if kind == "quadratic":
        return sum((a - b) ** 2 for a, b in zip(w, z, strict=True)) / 2, [
            a - b for a, b in zip(w, z, strict=True)
        ]
    if kind == "absolute":
        return abs(w[0] - z[0]), [0.0 if w == z else math.copysign(1, w[0] - z[0])]
    margin = sum(a * b for a, b in zip(w, z, strict=True))
    if kind == "hinge":
        return max(0.0, 1 - margin), [-b if margin < 1 else 0.0 for b in z]
    return math.log(1 + math.exp(-margin)), [-b / (1 + math.exp(margin)) for b in z]


def plain_ogd(
    kind: str, stream: list[list[float]], w: list[float], c: float, radius: float
) -> tuple[list[list[float]], float, list[float]]:
    trajectory, total = [], 0.0
    for z in stream:
        trajectory.append(w)
        value, g = plain(kind, w, z)
        total += value
        w = [a - c * b for a, b in zip(w, g, strict=True)]
        length = math.hypot(*w)
        w = [a * radius / length for a in w] if length > radius else w
    return trajectory, total, w


@pytest.mark.parametrize("kind", ["quadratic", "absolute", "hinge"])
def test_descent_and_the_best_fixed_point_are_those_of_the_vectors(kind):
    told, expected = case("oco", f"ogd-{kind}")
    z = told["stream"]
    if kind == "hinge":
        z = [[y * a for a in x] for y, x in z]
    losses = Losses(kind, z)
    found = ogd(losses, told["w0"], told["c"], told["radius"])
    close = {"rel": 1e-9, "abs": 1e-9}
    assert found.trajectory is not None
    assert found.trajectory.flatten().tolist() == pytest.approx(
        [x for w in expected["trajectory"] for x in w], **close
    )
    assert found.total.item() == pytest.approx(expected["total_loss"], **close)
    assert found.last.tolist() == pytest.approx(expected["final"], **close)
    if kind == "hinge":
        return
    best = best_fixed(losses, told["radius"])
    assert best.w.tolist() == pytest.approx(expected["best"], **close)
    assert best.value.item() == pytest.approx(expected["best_value"], **close)
    assert (found.total - best.value).item() == pytest.approx(expected["regret"], **close)
    distance = math.dist(told["w0"], expected["best"])
    bound = ogd_bound(distance, told["c"], told["G"], len(z)).item()
    assert bound == pytest.approx(expected["bound"], **close)


@pytest.mark.parametrize("kind", KINDS)
def test_all_tasks_and_step_sizes_at_once_are_a_plain_loop_over_them(kind):
    gen = generator(1)
    d = 1 if kind == "absolute" else 3
    z, w0 = (torch.randn(4, n, d, generator=gen, dtype=F64) for n in (5, 1))
    steps, radius = [0.1, 0.7, 5.0], 0.8
    found = ogd(Losses(kind, z[:, None]), 0.2 * w0, steps, radius)
    brief = ogd(Losses(kind, z[:, None]), 0.2 * w0, steps, radius, keep=False)
    assert found.trajectory is not None
    assert found.trajectory.shape == (4, 3, 5, d)
    assert brief.trajectory is None
    outside = 0
    for t in range(4):
        for j, c in enumerate(steps):
            start = (0.2 * w0[t, 0]).tolist()
            trajectory, total, last = plain_ogd(kind, z[t].tolist(), start, c, radius)
            seen = found.trajectory[t, j].flatten().tolist()
            assert seen == pytest.approx([x for w in trajectory for x in w], abs=1e-12)
            for each in (found, brief):
                assert each.total[t, j].item() == pytest.approx(total, abs=1e-12)
                assert each.last[t, j].tolist() == pytest.approx(last, abs=1e-12)
            outside += sum(math.hypot(*w) > radius - 1e-9 for w in trajectory)
    assert 0 < outside < 60  # projected sometimes, and sometimes not


def test_a_start_outside_the_ball_is_projected_and_the_middle_stays_where_it_is():
    assert project([[3.0, 4.0], [0.0, 0.0], [0.3, 0.4]], 1.0).tolist() == [
        pytest.approx([0.6, 0.8]),
        [0, 0],
        [0.3, 0.4],
    ]
    assert project([[3.0, 4.0]], 1e300).tolist() == [[3.0, 4.0]]  # whose square floats lack
    played = ogd(Losses("quadratic", [[0.0, 0.0]]), [3.0, 4.0], 0.5, 1.0)
    assert played.trajectory is not None
    assert played.trajectory.tolist() == [pytest.approx([0.6, 0.8])]
    assert played.total.item() == pytest.approx(0.5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_loss_lies_above_its_tangents_and_a_kink_has_the_slope_0(kind):
    gen = generator(2)
    w, u, z = 3 * torch.randn(3, 2000, 1 if kind == "absolute" else 3, generator=gen, dtype=F64)
    value, g = KINDS[kind](w, z)
    assert (KINDS[kind](u, z)[0] - value - (g * (u - w)).sum(-1)).min() > -1e-12
    near, ahead = w + 1e-7 * g, KINDS[kind](w + 1e-7 * g, z)[0]
    slope = g.square().sum(-1)
    smooth = (KINDS[kind](near, z)[1] - g).abs().amax(-1) < 1e-5
    assert smooth.float().mean() > 0.99
    torch.testing.assert_close(((ahead - value) / 1e-7)[smooth], slope[smooth], rtol=0, atol=1e-4)
    kinks = {"absolute": ([2.0], [2.0]), "hinge": ([0.5, 7.0], [2.0, 0.0])}
    if kind in kinks:
        at, example = (torch.tensor(x, dtype=F64) for x in kinks[kind])
        assert not KINDS[kind](at, example)[1].any()


def test_a_logistic_loss_neither_overflows_nor_loses_its_digits():
    z = torch.ones(1, dtype=F64)
    value, g = KINDS["logistic"](torch.tensor([[1e3], [-1e3]], dtype=F64), z)
    assert value.tolist() == [0, 1e3]
    assert g.tolist() == [[0], [-1]]
    small = KINDS["logistic"](30 * z, z)[0].item()
    assert small == pytest.approx(math.log1p(math.exp(-30)), rel=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_the_constants_of_a_ball_are_reached_and_never_exceeded(kind):
    for seed in range(20):
        gen = generator(seed)
        losses, radius = drawn(gen, kind)
        D, G, b = constants(losses, radius)
        far = losses.z[losses.z.norm(dim=-1).argmax()]
        if not far.any():
            continue
        worst, slope = losses.loss(-radius * far / far.norm(), far)
        assert worst.item() == pytest.approx(b)
        assert slope.norm().item() == pytest.approx(G)
        w, z = in_ball(radius, 500, far.numel(), gen=gen), losses.z[:, None]
        value, g = losses.loss(w, z)
        assert value.min() >= 0
        assert value.max() <= b + 1e-12
        assert g.norm(dim=-1).max() <= G + 1e-12
        assert 2 * radius == D


@given(seed=SEEDS, kind=st.sampled_from([*KINDS]))
@fuzz(80)
def test_the_regret_of_descent_is_at_most_its_bound_against_every_point_of_the_ball(seed, kind):
    gen = generator(seed)
    losses, radius = drawn(gen, kind, 5)
    m, d = losses.z.shape[-2:]
    u, w0 = in_ball(radius, 2, 5, d, gen=gen)
    c = 10 ** (4 * torch.rand(5, generator=gen, dtype=F64) - 2)
    played, G = ogd(losses, w0, c, radius, keep=False), constants(losses, radius).G
    for against in (u, best_fixed(losses, radius).w):
        regret = played.total - losses.total(against)
        bound = ogd_bound((w0 - against).norm(dim=-1), c, G, m)
        assert (regret <= bound + 1e-9).all()


def test_the_bound_of_descent_is_reached_and_the_papers_kappa_is_twice_as_large():
    # Linear as far as it matters: the hinge far from its kink, one step, w* at the far end.
    losses = Losses("hinge", [[1.0]])
    regret = ogd(losses, [0.0], 0.5, 0.5).total - losses.total([0.5])
    assert regret.item() == pytest.approx(0.5)
    assert ogd_bound(0.5, 0.5, 1.0, 1).item() == pytest.approx(0.5)
    assert ogd_bound(0.5, 0.5, 1.0, 1, kappa=1).item() == pytest.approx(0.75)


def test_descent_may_suffer_less_than_the_best_fixed_point():
    z = torch.linspace(-0.5, 0.5, 11, dtype=F64)[:, None]
    losses = Losses("quadratic", z)
    regret = ogd(losses, [-0.5], 0.9, 1.0).total - best_fixed(losses, 1.0).value
    assert regret.item() == pytest.approx(-0.490, abs=5e-4)


def test_the_best_fixed_points_of_an_even_and_an_odd_number_are_lower_medians():
    for z, median in (([3, 1, 2, 4], 2), ([5, 1, 3], 3), ([1, 1], 1)):
        best = best_fixed(Losses("absolute", [[x] for x in z]), 9.0)
        assert best.w.tolist() == [median]
        assert best.value.item() == sum(abs(x - median) for x in z)
        assert best.gap.item() == 0
    assert best_fixed(Losses("absolute", [[3.0], [5.0]]), 2.0).w.tolist() == [2]


def test_the_best_fixed_point_of_quadratic_losses_is_their_mean_or_its_projection():
    z = [[[3, 0], [5, 4], [1, 8]], [[0, 0], [0, 1], [0, 2]]]
    best = best_fixed(Losses("quadratic", z), 2.5)
    assert best.w.tolist() == [pytest.approx([1.5, 2.0]), [0, 1]]
    # away from 3, 0 and the rest by (-1.5, 2), (-3.5, -2), (0.5, -6)
    assert best.value.tolist() == pytest.approx([(6.25 + 16.25 + 36.25) / 2, 1])


@given(seed=SEEDS)
@fuzz(60)
def test_the_best_hinge_in_one_dimension_is_at_a_kink_or_an_end(seed):
    gen = generator(seed)
    m = int(torch.randint(1, 9, (), generator=gen))
    z = torch.randn(m, 1, generator=gen, dtype=F64)
    radius = 10 ** float(2 * torch.rand((), generator=gen) - 1)
    places = [-radius, radius, *(1 / z[:, 0]).clamp(-radius, radius).tolist()]
    least = min(sum(max(0.0, 1 - w * x) for x in z[:, 0].tolist()) for w in places)
    best = best_fixed(Losses("hinge", z), radius)
    assert -1e-12 <= best.value.item() - least <= best.gap.item() + 1e-12
    assert best.gap.item() <= GAP
    assert best.w.norm() <= radius


@pytest.mark.parametrize("kind", ["hinge", "logistic"])
def test_a_single_example_is_met_as_far_as_the_ball_allows(kind):
    best = best_fixed(Losses(kind, [[[0.6, 0.8]], [[-3.0, 4.0]]]), 0.5)
    margins = [0.5, 2.5]  # the radius times |z|
    closed = {
        "hinge": [0.5, 0.0],
        "logistic": [math.log(1 + math.exp(-s)) for s in margins],
    }
    assert best.value.tolist() == pytest.approx(closed[kind], abs=1e-9)
    assert best.w[0].tolist() == pytest.approx([0.3, 0.4], abs=1e-8)
    assert best.gap.max() <= GAP


@pytest.mark.parametrize("kind", ["hinge", "logistic"])
def test_a_general_solver_finds_no_better_point_than_the_best_fixed_one(kind):
    for seed in range(12):
        gen = generator(seed, 7)
        losses, radius = drawn(gen, kind)
        m, d = losses.z.shape
        z = losses.z.numpy()
        best = best_fixed(losses, radius)
        assert best.gap.item() <= GAP
        ball: dict[str, Any] = {
            "type": "ineq",
            "fun": lambda v, d=d, r=radius: r**2 - v[:d] @ v[:d],
        }
        if kind == "logistic":
            found = minimize(
                lambda v, z=z: sum(math.log1p(math.exp(-x @ v)) for x in z),
                [0.0] * d,
                constraints=[ball],
                method="SLSQP",
                options={"ftol": 1e-12, "maxiter": 1000},
            )
        else:  # slack variables make it smooth
            found = minimize(
                lambda v, d=d: v[d:].sum(),
                [0.0] * d + [2.0] * m,
                bounds=[(None, None)] * d + [(0, None)] * m,
                constraints=[
                    ball,
                    {"type": "ineq", "fun": lambda v, d=d, z=z: v[d:] - 1 + z @ v[:d]},
                ],
                method="SLSQP",
                options={"ftol": 1e-12, "maxiter": 1000},
            )
        assert best.value.item() == pytest.approx(found.fun, abs=1e-6)


@given(seed=SEEDS, kind=st.sampled_from(["hinge", "logistic"]))
@fuzz(60)
def test_no_point_of_the_ball_is_better_than_a_certificate_says(seed, kind):
    gen = generator(seed)
    losses, radius = drawn(gen, kind)
    m, d = losses.z.shape
    u = in_ball(radius, 200, d, gen=gen)
    w, a = in_ball(radius, d, gen=gen), torch.rand(m, generator=gen, dtype=F64)
    gap = certificate(losses, w, a, radius)
    assert losses.total(u).min() >= losses.total(w) - gap - 1e-12
    best = best_fixed(losses, radius)
    assert best.gap.item() <= GAP
    assert losses.total(u).min() >= best.value - best.gap - 1e-12


@pytest.mark.parametrize("kind", ["hinge", "logistic"])
@pytest.mark.parametrize(("m", "d"), [(3, 2), (10, 2), (10, 5)])
def test_repeated_examples_in_few_directions_leave_no_gap_either(kind, m, d):
    z = torch.randn(300, m, d, generator=generator(m, d), dtype=F64).round()
    z[::2, :, -1] = 0  # a direction in which no loss changes
    for radius in (0.3, 1.0, 3.0, 30.0):
        best = best_fixed(Losses(kind, z), radius)
        assert best.gap.max() <= GAP
        assert best.w.norm(dim=-1).max() < radius


def test_sums_too_large_for_the_gap_are_refused_and_not_returned():
    z = 1e9 * torch.randn(1, 30, 4, generator=generator(0), dtype=F64)
    with pytest.raises(ArithmeticError, match=r"known up to .* only"):
        best_fixed(Losses("logistic", z), 1.0)


def test_the_similarity_of_the_corners_of_an_equilateral_triangle_is_side_over_root_3():
    corners = [[0.0, 0.0], [1.0, 0.0], [0.5, math.sqrt(0.75)]]
    assert similarity(corners).item() == pytest.approx(1 / math.sqrt(3))
    assert similarity([corners, [[1.0, 2.0]] * 3]).tolist() == pytest.approx([3**-0.5, 0])


def test_the_dial_of_drawn_tasks_sets_the_mean_square_of_their_similarity():
    tau, m, d = 5, 4, 3
    for V, noise in ((0.0, 0.6), (0.3, 0.6), (0.5, 0.0)):
        squares = []
        for seed in range(300):
            tasks = draw_tasks("quadratic", tau, m, d, V, noise, generator(seed))
            assert tasks.z.norm(dim=-1).max() <= V + noise + 1e-12
            squares.append(similarity(best_fixed(tasks, 2.0).w).square())
        seen = torch.stack(squares)
        expected = (1 - 1 / tau) * (V**2 + noise**2 / (3 * m))
        assert abs(seen.mean() - expected) < 4 * seen.std() / math.sqrt(300)
        assert seen.std() < 0.5 * expected
    centres = draw_tasks("absolute", 50, 1, 1, 0.5, 0.0, generator(0)).z.flatten()
    assert sorted({*centres.tolist()}) == [-0.5, 0.5]


def test_a_task_of_digits_shows_one_writers_images_of_two_digits_with_their_labels():
    x, label, writer = digit_images()
    x = torch.nn.functional.normalize(x.flatten(1).double(), dim=1)
    pairs = {}
    for other in (0.0, 1.0):
        pairs[other] = []
        for z in digit_tasks("hinge", 12, 30, other, generator(5)).z:
            y = z.sum(1).sign()  # an image has no pixels below 0
            torch.testing.assert_close(z.norm(dim=1), torch.ones(30, dtype=F64))
            rows = (x @ (y[:, None] * z).T).argmax(0)
            torch.testing.assert_close(x[rows], y[:, None] * z)
            assert len({*writer[rows].tolist()}) == 1
            (plus,), (minus,) = ({*label[rows[y == s]].tolist()} for s in (1, -1))
            pairs[other].append((plus, minus))
    assert {*pairs[0.0]} == {(3, 8)}
    assert len({*pairs[1.0]}) > 8
    assert any(plus > minus for plus, minus in pairs[1.0])


def test_the_dial_of_digits_takes_their_optima_apart():
    seen = []
    for other in (0.0, 0.5, 1.0):
        tasks = digit_tasks("logistic", 40, 20, other, generator(3))
        seen.append(similarity(best_fixed(tasks, 1.0).w).item())
    assert seen[0] + 0.05 < seen[1] < seen[2] - 0.05


ONE = torch.ones(1, 2, dtype=F64)
GEN = generator(0)
REFUSED = {
    "kind is 'huber'": lambda: Losses("huber", ONE),
    "z is [nan]": lambda: Losses("quadratic", [[math.nan]]),
    "shape of z is (3,)": lambda: Losses("quadratic", [1.0, 2.0, 3.0]),
    "shape of z is (1, 2); allowed: (..., m, d), none of them 0, d = 1": lambda: Losses(
        "absolute", ONE
    ),
    "shape of z is (0, 2)": lambda: Losses("quadratic", torch.zeros(0, 2)),
    "radius is 0.0": lambda: constants(Losses("hinge", ONE), 0.0),
    "radius is -2.0": lambda: project([1.0, 1.0], -2.0),
    "losses is 'Tensor'": lambda: ogd.__wrapped__(ONE, [0.0, 0.0], 0.1, 1.0),
    "shape of optima is (2,)": lambda: similarity([1.0, 2.0]),
    "shape of optima is (0, 2)": lambda: similarity(torch.zeros(0, 2)),
    "shape of w is (0, 2)": lambda: project(torch.zeros(0, 2), 1.0),
    "radius is inf": lambda: best_fixed(Losses("hinge", ONE), math.inf),
    "radius is -1.0": lambda: ogd(Losses("hinge", ONE), [0.0, 0.0], 0.1, -1.0),
    "step is [0.1, 0.0]": lambda: ogd(Losses("hinge", ONE), [0.0, 0.0], [0.1, 0.0], 1.0),
    "w0 is [nan, 0.0]": lambda: ogd(Losses("hinge", ONE), [math.nan, 0.0], 0.1, 1.0),
    "shape of w0 is (1,)": lambda: ogd(Losses("hinge", ONE), [0.0], 0.1, 1.0),
    "leading axes of z, w0, step": lambda: ogd(
        Losses("hinge", ONE.expand(3, 1, 2)), [0.0, 0.0], [0.1, 0.1], 1.0
    ),
    "kind is 'hinge'": lambda: draw_tasks("hinge", 2, 2, 2, 0.1, 0.1, GEN),
    "V is -0.1": lambda: draw_tasks("quadratic", 2, 2, 2, -0.1, 0.1, GEN),
    "noise is inf": lambda: draw_tasks("quadratic", 2, 2, 2, 0.1, math.inf, GEN),
    "tau is 0": lambda: draw_tasks("quadratic", 0, 2, 2, 0.1, 0.1, GEN),
    "kind is 'quadratic'": lambda: digit_tasks("quadratic", 2, 2, 0.0, GEN),
    "other is 1.5": lambda: digit_tasks("hinge", 2, 2, 1.5, GEN),
}


@pytest.mark.parametrize("says", REFUSED)
def test_what_cannot_be_meant_is_refused_with_its_name(says):
    with pytest.raises(ValueError, match=re.escape(says)):
        REFUSED[says]()

"""The step size learned from distances: its closed forms, its bound and its rate."""

import math

import pytest
import torch

from fedlab_edu.oco.bounds import bound, grid_size, start_bound, step_grid
from fedlab_edu.oco.leader import leader_bound, leader_eps, leader_steps
from fedlab_edu.oco.losses import Losses
from fedlab_edu.oco.meta import loss_table
from fedlab_edu.oco.ogd import ogd
from fedlab_edu.oco.tasks import draw_tasks, similarity
from fedlab_edu.seeds import generator


def cost(distances: torch.Tensor, D: float, eps: float) -> float:
    """Return the mean of ``(d^2 / v + v) / 2`` for the steps v of the leader (G = m = 1)."""
    v = leader_steps(distances, D, 1.0, 1, eps)
    return float((distances**2 / v + v).mean() / 2)


def test_the_leader_minimises_the_sum_of_the_costs_before():
    d, eps = [0.5, 0.1, 0.9, 0.3], 0.2
    steps = leader_steps(d, 1.0, 2.0, 9, eps) * 2 * 3
    grid = [0.2 + i / 10_000 for i in range(12_000)]
    for t in range(1, 4):
        best = min(grid, key=lambda v: sum((x * x + eps**2) / v + v for x in d[:t]))
        assert steps[t] == pytest.approx(best, abs=1e-4)
    assert steps[0] == pytest.approx(math.sqrt(1.04))


@pytest.mark.parametrize("tau", [1, 2, 10, 1000])
def test_for_equal_distances_the_cost_is_a_closed_form(tau):
    D, d, eps = 2.0, 0.3, 0.5
    first, later = math.sqrt(D**2 + eps**2), math.sqrt(d**2 + eps**2)
    each = [d**2 / first + first] + [d**2 / later + later] * (tau - 1)
    seen = cost(torch.full((tau,), d, dtype=torch.float64), D, eps)
    assert seen == pytest.approx(sum(each) / tau / 2)


@pytest.mark.parametrize("seed", range(6))
def test_no_sequence_of_distances_costs_more_than_the_bound(seed):
    gen, D = generator(seed), 1.5
    for tau in (1, 2, 7, 50, 400):
        eps = leader_eps(D, tau)
        rare = torch.rand(tau, generator=gen, dtype=torch.float64) < (0.02, 0.2, 1)[seed % 3]
        d = D * rare * torch.rand(tau, generator=gen, dtype=torch.float64) ** (seed // 3)
        late = D * (torch.arange(tau) >= tau // 2).double()  # nothing to go, then far
        for one in (d, late, late.flip(0)):
            E, r = math.sqrt(D**2 + eps**2), (D**2 + eps**2) / (2 * eps**2)
            best = float((one.square().mean() + eps**2).sqrt())
            leader = E * (1 + E / eps * r * (1 + math.log(1 + tau / r))) / (2 * tau)
            assert cost(one, D, eps) <= best + leader


def test_the_bound_is_its_formula_with_the_bound_on_the_starts():
    D, G, m, tau, V, eps = 2.0, 3.0, 16, 100, 0.5, 0.5
    E2 = D**2 + eps**2
    leader = math.sqrt(E2) + E2**2 / (2 * eps**3) * (1 + math.log(1 + tau * 2 * eps**2 / E2))
    fixed = math.sqrt(start_bound(D, V, tau) / tau + eps**2)
    want = G * 4 * (fixed + leader / (2 * tau))
    assert leader_bound(D, G, m, tau, V, eps) == pytest.approx(want)
    assert leader_bound(D, G, m, 16, V) == pytest.approx(leader_bound(D, G, m, 16, V, 1.0))


@pytest.mark.parametrize("seed", range(3))
def test_the_regret_of_descent_with_the_leaders_steps_is_within_its_bound(seed):
    tau, m, V = 300, 20, 0.2
    tasks = draw_tasks("quadratic", tau, m, 2, V, 0.6, generator(seed))
    table = loss_table(tasks, [0.0, 0.0], step_grid(2.0, 2.0, m, 1), 1.0)
    d = torch.linalg.vector_norm(table.start - table.optimum, dim=-1)
    c = leader_steps(d, 2.0, 2.0, m, leader_eps(2.0, tau))
    total = ogd(Losses(tasks.kind, tasks.z), table.start, c, 1.0, keep=False).total
    regret = float((total - table.least).mean())
    assert regret <= leader_bound(2.0, 2.0, m, tau, float(similarity(table.optimum)))


def test_the_bounds_fall_by_their_rates_a_fourth_and_a_third_root():
    """With V = 0 and without logarithms, which 10^8 times as many tasks make small."""
    few, many = 10**16, 10**24
    logs = math.log(many) / math.log(few)
    fourth = leader_bound(1.0, 1.0, 1, many, 0.0) / leader_bound(1.0, 1.0, 1, few, 0.0)
    assert 10**-2 <= fourth <= 10**-2 * logs
    third = [
        3 * math.sqrt(k * math.log(k) / tau) / 2 + 1 / k
        for tau in (few, many)
        for k in [grid_size(1.0, 1.0, 1.0, 1, tau)]
    ]
    assert 10 ** (-8 / 3) <= third[1] / third[0] <= 10 ** (-8 / 3) * logs


def test_with_many_losses_a_task_the_fourth_root_is_lower_for_millions_of_tasks():
    """The price of the third root is a factor m^(1/3): it wins from about m^4 tasks on."""
    for tau in (10**4, 10**6):
        k = grid_size(1.0, 1.0, 1.0, 100, tau)
        theorem = bound(1.0, 1.0, 1.0, 100, tau, 0.0, step_grid(1.0, 1.0, 100, k))
        assert leader_bound(1.0, 1.0, 100, tau, 0.0) < theorem


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: leader_steps([1.5], 1.0, 1.0, 1, 0.5), "distances"),
        (lambda: leader_steps([], 1.0, 1.0, 1, 0.5), r"distances is \[\]; .* at least one"),
        (lambda: leader_steps([0.5], 1.0, 1.0, 1, 1.5), "eps"),
        (lambda: leader_bound(1.0, 1.0, 1, 10, 2.0), "V"),
        (lambda: leader_eps(0.0, 10), "D"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_name(call, says):
    with pytest.raises(ValueError, match=says):
        call()

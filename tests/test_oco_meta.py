"""Theorem 4.1: vectors, enumeration, bounds over drawn instances, and where its proof fails."""

import itertools
import math
import re
import statistics
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import sem
from torch import Tensor

from benchmarks.oco import NOISE, V, theorem
from fedlab_edu.oco import bounds as ob
from fedlab_edu.oco import meta as om
from fedlab_edu.oco import rules
from fedlab_edu.oco.bandit import bandit_eg, draw, hedge, move
from fedlab_edu.oco.losses import KINDS, Losses, constants
from fedlab_edu.oco.optimum import best_fixed
from fedlab_edu.oco.tasks import digit_tasks, draw_tasks, similarity
from fedlab_edu.seeds import generator
from fedlab_edu.tuners.fedex import draw_row, exponentiate, gradient
from tests.fuzz import fuzz
from tests.test_oco import drawn, in_ball, plain_ogd
from tests.vectors import F64, case

SEEDS = st.integers(0, 10**6)
CLOSE: dict[str, Any] = {"rel": 1e-9, "abs": 1e-9}


def flat(nested: Any) -> list[float]:
    return torch.as_tensor(nested, dtype=F64).flatten().tolist()


def uniform(*shape: int, gen: torch.Generator) -> Tensor:
    return torch.rand(*shape, generator=gen, dtype=F64)


def expected_p(table: Tensor, eta: float) -> Tensor:
    """The exact mean of the p (tau, k) of `bandit_eg` over all ``k^(tau - 1)`` sequences of arms.

    The expected sum of losses is ``(expected_p * table).sum()``.
    """
    k = table.shape[1]
    z, chance, expected = torch.full((1, k), -math.log(k), dtype=F64), torch.ones(1, dtype=F64), []
    for losses in table:
        p = z.exp()
        expected.append(chance @ p)
        row, arm = p.nonzero().T  # extend each sequence by each arm that can be drawn
        chance = chance[row] * p[row, arm]
        z = move(z[row], p[row], arm, losses.expand(len(row), k), eta)
    return torch.stack(expected)


def test_the_theorem_on_a_small_instance_is_that_of_the_vectors():
    told, expected = case("oco", "theorem-small")
    D, G, b, m, tau, k = (told[x] for x in ("D", "G", "b", "m", "tau", "k"))
    steps = ob.step_grid(D, G, m, k)
    table = om.loss_table(Losses(told["kind"], told["tasks"]), told["w1"], steps, told["radius"])
    V, eta = similarity(table.optimum).item(), rules.bandit_eta(b, m, tau, k)
    p = expected_p(table.total, eta)
    seen = {
        "step_sizes": steps,
        "loss_table": table.total,
        "initialisations": table.start,
        "task_optima": table.optimum,
        "task_values": table.least,
        "V": V,
        "sum_sq_init": (table.start - table.optimum).square().sum(),
        "init_bound": ob.start_bound(D, V, tau),
        "eta": eta,
        "expected_total_loss": (p * table.total).sum(),
        "expected_average_regret": (p * table.regret).sum() / tau,
        "grid_bound": ob.bound(D, G, b, m, tau, V, steps),
        "tight_closed_bound": ob.tight_bound(D, G, b, m, tau, V, k),
    }
    assert seen.keys() == expected.keys() - {"closed_bound"}  # which is above the tight one
    for name, value in seen.items():
        assert flat(value) == pytest.approx(flat(expected[name]), **CLOSE), name


@pytest.mark.parametrize("name", ["bandit-0", "bandit-1"])
def test_exponentiated_gradient_and_its_bounds_are_those_of_the_vectors(name):
    told, expected = case("oco", name)
    table, U, eta = torch.tensor(told["L"], dtype=F64), told["U"], told["eta"]
    tau, k = table.shape
    p, full = expected_p(table, eta), hedge(table, eta)
    played = bandit_eg(table, eta, expected["arms_played"])
    best = table.sum(0).min()
    seen = {
        "expected_loss": (p * table).sum(),
        "best_arm_loss": best,
        "expected_regret": (p * table).sum() - best,
        "bound": rules.bandit_bound(U, tau, k, eta),
        "paper_bound": rules.bandit_bound(U, tau, k, eta, factor=1),
        "hedge_loss": (full * table).sum(),
        "hedge_probabilities": full,
        "hedge_bound": rules.bandit_bound(U, tau, k, eta, factor=1 / (8 * k)),
        "arms_played": played.arms,
        "probabilities_along_arms": played.p,
    }
    assert seen.keys() == expected.keys()
    for field, value in seen.items():
        assert flat(value) == pytest.approx(flat(expected[field]), **CLOSE), field


@pytest.mark.parametrize("name", ["k-100-10", "k-1000-50"])
def test_the_number_of_arms_and_both_step_sizes_are_those_of_the_vectors(name):
    told, expected = case("oco", name)
    D, G, b, m, tau = (told[x] for x in ("D", "G", "b", "m", "tau"))
    k = ob.grid_size(D, G, b, m, tau)
    assert k == expected["k"]
    assert rules.bandit_eta(b, m, tau, k) == pytest.approx(expected["eta"], rel=1e-12)
    steps = ob.step_grid(D, G, m, k).tolist()
    assert [steps[0], steps[-1]] == pytest.approx(expected["grid_first_last"], rel=1e-12)


def test_a_grid_has_at_least_one_arm_and_no_more_for_a_rounding_error():
    assert ob.grid_size(1e-9, 1e-9, 5.0, 100, 10) == 1
    assert rules.bandit_eta(5.0, 100, 10, 1) == 0
    assert ob.grid_size(2.0, 4.0, 1.0, 2, 4) == 4  # 8^(2/3)
    assert ob.grid_size(1.0, 1000.0, 1.0, 1, 2) == 100  # 1000^(2/3)
    assert ob.grid_size(1.0, 1001.0, 1.0, 1, 2) == 101


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 17, 100])
def test_a_geometric_grid_halves_from_the_same_first_step_until_the_harmonic_one_ends(k):
    D, G, m = 3.0, 0.5, 9
    harmonic, geometric = (ob.step_grid(D, G, m, k, grid) for grid in ("harmonic", "geometric"))
    assert harmonic.tolist() == pytest.approx([2.0 / j for j in range(1, k + 1)])
    assert geometric[0] == harmonic[0]
    assert (geometric[:-1] / 2).tolist() == geometric[1:].tolist()
    assert geometric[-1] <= harmonic[-1] * (1 + 1e-12)
    assert k == 1 or geometric[-2] > harmonic[-1]
    assert len(geometric) == 1 + math.ceil(math.log2(k))


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_of_losses_is_a_plain_loop_whatever_the_size_of_its_parts(kind, monkeypatch):
    gen, d = generator(4), 1 if kind == "absolute" else 2
    z = torch.randn(2, 5, 4, d, generator=gen, dtype=F64)
    steps, w1, radius = [0.9, 0.2, 0.05], [0.1] * d, 0.7
    whole = om.loss_table(Losses(kind, z), w1, steps, radius)
    monkeypatch.setattr(om, "_CHUNK", 2 * 3 * d)  # two tasks at once
    parts = om.loss_table(Losses(kind, z), w1, steps, radius)
    for a, b in zip(whole, parts, strict=True):
        torch.testing.assert_close(a, b, rtol=0, atol=1e-7)  # solved ones may stop elsewhere
    for s in range(2):
        w = w1
        for t in range(5):
            assert parts.start[s, t].tolist() == pytest.approx(w, abs=1e-12)
            best = best_fixed(Losses(kind, z[s, t]), radius)
            for j, c in enumerate(steps):
                total = plain_ogd(kind, z[s, t].tolist(), w, c, radius)[1]
                assert parts.total[s, t, j].item() == pytest.approx(total, abs=1e-7)
                regret = parts.regret[s, t, j].item()
                assert regret == pytest.approx(total - best.value.item(), abs=1e-7)
            # as printed, one after the other
            optimum = parts.optimum[s, t].tolist()
            w = [x + (u - x) / (t + 1) for x, u in zip(w, optimum, strict=True)]


def test_a_first_start_outside_the_ball_is_projected():
    losses = Losses("quadratic", torch.zeros(1, 2, 2, 2))
    table = om.loss_table(losses, [3.0, 4.0], [0.1], 1.0)
    practice = om.last_iterates(losses, [3.0, 4.0], [0.1], 1.0, 0.1, [[0.5, 0.5]])
    for start in (table.start, practice.start):
        assert start[0, 0].tolist() == pytest.approx([0.6, 0.8])


def test_along_given_arms_a_bandit_is_fedex_with_one_client_a_round():
    table = uniform(9, 4, gen=generator(0))
    arms = [0, 3, 1, 1, 2, 0, 3, 3, 1]
    played = bandit_eg(table, 0.3, arms)
    z = [math.log(0.25)] * 4
    for t, a in enumerate(arms):
        p = [math.exp(z_j) for z_j in z]
        assert played.p[t].tolist() == pytest.approx(p, abs=1e-14)
        z = exponentiate(z, gradient(p, [a], [table[t, a].item()], [1], 0.0), 0.3)


def test_drawn_arms_are_those_of_the_intervals_in_which_the_draws_fall():
    gen = generator(1)
    table, u = 3 * uniform(40, 30, 3, gen=gen), uniform(40, 30, gen=gen)
    u[0], u[1] = 0.0, 1 - 2**-53
    played = bandit_eg(table, 0.6, draws=u)
    torch.testing.assert_close(bandit_eg(table, 0.6, played.arms).p, played.p, rtol=0, atol=0)
    for s in range(40):
        for t in range(30):
            assert played.arms[s, t] == draw_row(played.p[s, t].tolist(), float(u[s, t]))
    assert (played.p.max(-1).values > 1 - 1e-12).any()  # with arms that cannot be drawn any more


def test_the_expected_probabilities_are_those_of_all_sequences_of_arms():
    table, eta = 2 * uniform(4, 3, gen=generator(2)), 0.8
    sums = [[0.0] * 3 for _ in range(4)]
    for arms in itertools.product(range(3), repeat=4):
        weight, log_p = 1.0, [math.log(1 / 3)] * 3
        for t, a in enumerate(arms):
            p = [math.exp(x - max(log_p)) for x in log_p]
            p = [x / sum(p) for x in p]
            for j in range(3):
                sums[t][j] += weight * p[j] / 3 ** (4 - t)  # each continues in so many ways
            weight *= p[a]
            if p[a]:  # else nobody draws it
                log_p[a] -= eta * table[t, a].item() / p[a]
    assert flat(expected_p(table, eta)) == pytest.approx(flat(sums), abs=1e-12)


def test_the_mean_of_many_runs_is_the_exact_expectation():
    table, eta, n = uniform(7, 3, gen=generator(3)), 0.5, 4000
    u = uniform(n, 7, gen=generator(4))
    played = bandit_eg(table, eta, draws=u)  # one table for all
    seen = table.expand(n, 7, 3).gather(-1, played.arms[..., None]).sum((1, 2))
    exact = (expected_p(table, eta) * table).sum()
    assert abs(seen.mean() - exact) < 4 * sem(seen)
    assert sem(seen) < 0.02


def test_full_information_weighs_each_arm_by_the_losses_before():
    table = torch.tensor([[[1.0, 0.0], [0.5, 2.0], [3.0, 1.0]]])
    p = hedge(table, math.log(2))
    # 2^-1 : 1, and 2^-1.5 : 2^-2
    root = math.sqrt(2)
    expected = [0.5, 0.5, 1 / 3, 2 / 3, root / (1 + root), 1 / (1 + root)]
    assert flat(p) == pytest.approx(expected)


def test_task_averaged_regret_is_the_mean_of_what_the_chosen_arms_suffered_too_much():
    total = torch.tensor([[3.0, 5.0], [2.0, 7.0]])
    empty = torch.zeros(2, 1)
    table = om.LossTable(total, empty, empty, torch.tensor([1.0, 4.0]))
    assert om.task_averaged_regret(table, [1, 0]).item() == (5 - 1 + 2 - 4) / 2
    assert om.task_averaged_regret(table, [[1, 0], [0, 1]]).tolist() == [1, (3 - 1 + 7 - 4) / 2]


def test_in_practice_the_next_start_moves_to_the_last_iterate():
    gen = generator(6)
    z, u = torch.randn(3, 6, 4, 2, generator=gen, dtype=F64), uniform(3, 6, gen=gen)
    steps, eta, radius = [0.8, 0.2], 0.05, 0.9
    seen = om.last_iterates(Losses("quadratic", z), [0.3, 0.0], steps, radius, eta, u)
    table = torch.zeros(3, 6, 2, dtype=F64)
    for s in range(3):
        w = [0.3, 0.0]
        for t in range(6):
            assert seen.start[s, t].tolist() == pytest.approx(w, abs=1e-12)
            arm = int(seen.bandit.arms[s, t])
            _, total, last = plain_ogd("quadratic", z[s, t].tolist(), w, steps[arm], radius)
            assert seen.total[s, t].item() == pytest.approx(total)
            table[s, t, arm] = total
            w = [(1 - 1 / (t + 1)) * a + b / (t + 1) for a, b in zip(w, last, strict=True)]
    again = bandit_eg(table, eta, draws=u)
    assert again.arms.tolist() == seen.bandit.arms.tolist()
    torch.testing.assert_close(again.p, seen.bandit.p)
    assert 0 < seen.bandit.arms.sum() < 18


@given(seed=SEEDS)
@fuzz(60)
def test_the_mean_of_past_optima_is_near_the_next_as_the_bound_says(seed):
    gen = generator(seed)
    tau, d = (int(torch.randint(1, n, (), generator=gen)) for n in (60, 4))
    optima, w1 = in_ball(0.5, tau, d, gen=gen), in_ball(0.5, d, gen=gen)
    if seed % 3 == 0:  # ever the opposite side
        optima = optima[:1] * (1.0 - 2 * (torch.arange(tau) % 2))[:, None]
    away = (om.starts(optima, w1) - optima).square().sum()
    assert away <= ob.start_bound(1.0, similarity(optima).item(), tau) + 1e-12


@given(seed=SEEDS, kind=st.sampled_from([*KINDS]))
@fuzz(40)
def test_with_one_step_size_for_all_tasks_their_mean_regret_is_within_its_bound(seed, kind):
    gen = generator(seed)
    losses, radius = drawn(gen, kind, 12)
    D, G, _ = constants(losses, radius)
    if not G:
        return
    m, d = losses.z.shape[-2:]
    steps = ob.step_grid(D, G, m, 7)
    table = om.loss_table(losses, in_ball(radius, d, gen=gen), steps, radius)
    V = similarity(table.optimum).item()
    seen = table.regret.mean(0)
    assert (seen <= ob.step_bound(steps, D, G, m, 12, V) + 1e-9).all()
    half, paper = (ob.step_bound(steps, D, G, m, 12, V, kappa) for kappa in (0.5, 1))
    torch.testing.assert_close(paper - half, steps * m * G**2 / 2)


@given(seed=SEEDS)
@fuzz(60)
def test_full_information_is_within_its_bound(seed):
    gen = generator(seed)
    tau, k = (int(torch.randint(1, 30, (), generator=gen)) for _ in range(2))
    U, eta = (10 ** float(4 * uniform(1, gen=gen) - 2) for _ in range(2))
    table = U * uniform(tau, k, gen=gen).round(decimals=seed % 2)  # 0 and U, or between them
    regret = (hedge(table, eta) * table).sum() - table.sum(0).min()
    assert regret <= rules.bandit_bound(U, tau, k, eta, factor=1 / (8 * k)) + 1e-9 * U


@given(seed=SEEDS)
@fuzz(60)
def test_the_exact_expected_regret_of_a_bandit_is_within_its_bound(seed):
    gen = generator(seed)
    tau, k = (int(torch.randint(low, high, (), generator=gen)) for low, high in ((1, 7), (1, 5)))
    U, eta = (10 ** float(4 * uniform(1, gen=gen) - 2) for _ in range(2))
    table = U * uniform(tau, k, gen=gen).round(decimals=seed % 2)
    regret = (expected_p(table, eta) * table).sum() - table.sum(0).min()
    tight, paper = (rules.bandit_bound(U, tau, k, eta, factor) for factor in (0.5, 1))
    assert regret <= tight + 1e-9 * U
    assert paper - tight == pytest.approx(eta * k * tau * U**2 / 2 if k > 1 else 0)


def test_bounds_of_a_single_arm_are_0_and_those_of_arms_that_never_move_are_infinite():
    assert rules.bandit_bound(1.0, 10, 1, 0.0) == 0
    assert rules.bandit_bound(1.0, 10, 2, 0.0) == math.inf


def streams() -> dict[str, tuple[Losses, float]]:
    return {
        "quadratic": (draw_tasks("quadratic", 400, 10, 2, 0.2, 0.8, generator(0)), 1.0),
        "absolute": (draw_tasks("absolute", 400, 10, 1, 0.1, 0.9, generator(1)), 1.0),
        "hinge": (digit_tasks("hinge", 100, 10, 0.3, generator(2)), 1.0),
    }


@pytest.mark.parametrize("kind", ["quadratic", "absolute", "hinge"])
@pytest.mark.parametrize("grid", ["harmonic", "geometric"])
def test_the_mean_regret_of_many_seeds_and_four_standard_errors_are_below_the_bound(kind, grid):
    losses, radius = streams()[kind]
    tau, m, d = losses.z.shape
    D, G, b = constants(losses, radius)
    steps = ob.step_grid(D, G, m, max(4, ob.grid_size(D, G, b, m, tau)), grid)
    table = om.loss_table(losses, [0.0] * d, steps, radius)
    eta = rules.bandit_eta(b, m, tau, len(steps))
    arms = bandit_eg(table.total, eta, draws=uniform(300, tau, gen=generator(3))).arms
    seen = om.task_averaged_regret(table, arms)
    V = similarity(table.optimum).item()
    bound = ob.bound(D, G, b, m, tau, V, steps)
    assert seen.mean() + 4 * sem(seen) <= bound
    assert table.total.min() >= 0
    assert table.total.max() <= m * b
    assert 0 < sem(seen) < 0.1 * bound


@given(seed=SEEDS)
@fuzz(200)
def test_the_tight_closed_form_is_above_the_bound_that_it_simplifies(seed):
    gen = generator(seed)
    D, G, b = (10 ** float(4 * uniform(1, gen=gen) - 2) for _ in range(3))
    m, tau, k = (int(10 ** float(x * uniform(1, gen=gen))) for x in (3, 6, 3))
    V = D * float(uniform(1, gen=gen)) ** 3
    for kappa in (0.5, 1.0):
        told = D, G, b, m, tau, V
        exact = ob.bound(*told, ob.step_grid(D, G, m, k), kappa)
        assert exact <= ob.tight_bound(*told, k, kappa) * (1 + 1e-12)
        # a geometric grid has the same error with fewer arms
        coarse = ob.step_bound(ob.step_grid(D, G, m, k, "geometric"), D, G, m, tau, V, kappa).min()
        grid_part = ob.tight_bound(*told, k, kappa) - 2 * m * b * math.sqrt(k * math.log(k) / tau)
        assert coarse <= grid_part * (1 + 1e-9) + 1e-9 * ob.tight_bound(*told, k, kappa)


def test_the_best_step_of_a_fine_grid_costs_what_the_tight_bound_calls_the_best():
    D, G, m, tau, V = 2.0, 3.0, 20, 1000, 0.4
    steps = torch.logspace(-4, 0, 100_001, dtype=F64)
    best = ob.step_bound(steps, D, G, m, tau, V).min().item()
    # with many arms of losses that are almost 0 the rest of the bound vanishes
    tight = ob.tight_bound(D, G, 1e-12, m, tau, V, 1000)
    assert tight == pytest.approx(3 / math.sqrt(8) * best, rel=1e-6)


def test_all_bounds_scale_with_the_losses_but_for_the_printed_ones():
    D, G, b, m, tau, V, k = 2.0, 1.5, 3.0, 8, 500, 0.3, 6
    s = 7.0
    tight, scaled = (ob.tight_bound(D, x * G, x * b, m, tau, V, k) for x in (1, s))
    assert scaled == pytest.approx(s * tight)
    exact, scaled = (
        ob.bound(D, x * G, x * b, m, tau, V, ob.step_grid(D, x * G, m, k)) for x in (1, s)
    )
    assert scaled == pytest.approx(s * exact)
    once = ob.printed_bounds(D, G, b, m, tau, V, k)
    start = 4 * D * math.sqrt((1 + math.log(tau)) / (2 * tau))  # what does not scale
    for line, found in zip(once, ob.printed_bounds(D, s * G, s * b, m, tau, V, k), strict=True):
        assert found == pytest.approx(s * line - (s - 1) * start)


def test_the_printed_lines_are_those_of_the_paper():
    # tau = 1, m = 2, k = 1: no logarithm is left, and sqrt(m / 2) is 1
    seventh, eighth = ob.printed_bounds(3.0, 5.0, 7.0, 2, 1, 0.5, 1)
    assert seventh == pytest.approx(4 * 3 / math.sqrt(2) + (2 * 0.5 + 3) * 5)
    assert eighth == pytest.approx(4 * 3 / math.sqrt(2) + 3 * 5 + 2 * 5 * 0.5)
    # four tasks: ln 4 is left in the term of the starts, and D G is shared by the tasks
    start = 4 * 3 * math.sqrt((1 + math.log(4)) / 8)
    seventh, eighth = ob.printed_bounds(3.0, 5.0, 1e-12, 2, 4, 0.5, 1)
    assert seventh == pytest.approx(start + (2 * 0.5 + 3) * 5)
    assert eighth == pytest.approx(start + 3 * 5 / 4 + 2 * 5 * 0.5)
    # D = V = 0 in effect: the bandit's part alone, for 4 arms and for Hedge with tau arms
    seventh, eighth = ob.printed_bounds(1e-12, 1.0, 7.0, 2, 16, 0.0, 4)
    assert seventh == pytest.approx(2 * 2 * 7 * math.sqrt(4 * math.log(4) / 16))
    assert eighth == pytest.approx(2 * 7 * math.sqrt(2 * math.log(16) / 16))


def test_the_printed_cost_of_the_grid_is_too_small_for_optima_on_a_triangle():
    D, G, m, k, tau = 1.0, 1.0, 16, 50, 10**16
    V = similarity([[0.0, 0.0], [1.0, 0.0], [0.5, math.sqrt(0.75)]]).item()
    steps = ob.step_grid(D, G, m, k)
    best = ob.step_bound(steps, D, G, m, tau, V, kappa=1).min().item()
    # so many tasks that only V counts: V^2 / (2 c) + c m G^2 at c = 1/8 and at 1/12
    assert best == pytest.approx(4 / 3 + 2)
    printed = ob.printed_bounds(D, G, 1e-12, m, tau, V, k)[0]
    assert printed == pytest.approx((2 / math.sqrt(3) + 1 / 50) * math.sqrt(8), abs=1e-6)
    assert printed < best - 0.01
    assert best <= ob.tight_bound(D, G, 1e-12, m, tau, V, k, kappa=1)


def test_a_bandit_that_is_fed_losses_below_0_misses_the_bound_that_it_keeps_above_0():
    # One arm is the better by 1 for a third of the time, then the other.
    tau, n = 1500, 100
    table = torch.tensor([[1.0, 0.0]]).double().repeat(tau, 1)
    table[tau // 3 :] = table[tau // 3 :].flip(-1)
    eta = rules.bandit_eta(1.0, 1, tau, 2)
    bound = rules.bandit_bound(1.0, tau, 2, eta)
    regrets = []
    for shift in (0.0, 1.0):  # the regret is the same, the feedback is not
        arms = bandit_eg(table - shift, eta, draws=uniform(n, tau, gen=generator(8))).arms
        suffered = table.expand(n, tau, 2).gather(-1, arms[..., None]).sum((1, 2))
        regrets.append(suffered - table.sum(0).min())
    kept, missed = regrets
    assert kept.mean() + 4 * sem(kept) < bound
    assert missed.mean() - 4 * sem(missed) > 2 * bound


@pytest.mark.parametrize(("scale", "eta"), [(1.0, 2.0), (1e30, 2.0), (1e300, 1e9)])
def test_whatever_is_fed_back_probabilities_are_numbers_that_sum_to_1(scale, eta):
    gen = generator(9)
    table = scale * (uniform(50, 60, 3, gen=gen) - 0.5)
    for p in (
        bandit_eg(table, eta, draws=uniform(50, 60, gen=gen)).p,
        hedge(table, eta),
        expected_p(table[0, :7], eta),
    ):
        assert p.min() >= 0
        torch.testing.assert_close(p.sum(-1), torch.ones(p.shape[:-1], dtype=F64))


@pytest.mark.parametrize("p", [[0.3, 0.7, 0.0], [0.1, 0.2, 0.7, 0.0], [0.0, 1.0], [0.0, 1 / 3]])
def test_an_arm_of_probability_0_is_never_drawn(p):
    u = torch.tensor([0.0, 0.5, 1 - 2**-53], dtype=F64)
    arms = draw(torch.tensor(p, dtype=F64).expand(3, -1), u)
    assert all(p[a] for a in arms)


def test_the_benchmarks_regret_is_that_of_the_definition_and_within_its_bound():
    cost, steps = (
        theorem(4, 30, 10),
        ob.step_grid(2.0, 2.0, 10, ob.grid_size(2.0, 2.0, 2.0, 10, 30)),
    )
    assert 0 < cost["best step"] <= cost["regret"] + 4 * cost["its error"] <= cost["bound"]
    best = []
    for seed in range(4):
        losses = draw_tasks("quadratic", 30, 10, 2, V, NOISE, generator(seed))
        best.append(om.loss_table(losses, [0.0, 0.0], steps, 1.0).regret.mean(0).min())
    assert cost["best step"] == pytest.approx(statistics.mean(map(float, best)))


TABLE = [[0.1, 0.2], [0.3, 0.4]]
LOSSES = Losses("quadratic", torch.zeros(2, 3, 1))
REFUSED = {
    "arms, draws is (None, None)": lambda: bandit_eg(TABLE, 0.1),
    "arms, draws is ([0, 0], [0.1, 0.1])": lambda: bandit_eg(TABLE, 0.1, [0, 0], draws=[0.1, 0.1]),
    "arms is [0, 2]; allowed: whole numbers from 0 to 1": lambda: bandit_eg(TABLE, 0.1, [0, 2]),
    "arms is [0.0, 1.0]": lambda: bandit_eg(TABLE, 0.1, [0.0, 1.0]),
    "arms is [0, 0]; allowed: those of probabilities above 0": lambda: bandit_eg(
        TABLE, 1e9, [0, 0]
    ),
    "draws is [0.0, 1.0]": lambda: bandit_eg(TABLE, 0.1, draws=[0.0, 1.0]),
    "shape of draws is (1,); allowed: (..., 2)": lambda: bandit_eg(TABLE, 0.1, draws=[0.0]),
    "shape of arms is (3,)": lambda: bandit_eg(TABLE, 0.1, [0, 0, 0]),
    "shape of arms is (2,)": lambda: bandit_eg([TABLE, TABLE], 0.1, [0, 0]),
    "shape of draws is (1, 2); allowed: (2,)": lambda: om.last_iterates(
        LOSSES, [0.0], [0.1], 1.0, 0.1, [[0.5, 0.5]]
    ),
    "shape of w1 is (2,)": lambda: om.loss_table(LOSSES, [0.0, 0.0], [0.1], 1.0),
    "shape of steps is ()": lambda: om.loss_table(LOSSES, [0.0], 0.1, 1.0),
    "eta is -0.1": lambda: hedge(TABLE, -0.1),
    "loss_table is [[nan]]": lambda: hedge([[math.nan]], 0.1),
    "shape of loss_table is (1,)": lambda: hedge([0.1], 0.1),
    "shape of z is (3, 1); allowed: (..., tau, m, d)": lambda: om.loss_table(
        Losses("quadratic", torch.zeros(3, 1)), [0.0], [0.1], 1.0
    ),
    "shape of optima is (0, 1)": lambda: om.starts(torch.zeros(0, 1), [0.0]),
    "step is [-0.1]": lambda: om.loss_table(LOSSES, [0.0], [-0.1], 1.0),
    "eta is nan": lambda: om.last_iterates(LOSSES, [0.0], [0.1], 1.0, math.nan, [0.5, 0.5]),
    "grid is 'linear'": lambda: ob.step_grid(1.0, 1.0, 1, 2, "linear"),
    "k is 0": lambda: ob.step_grid(1.0, 1.0, 1, 0),
    "D is 0.0": lambda: ob.grid_size(0.0, 1.0, 1.0, 1, 1),
    "tau is 0": lambda: rules.bandit_eta(1.0, 1, 0, 2),
    "b is inf": lambda: ob.tight_bound(1.0, 1.0, math.inf, 1, 1, 0.5, 2),
    "V is 1.5; allowed: from 0 to D = 1.0": lambda: ob.tight_bound(1.0, 1.0, 1.0, 1, 1, 1.5, 2),
    "kappa is 0.4": lambda: ob.bound(1.0, 1.0, 1.0, 1, 1, 0.5, [0.1], 0.4),
    "steps is 0.0": lambda: ob.bound(1.0, 1.0, 1.0, 1, 1, 0.5, [0.1, 0.0]),
}


@pytest.mark.parametrize("says", REFUSED)
def test_what_cannot_be_meant_is_refused_with_its_name(says):
    with pytest.raises(ValueError, match=re.escape(says)):
        REFUSED[says]()


def test_the_bandits_of_one_run_are_those_of_many():
    gen = generator(4)
    table, u = 2 * uniform(5, 30, 3, gen=gen), uniform(5, 30, gen=gen)
    many = bandit_eg(table, 0.4, draws=u)
    for s in range(5):
        assert rules.bandit_eg(table[s].tolist(), 0.4, u[s].tolist()) == many.arms[s].tolist()

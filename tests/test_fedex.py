"""FedEx: against vectors, enumeration, plain loops, and the rule of the authors' code."""

import math
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from fedlab_edu import (
    MAML,
    Ditto,
    FedAvg,
    FedDyn,
    FedEx,
    FedPA,
    FedProx,
    LocalHP,
    Reptile,
    Scaffold,
    ServerHP,
    around,
    communicate,
    digits,
    linear,
    load_run,
    personalise,
    save_run,
    start,
    successive_halving,
    train,
    tune,
)
from fedlab_edu.search.baselines import draw_arms
from fedlab_edu.search.distributions import Choice, Integer, LogUniform, PowerOfTwo
from fedlab_edu.search.space import FEDEX, SearchSpace, Spaces
from fedlab_edu.seeds import generator
from fedlab_edu.tuners.fedex import Theta, draw_row, entropy, exponentiate, gradient, step_size
from tests.fuzz import fuzz
from tests.rounds import result
from tests.vectors import case

F64 = torch.float64
RULES = ("aggressive", "adaptive", "constant", "auto", "scale")
CASES = (
    "eg-constant-g0.0", "eg-adaptive-g0.5", "eg-aggressive-g1.0", "eg-auto-g0.9", "eg-scale-g0.3",
    "eg-diff", "eg-product", "eg-eta0", "eg-cutoff", "eg-zero",
)  # fmt: skip


def table(k: int) -> LocalHP:
    return LocalHP(lr=[0.1 * (j + 1) for j in range(k)])


def real(values: Any) -> Tensor:
    return torch.tensor(values, dtype=F64)


def drawn_round(k: int, B: int, gen: torch.Generator) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """arm, before, after, size of a round with B clients."""
    before, after = torch.rand(2, B, generator=gen, dtype=F64)
    size = torch.randint(1, 40, (B,), generator=gen)
    return torch.randint(k, (B,), generator=gen), before, after, size


@pytest.mark.parametrize("name", CASES)
def test_rounds_of_the_vectors_move_theta_as_expected(name):
    told, expected = case("fedex_eg", name)
    axes = tuple(told["k"]) if isinstance(told["k"], list) else ()
    k = math.prod(axes) if axes else told["k"]
    tuner = FedEx(table(k), told["sched"], told["gamma"], told["cutoff"], told["eta0"],
                  difference=told["diff"], axes=axes)  # fmt: skip
    for played, after in zip(told["rounds"], expected, strict=True):
        assert tuner.baseline == pytest.approx(after["lambda"], abs=1e-12)
        assert tuner.stopped == after["stopped_before"]
        arm = torch.tensor(played["arms"])
        if axes:
            arm = arm[:, 0] * axes[1] + arm[:, 1]
        scores = real(played["before"]), real(played["after"])
        tuner = tuner.tell(result(arm, *scores, torch.tensor(played["weights"])))
        if after["stopped_before"]:
            continue
        thetas = after["theta"] if axes else [after["theta"]]
        for one, theta in zip(tuner.thetas, thetas, strict=True):
            assert one.theta == pytest.approx(theta, abs=1e-12)
        assert tuner.entropy == pytest.approx(after["entropy"], abs=1e-12)
        assert tuner.stopped == after["stopped_after"]
        best = np.ravel_multi_index(after["mle"], axes) if axes else after["mle"]
        assert tuner.best == best


@pytest.mark.parametrize("name", [name for name in CASES if name != "eg-product"])
def test_gradient_and_step_size_are_those_of_the_vectors(name):
    told, expected = case("fedex_eg", name)
    k, theta, norms = told["k"], [1 / told["k"]] * told["k"], []
    for played, after in zip(told["rounds"], expected, strict=True):
        if after["stopped_before"]:
            return
        before = played["before"] if told["diff"] else [0.0] * len(played["after"])
        scores = [b - a for a, b in zip(before, played["after"], strict=True)]
        g = gradient(theta, played["arms"], scores, played["weights"], after["lambda"])
        assert g == pytest.approx(after["gradient"], abs=1e-12)
        norms.append(max(map(abs, after["gradient"])))
        eta = step_size(told["sched"], norms, k, told["eta0"])
        assert eta == pytest.approx(after["eta"], abs=1e-12)
        z = exponentiate([math.log(p) for p in theta], after["gradient"], after["eta"])
        assert [math.exp(z_j) for z_j in z] == pytest.approx(after["theta"], abs=1e-12)
        assert entropy(z) == pytest.approx(after["entropy"], abs=1e-12)
        theta = after["theta"]


@pytest.mark.parametrize("name", [f"enum-{n}" for n in ("0", "1", "B1-lam0")])
def test_over_all_draws_the_gradient_is_the_derivative_less_the_baseline(name):
    told, expected = case("fedex_unbiased", name)
    theta, losses = told["theta"], np.array(told["losses"])
    B, k = losses.shape
    mean, square, normalised = np.zeros(k), np.zeros(k), np.zeros(k)
    for arms in product(range(k), repeat=B):
        p = math.prod(theta[a] for a in arms)
        scores = losses[range(B), arms].tolist()
        g = np.array(gradient(theta, [*arms], scores, told["weights"], told["lam"]))
        mean, square = mean + p * g, square + p * g**2
        normalised += p * g * step_size("aggressive", [max(abs(g))], k, eta0=1.0)
    share = np.array(told["weights"]) / sum(told["weights"])
    assert mean == pytest.approx(share @ losses - told["lam"], abs=1e-12)
    assert mean == pytest.approx(expected["E_gradient"], abs=1e-12)
    assert share @ losses == pytest.approx(expected["true_partial"], abs=1e-12)
    assert square - mean**2 == pytest.approx(expected["variance"], abs=1e-12)
    assert normalised == pytest.approx(expected["E_normalised_gradient"], abs=1e-12)


def authors_rule(
    sizes: list[int], rule: str, gamma: float, cutoff: float, rounds: list[dict[str, Any]]
) -> list[list[list[float]]]:
    """theta of each axis after each round, by the published rule, in plain Python: one distribution
    for each hyperparameter of a grid, all moved by the same validation errors."""
    theta = [[1 / n for _ in range(n)] for n in sizes]
    store, history, stopped, out = [0.0] * len(sizes), [], False, []
    for t, played in enumerate(rounds, 1):
        total = sum(played["size"])
        weights = [gamma**age if age else 1.0 for age in reversed(range(len(history)))]
        lam = sum(w * h for w, h in zip(weights, history, strict=True)) / (sum(weights) or 1)
        history.append(sum(v * s for v, s in zip(played["size"], played["after"], strict=True)))
        history[-1] /= total
        for f, n in enumerate(sizes):
            if stopped:
                break
            g = [0.0] * n
            each = zip(played["places"], played["after"], played["size"], strict=True)
            for places, s, v in each:
                g[places[f]] += v / total * (s - lam) / theta[f][places[f]]
            norm, eta = max(map(abs, g)), math.sqrt(2 * math.log(n))
            if rule == "aggressive":
                eta = eta / norm if norm else 0.0
            elif rule == "adaptive":
                store[f] += norm**2
                eta = eta / math.sqrt(store[f]) if store[f] else 0.0
            elif rule == "auto":
                eta = eta / math.sqrt(t)
            elif rule == "scale":
                eta = eta * math.sqrt(2 * math.log(n))
            logs = [math.log(p) - eta * x for p, x in zip(theta[f], g, strict=True)]
            top = max(logs)
            total_mass = sum(math.exp(x - top) for x in logs)
            theta[f] = [math.exp(x - top) / total_mass for x in logs]
        entropy = -sum(p * math.log(p) for one in theta for p in one if p)
        stopped = stopped or entropy < cutoff
        out.append([list(one) for one in theta])
    return out


@fuzz(60)
@given(
    sizes=st.lists(st.integers(1, 5), min_size=1, max_size=3),
    rule=st.sampled_from(RULES),
    gamma=st.sampled_from([0.0, 0.3, 1.0]),
    cutoff=st.sampled_from([0.0, 1e-4, 0.5]),
    seed=st.integers(0, 10**6),
)
def test_theta_moves_as_by_the_authors_rule(sizes, rule, gamma, cutoff, seed):
    gen, k, rounds = generator(seed), math.prod(sizes), []
    tuner = FedEx(table(k), rule, gamma, cutoff, axes=tuple(sizes))
    moved = []
    for _ in range(8):
        arm = tuner.ask(torch.arange(6), gen)
        _, before, after, size = drawn_round(k, 6, gen)
        places = [np.unravel_index(a, sizes) for a in arm.tolist()]
        rounds.append({"places": places, "after": after.tolist(), "size": size.tolist()})
        tuner = tuner.tell(result(arm, before, after, size))
        moved.append([one.theta for one in tuner.thetas])
    expected = authors_rule(sizes, rule, gamma, cutoff, rounds)
    for ours, theirs in zip(moved, expected, strict=True):
        for one, other in zip(ours, theirs, strict=True):
            assert one == pytest.approx(other, abs=1e-9)


@given(seed=st.integers(0, 10**6))
@fuzz(25)
def test_the_order_of_clients_and_the_scale_of_sizes_change_nothing(seed):
    gen = generator(seed)
    tuner = FedEx(table(5), gamma=0.5).tell(result(*drawn_round(5, 7, gen)))
    arm, before, after, size = drawn_round(5, 7, gen)
    moved = tuner.tell(result(arm, before, after, size))
    order = torch.randperm(7, generator=gen)
    for other in (
        tuner.tell(result(arm[order], before[order], after[order], size[order])),
        tuner.tell(result(arm, before, after, 3 * size)),
    ):
        assert other.theta.tolist() == pytest.approx(moved.theta.tolist(), abs=1e-12)


def test_a_constant_added_to_all_scores_of_all_rounds_changes_nothing_after_the_first():
    gen = generator(3)
    first, second = drawn_round(4, 6, gen), drawn_round(4, 6, gen)
    plain, raised = FedEx(table(4), first_baseline="skip"), FedEx(table(4), first_baseline="skip")
    for arm, before, after, size in (first, second):
        plain = plain.tell(result(arm, before, after, size))
        raised = raised.tell(result(arm, before, after + 0.25, size))
    assert plain.theta.tolist() != [0.25] * 4
    assert raised.theta.tolist() == pytest.approx(plain.theta.tolist(), abs=1e-12)


def test_an_aggressive_step_moves_the_largest_entry_by_the_root_of_2_ln_k_whatever_the_scores():
    for scale in (1e-9, 1.0, 1e6):
        scores = [scale * s for s in (0.1, 0.7, 0.4, 0.2)]
        g = gradient([0.5, 0.3, 0.2], [0, 1, 2, 2], scores, [3, 5, 2, 9], 0.0)
        largest = max(map(abs, g))
        assert step_size("aggressive", [largest], 3) * largest == pytest.approx(
            math.sqrt(2 * math.log(3)), abs=1e-12
        )


def test_with_one_client_and_no_baseline_the_aggressive_rule_ignores_the_score():
    for arm in range(3):
        thetas = [
            FedEx(table(3)).tell(result([arm], [0.5], [s], [7])).theta.tolist()
            for s in (0.01, 0.5, 1.0)
        ]
        assert thetas[0] == pytest.approx(thetas[1], abs=1e-12)
        assert thetas[0] == pytest.approx(thetas[2], abs=1e-12)


def test_the_first_baseline_of_0_pushes_down_all_that_were_drawn_and_skip_does_not():
    arm, size = torch.arange(3), torch.ones(3, dtype=torch.long)
    told = arm, real([0.5] * 3), real([0.1, 0.2, 0.3]), size
    assert (FedEx(table(9)).tell(result(*told)).theta[:3] < 1 / 9).all()
    skipped = FedEx(table(9), first_baseline="skip").tell(result(*told))
    assert torch.equal(skipped.theta, FedEx(table(9)).theta)
    assert skipped.baseline == pytest.approx(0.2)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("score", ["error", "loss"])
def test_scores_that_are_no_numbers_never_win_and_never_crash(rule, score):
    for bad in (math.nan, math.inf):
        tuner = FedEx(table(3), rule, score=score, gamma=1.0)
        for _ in range(5):
            scores = real([bad, 0.9, 0.8])
            tuner = tuner.tell(result([0, 1, 2], scores, scores, [1] * 3))
        assert tuner.theta.isfinite().all()
        assert tuner.theta.sum() == pytest.approx(1)
        assert tuner.theta[0] < tuner.theta[2]
        assert tuner.best != 0
        high = real([bad, 7.0, 3.0])  # losses may be above 1
        moved = FedEx(table(3), rule, score=score).tell(result([0, 1, 2], high, high, [1] * 3))
        assert moved.theta[0] < moved.theta[1] < moved.theta[2]
    nothing = real([math.nan] * 3)
    told = FedEx(table(3), rule).tell(result([0, 1, 2], nothing, nothing, [1] * 3))
    assert told.theta.tolist() == pytest.approx([1 / 3] * 3)


def test_scores_that_equal_the_baseline_leave_theta_where_it_is():
    """Though their mean is not quite the same number, and some rules divide by the rest."""
    for rule, score in product(RULES, (0.1, 0.3, 7.7)):
        tuner, gen = FedEx(table(9), rule, gamma=1.0, first_baseline="skip"), generator(0)
        for _ in range(30):
            same = torch.full((10,), score, dtype=F64)
            tuner = tuner.tell(
                result(tuner.ask(torch.arange(10), gen), same, same, torch.full((10,), 3))
            )
        assert tuner.theta.tolist() == pytest.approx([1 / 9] * 9, abs=1e-12)


@pytest.mark.parametrize("score", [0.9, 1 / 3, 1e-7])
@pytest.mark.parametrize("rounds", [600, pytest.param(5000, marks=pytest.mark.nightly)])
def test_equal_scores_never_move_theta_though_the_rounding_of_their_mean_adds_up(score, rounds):
    tuner, told = FedEx(table(3), gamma=1.0, first_baseline="skip"), real([score] * 3)
    for _ in range(rounds):
        tuner = tuner.tell(result([0, 1, 1], told, told, [5] * 3))
    assert tuner.baseline != score  # 0.9 comes out as 0.9 - 1e-14 after 600 rounds
    assert torch.equal(tuner.theta, FedEx(table(3)).theta)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("gamma", [0.0, 0.9, 1.0])
@pytest.mark.parametrize("same", [[0.3, 0.9], [0.0, 0.0]], ids=str)
def test_a_round_without_a_difference_moves_nothing_though_the_baseline_is_not_quite_0(
    rule, gamma, same
):
    tuner = FedEx(table(3), rule, gamma, difference=True, first_baseline="skip")
    tuner = tuner.tell(result([0, 1], [0.3, 0.9], [0.4, 0.8], [10, 10]))
    assert 0 < tuner.baseline < 1e-15
    tuner = tuner.tell(result([0, 0], same, same, [10, 10]))
    assert torch.equal(tuner.theta, FedEx(table(3)).theta)


@pytest.mark.parametrize("lower", [1e-3, 1e-8, 1e-10])
def test_equal_differences_of_scores_move_nothing_however_small_beside_the_scores(lower):
    tuner = FedEx(table(3), gamma=0.9, difference=True, first_baseline="skip")
    for t in range(5):
        before = [0.3 + 0.01 * t, 0.9, 0.7]
        after = [x - lower for x in before]
        tuner = tuner.tell(result([0, 1, 2], before, after, [10] * 3))
    assert torch.equal(tuner.theta, FedEx(table(3)).theta)


def test_scores_of_a_row_that_cancel_leave_theta_where_it_is():
    g = gradient([0.5, 0.5], [0, 0, 0], [0.1, 0.2, 0.3], [1, 1, 1], 0.2)
    assert (0.1 - 0.2) + (0.3 - 0.2) != 0
    assert g == [0.0, 0.0]


@pytest.mark.parametrize("size", [1, 1000])
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e6])
def test_a_small_difference_of_scores_is_no_rounding_error_and_a_tiny_one_is(scale, size):
    def moved(by: float) -> list[float]:
        scores = [scale * (1 + by), scale * (1 - by)]
        return gradient([0.5, 0.5], [0, 1], scores, [size] * 2, scale)

    assert moved(1e-8) == pytest.approx([scale * 1e-8, -scale * 1e-8], rel=1e-6)
    assert moved(1e-11) == [0, 0]


def test_scores_near_the_largest_number_have_diverged_and_theta_stays_a_distribution():
    for rule, second in product(RULES, (math.inf, -math.inf, 1e307)):
        scores = real([1e308, second, 0.5])
        moved = FedEx(table(3), rule).tell(result([0, 1, 2], scores, scores, [1] * 3))
        assert moved.theta.sum() == pytest.approx(1)
        assert moved.theta[2] > max(moved.theta[:2])


def test_a_grid_has_a_distribution_for_each_axis_in_the_order_of_its_rows():
    space = SearchSpace({"lr": LogUniform(1e-2, 1), "batch": PowerOfTwo(8, 32)})
    tuner = FedEx(space.grid(2), axes=space.sizes(2))
    assert tuner.axes == (2, 3)
    after = (tuner.table.lr < 0.1).double()  # the low rate is always wrong
    moved = tuner.tell(result(torch.arange(6), after, after, torch.ones(6).long()))
    # g = (1, 0) on the first axis, whose step is sqrt(2 ln 2)
    assert moved.thetas[0].theta[1] == pytest.approx(
        1 / (1 + math.exp(-math.sqrt(2 * math.log(2))))
    )
    assert moved.thetas[1].theta == pytest.approx([1 / 3] * 3)
    assert moved.final.lr == 1


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("how", [{"score": "loss"}, {"difference": True}])
def test_what_diverges_does_not_gain_though_scores_have_become_better(rule, how):
    both = torch.tensor([0, 1])
    tuner = FedEx(table(3), rule, gamma=1.0, first_baseline="skip", **how)
    tuner = tuner.tell(result(both, real([2.3, 2.3]), real([2.0, 2.0]), torch.tensor([1, 1])))
    after = tuner.tell(result(both, real([0.6, 0.6]), real([0.4, math.inf]), torch.tensor([1, 3])))
    assert after.theta[1] <= after.theta[2] + 1e-12  # which nobody has drawn
    assert after.theta[1] < after.theta[0]


def test_clients_without_validation_examples_count_nowhere():
    arm, before = torch.tensor([0, 1, 2]), real([0.5, 0.5, 0.0])
    after, size = real([0.2, 0.4, math.inf]), torch.tensor([3, 4, 0])
    all_three = FedEx(table(3)).tell(result(arm, before, after, size))
    without = FedEx(table(3)).tell(result(arm[:2], before[:2], after[:2], size[:2]))
    assert all_three.thetas == without.thetas
    tuner = FedEx(table(3))
    assert tuner.tell(result(arm[2:], before[2:], after[2:], size[2:])) is tuner


def test_theta_may_become_0_and_is_then_never_drawn():
    z = exponentiate([-math.log(2)] * 2, [0.0, 5000.0], 1.0)
    assert z == [0.0, -5000.0]
    assert math.exp(z[1]) == 0
    assert entropy(z) == 0
    last = 1 - 2**-53
    assert Theta(z, []).draw([0.0, 0.5, last]) == [0, 0, 0]
    gaps = [0.0, 0.25, 0.0, 0.75, 0.0]
    assert [draw_row(gaps, u) for u in (0.0, 0.2499, 0.25, last)] == [1, 1, 3, 3]
    assert draw_row([1 / 3] * 3, last) == 2  # their sum is rounded


def test_arms_are_drawn_with_the_probabilities_of_theta():
    tuner = FedEx(table(6), axes=(2, 3))
    thetas = tuple(Theta([math.log(p) for p in one], []) for one in ([0.8, 0.2], [0.5, 0.3, 0.2]))
    tuner = replace(tuner, thetas=thetas)
    assert tuner.theta.tolist() == pytest.approx([0.4, 0.24, 0.16, 0.1, 0.06, 0.04])
    n = 40_000
    counts = torch.bincount(tuner.ask(torch.arange(n), generator(5)), minlength=6)
    expected = n * tuner.theta
    chi2 = float(((counts - expected) ** 2 / expected).sum())
    assert chi2 < 20.5  # 0.999-quantile of chi-square with 5 degrees of freedom


def test_the_final_configuration_is_the_most_likely_and_of_equal_ones_the_first():
    tuner = FedEx(table(3))
    assert tuner.final.lr == tuner.table.lr[0]
    moved = tuner.tell(result([0], [0.5], [0.9], [7]))
    assert moved.best == 1
    assert moved.final.lr == tuner.table.lr[1]


def test_sampled_configurations_follow_theta_until_it_has_stopped():
    tuner = FedEx(table(4), cutoff=0.1)
    rows = tuner.table[tuner.ask(torch.arange(200), generator(1))].lr
    assert sorted(set(rows.tolist())) == tuner.table.lr.tolist()
    for _ in range(9):
        after = real([0.9, 0.9, 0.1, 0.9])
        tuner = tuner.tell(result(torch.arange(4), after, after, torch.ones(4, dtype=torch.long)))
    assert tuner.stopped
    assert tuner.entropy < 0.1
    assert set(tuner.table[tuner.ask(torch.arange(50), generator(2))].lr.tolist()) == {
        float(tuner.final.lr)
    }


def test_below_the_cutoff_theta_stays_and_the_baseline_goes_on():
    ones = [1, 1]
    tuner = FedEx(table(2), eta0=6.0, cutoff=0.3)
    first = tuner.tell(result([0, 1], [0.5, 0.5], [0.2, 0.8], ones))
    assert first.stopped
    second = first.tell(result([0, 0], [0.9, 0.9], [0.9, 0.9], ones))
    assert second.thetas == first.thetas
    assert second.baseline == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"step": "bold"}, "step is 'bold'; allowed: .*'aggressive', 'adaptive', 'constant'"),
        ({"gamma": 1.5}, "gamma is 1.5; allowed: a number from 0 to 1"),
        ({"cutoff": -1.0}, "cutoff is -1.0"),
        ({"eta0": math.inf}, "eta0 is inf"),
        ({"score": "accuracy"}, "score is 'accuracy'"),
        ({"first_baseline": "one"}, "first_baseline is 'one'"),
        ({"axes": 3.0}, "axes is 3.0; allowed: whole numbers whose product is 3"),
        ({"thetas": (Theta.uniform(2),)}, r"thetas is \(2,\); allowed: distributions over \(3,\)"),
        ({"axes": (2, 2)}, r"axes is \(2, 2\); allowed: whole numbers whose product is 3"),
    ],
)
def test_options_that_are_not_allowed_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        FedEx.__init__.__wrapped__(object.__new__(FedEx), table(3), **options)


def test_a_row_of_probability_0_and_sizes_of_0_are_refused():
    with pytest.raises(ValueError, match=r"theta is .* above 0 for each row"):
        gradient([1.0, 0.0], [1], [0.5], [3], 0.0)
    with pytest.raises(ValueError, match=r"size is \[0\]; allowed: numbers of examples"):
        gradient([1.0, 0.0], [0], [0.5], [0], 0.0)


def test_the_table_around_an_arm_begins_with_the_arm_and_stays_within_eps():
    space = SearchSpace({"lr": LogUniform(1e-4, 1)})
    tuner = around(space, 9, 0.1, gamma=0.5)(LocalHP(lr=0.01, batch=7), generator(0))
    assert isinstance(tuner, FedEx)
    assert tuner.gamma == 0.5
    assert len(tuner.table) == 9
    assert tuner.table.lr[0] == 0.01
    assert (tuner.table.batch == 7).all()
    away = (tuner.table.lr.log10() + 2).abs()
    assert 0 < away[1:].max() <= 0.4 + 1e-12
    assert len(set(away.tolist())) == 9


def test_the_first_version_draws_k_for_each_arm_and_its_rows_independently():
    space = SearchSpace({"lr": LogUniform(1e-4, 1)})
    make = around(space, (1, 3, 9, 27), None)
    tables = [make(LocalHP(lr=0.5), generator(seed)).table for seed in range(200)]
    sizes = [len(table) for table in tables]
    assert all(30 < sizes.count(k) < 70 for k in (1, 3, 9, 27))  # 50 each, give or take 3 sd
    assert all(table.lr.reshape(-1)[0] == 0.5 for table in tables)
    others = torch.cat([table.lr[1:] for table in tables if len(table) > 1]).log10()
    assert float(others.mean()) == pytest.approx(-2, abs=0.15)  # of Uniform(-4, 0), not near 0.5
    assert float(others.std()) == pytest.approx(4 / 12**0.5, abs=0.1)


def test_each_arm_has_a_discount_of_its_own_unless_it_is_given():
    c = LocalHP(mu=1e-3, batch=8, weight_decay=1e-3)
    gammas = [around(FEDEX.client, 3)(c, generator(seed)).gamma for seed in range(40)]
    assert 0 <= min(gammas) < 0.2
    assert 0.8 < max(gammas) < 1


def test_a_bad_option_is_refused_before_the_search_begins():
    for how, message in (
        ({"cutoff": -1.0}, "cutoff is -1"),
        ({"k": 0}, "k is 0; allowed: a whole number of at least 1"),
        ({"k": (3, 0)}, "k is 0; allowed: a whole number of at least 1"),
        ({"k": ()}, r"k is \(\); allowed: a number of rows, or numbers to draw from"),
        ({"eps": 2.0}, "eps is 2.0; allowed: a number from 0 to 1"),
        ({"gamma": "tune"}, "gamma is 'tune'; allowed: a number from 0 to 1, or 'tuned'"),
        ({"axes": (3, 9)}, r"option is 'axes'; allowed: one of \['step', 'cutoff', 'eta0'"),
        ({"steps": "auto"}, "option is 'steps'; allowed: one of"),
    ):
        with pytest.raises(ValueError, match=message):
            around.__wrapped__(FEDEX.client, **how)
    with pytest.raises(ValueError, match=r"space is .* a SearchSpace of the clients"):
        around(FEDEX.server)


# In rounds and in races, on real digits.

MODEL = linear(64, 10)
SMALL = Spaces(
    SearchSpace({"lr": LogUniform(1e-2, 1), "batch": PowerOfTwo(8, 32), "epochs": Integer(2, 3)}),
    SearchSpace({"momentum": Choice((0, 0.5))}, ServerHP),
)
METHODS = (
    FedAvg(), FedProx(), Reptile(), Scaffold(), FedDyn(), FedPA(), Ditto(), MAML()
)  # fmt: skip


@pytest.fixture(scope="module")
def fed():
    return digits(clients=14).to("cpu", F64)


def test_with_one_configuration_fedex_is_fedavg_exactly(fed):
    c = LocalHP(lr=0.3, batch=8)
    plain, tuned = (
        train(start(MODEL, fed, tuner, seed=4), MODEL, fed, 3) for tuner in (c, FedEx(c))
    )
    assert torch.equal(plain.w, tuned.w)


def test_with_equal_configurations_fedex_is_the_search_alone(fed):
    how = {"seed": 3, "total": 46, "cap": 10}
    alone = successive_halving(MODEL, fed, SMALL, **how)
    inside = successive_halving(MODEL, fed, SMALL, **how, tuner=around(SMALL.client, 5, eps=0))
    alone, inside = tune(alone, MODEL, fed), tune(inside, MODEL, fed)
    assert inside.out == alone.out
    assert torch.equal(inside.winner.w, alone.winner.w)


@pytest.mark.parametrize("method", METHODS, ids=lambda m: type(m).__name__)
def test_within_halving_every_method_ends_as_arm_by_arm(method, fed):
    """Algorithm 3: theta of an arm goes on from one stage to the next."""
    pulls = isinstance(method, FedProx | FedDyn | Ditto)
    client = SMALL.client
    if pulls:
        client = SearchSpace({**client.distributions, "mu": LogUniform(1e-2, 1)})
    spaces = Spaces(client, SMALL.server)
    how = {"seed": 5, "method": method, "tuner": around(client, 3)}
    search = successive_halving(MODEL, fed, spaces, 16, 8, 2, 2, **how)
    done = tune(search, MODEL, fed, 5)
    ends = [8 if stop is None else stop for stop in done.out]
    alone = [train(run, MODEL, fed, n, 5) for run, n in zip(search.runs, ends, strict=True)]
    assert done.used == search.total
    for one, other in zip(done.runs, alone, strict=True):
        assert one.tuner.theta.tolist() == pytest.approx(other.tuner.theta.tolist(), abs=1e-9)
        assert [r.row.tolist() for r in one.history] == [r.row.tolist() for r in other.history]
    assert len(done.winner.tuner.thetas[0].norms) == done.winner.round


def test_fedex_is_told_errors_or_losses_as_it_asks(fed):
    for kind in ("error", "loss"):
        tuner = FedEx(LocalHP(lr=[0.1, 0.5], batch=8), score=kind)
        run = communicate(start(MODEL, fed, tuner, seed=2), MODEL, fed)
        (played,) = run.history
        p = played.size.double() / played.size.sum()
        before, after = (float(p @ getattr(s, kind)) for s in (played.before, played.after))
        assert run.tuner.baseline == pytest.approx(after)  # lambda of round 2
        tuner = FedEx(tuner.table, score=kind, difference=True)
        run = communicate(start(MODEL, fed, tuner, seed=2), MODEL, fed)
        assert run.tuner.baseline == pytest.approx(after - before)


@pytest.mark.parametrize("rule", ["constant", "adaptive", "auto"])
def test_where_scores_stay_as_they_are_theta_finds_the_best_arm(rule):
    scores, size = real([0.8, 0.2, 0.7]), torch.ones(10, dtype=torch.long)
    for seed in range(20):
        tuner, gen = FedEx(table(3), rule, gamma=1.0, first_baseline="skip"), generator(seed)
        for _ in range(60):
            arm = tuner.ask(torch.arange(10), gen)
            tuner = tuner.tell(result(arm, scores[arm], scores[arm], size))
        assert tuner.best == 1


def test_personalised_with_sampled_configurations_each_client_has_its_own(fed):
    tuner = FedEx(LocalHP(lr=[0.0, 0.5], batch=8))
    run = start(MODEL, fed, tuner, seed=1)
    c = tuner.table[tuner.ask(torch.arange(len(fed)), generator(0))]
    mixed = personalise(run, MODEL, fed, c)
    ends = [personalise(run, MODEL, fed, tuner.table[j]).error for j in (0, 1)]
    assert min(ends) < mixed.error < max(ends)


def test_a_run_with_fedex_goes_on_from_its_file_as_if_never_stopped(fed, tmp_path):
    tuner = FedEx(LocalHP(lr=[0.1, 0.5, 0.9], batch=8), "adaptive", gamma=0.5)
    half = train(start(MODEL, fed, tuner, seed=6), MODEL, fed, 3)
    save_run(half, tmp_path / "run")
    whole, resumed = (train(r, MODEL, fed, 3) for r in (half, load_run(tmp_path / "run")))
    assert torch.equal(whole.w, resumed.w)
    assert whole.tuner.thetas == resumed.tuner.thetas


def test_a_tuner_in_place_of_what_makes_one_is_refused(fed):
    for wrong, message in (
        (FedEx(LocalHP()), "tuner is FedEx.*; allowed: a function of a configuration"),
        (lambda c, gen: None, "what tuner makes is None; allowed: a tuner"),
    ):
        with pytest.raises(ValueError, match=message):
            draw_arms.__wrapped__(SMALL, 2, tuner=wrong)
    with pytest.raises(ValueError, match=r"space is LocalHP.*as in around\(FEDEX.client\)"):
        around.__wrapped__(LocalHP(), generator(0))

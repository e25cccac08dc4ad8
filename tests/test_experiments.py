"""Measurements of the exercises' experiments, compared with plain loops."""

import math
from dataclasses import replace
from statistics import fmean

import pytest
import torch

from fedlab_edu import (
    LocalHP,
    communicate,
    digits,
    evaluate,
    linear,
    mlp,
    random_search,
    start,
    train,
    tune,
)
from fedlab_edu.experiments import election, judging, selection
from fedlab_edu.experiments.bounds import looseness
from fedlab_edu.experiments.credits import RATES, personal_error
from fedlab_edu.experiments.deadline import play_work, slow_error
from fedlab_edu.experiments.drift import relative_drift
from fedlab_edu.experiments.first_round import error_found
from fedlab_edu.experiments.weights import better_share
from fedlab_edu.oco.bounds import bound, grid_size
from fedlab_edu.oco.tasks import draw_tasks
from fedlab_edu.papers.report import paired
from fedlab_edu.rounds.draw import draw_work
from fedlab_edu.rounds.tuner import Fixed
from fedlab_edu.seeds import generator
from fedlab_edu.tuners.fedtune import fedtune
from tests.reference import plain_loop


@pytest.mark.parametrize(("alpha", "epochs", "seed"), [(0.1, 2, 3), (100.0, 1, 0)])
def test_relative_drift_is_the_distance_between_clients_for_each_step_of_their_average(
    alpha, epochs, seed
):
    train, model = digits(by="label", clients=10, alpha=alpha, seed=seed).train, linear(64, 10)
    w, c = model.init(seed), LocalHP(lr=0.1, batch=16, epochs=epochs)
    W = plain_loop(model, w, train, c, [10 * seed + i for i in range(10)])
    sizes = [len(train.examples(i)[1]) for i in range(10)]
    m = sum(n * w_i for n, w_i in zip(sizes, W, strict=True)) / sum(sizes)
    apart = sum(n * (w_i - m).norm() for n, w_i in zip(sizes, W, strict=True)) / sum(sizes)
    assert relative_drift(alpha, epochs, seed) == pytest.approx(
        float(apart / (m - w).norm()), rel=1e-4
    )


def test_the_better_share_is_that_of_a_plain_loop_over_clients():
    gen, p, seen = generator(5), [0.5, 0.5], []
    for _ in range(400):
        u, factor = torch.rand(2, 10, generator=gen, dtype=torch.float64).tolist()
        new = [*p]
        for u_j, f in zip(u, factor, strict=True):
            row = int(u_j >= p[0])
            new[row] *= math.exp(-(1, 4)[row] * (0.5 + f) / 20)
        p = [x / sum(new) for x in new]
        seen.append(p[0])
    assert better_share(4.0, False, 5) == pytest.approx(sum(seen[300:]) / 100)


def test_the_printed_rule_rests_at_one_over_s_and_the_division_at_the_best():
    for ratio in (2.0, 4.0):
        printed, divided = ([better_share(ratio, d, s) for s in range(6)] for d in (False, True))
        assert sum(printed) / 6 == pytest.approx(ratio / (1 + ratio), abs=0.03)
        assert sum(divided) / 6 > 0.95


@pytest.mark.parametrize(("V", "tau"), [(0.0, 150), (0.5, 400)])
def test_looseness_is_the_bound_over_the_regret_of_a_plain_loop(V, tau):
    gen, m, D, b = generator(3), 100, 2.0, 2.0
    k = grid_size(D, 1.0, b, m, tau)
    c = [D / (j * math.sqrt(m)) for j in range(1, k + 1)]
    eta = math.sqrt(math.log(k) / (k * tau)) / (m * b)
    tasks = draw_tasks("absolute", tau, m, 1, V, 0.5, gen).z[..., 0].tolist()
    draws = torch.rand(tau, generator=gen, dtype=torch.float64).tolist()
    p, start, regret, best = [1 / k] * k, 0.0, 0.0, []
    for t, (z, u) in enumerate(zip(tasks, draws, strict=True), start=1):
        arm = next(a for a in range(k) if u < sum(p[: a + 1]))
        w, paid = start, 0.0
        for z_i in z:
            paid += abs(w - z_i)
            w = min(max(w - c[arm] * ((w > z_i) - (w < z_i)), -1.0), 1.0)
        best.append(sorted(z)[m // 2 - 1])  # a median
        regret += paid - sum(abs(best[-1] - z_i) for z_i in z)
        p[arm] *= math.exp(-eta * paid / p[arm])
        p = [x / sum(p) for x in p]
        start += (best[-1] - start) / t
    middle = sum(best) / tau
    spread = math.sqrt(sum((w - middle) ** 2 for w in best) / tau)
    limit = bound(D, 1.0, b, m, tau, spread, c)
    assert looseness(V, tau, 3) == pytest.approx(limit / (regret / tau))


def test_elections_that_ask_everyone_agree_and_name_the_best_of_all_clients():
    wrong, images = election._wrong(1)
    assert wrong.shape == (election.ARMS, 42)
    assert images.sum() == digits().val.n.sum()
    assert election.winner_repeats(42, True, 1) == election.winner_repeats(42, False, 1) == 1.0


def test_elections_of_one_client_agree_as_often_as_two_of_all_pairs_of_clients():
    wrong, images = election._wrong(2)
    named = (wrong / images).argmin(0)  # by each client alone
    expected = sum((named == arm).mean() ** 2 for arm in range(election.ARMS))
    found = election.winner_repeats(1, True, 2)
    assert found == pytest.approx(expected, abs=4 * (0.25 / election.ELECTIONS) ** 0.5)


def test_more_clients_and_the_same_clients_make_winners_repeat():
    def mean(clients: int, same: bool) -> float:
        return sum(election.winner_repeats(clients, same, seed) for seed in range(6)) / 6

    assert mean(1, False) < mean(5, False) < mean(20, False)
    assert mean(5, False) < mean(5, True) < mean(20, True)


def test_fedex_finds_a_row_below_the_mean_and_halving_a_better_arm():
    def mean(where: str, first: str) -> float:
        return sum(error_found(where, first, seed) for seed in range(200)) / 200

    for first in ("zero", "skip"):
        assert mean("halving", first) < mean("alone", first) < 0.5  # 0.5 is the mean of all rows


def test_the_first_baseline_is_the_only_difference_of_skip():
    same = [error_found("alone", "zero", s) == error_found("alone", "skip", s) for s in range(50)]
    assert 0 < sum(same) < 50  # they often name the same row in the end


def test_step_sizes_of_fedpop_l_stay_in_its_box():
    """A tenth of four decades to either side of the base: 2^1.33 = 10^0.4."""
    for lr in (0.01, 1.0):  # 1.0 is the upper end of the range
        gained = judging.doublings("difference", lr, 0)
        assert -0.4 / math.log10(2) <= gained <= (0.4 / math.log10(2) if lr < 1 else 0)


@pytest.mark.long
def test_a_base_that_is_too_small_rises_more_if_vectors_are_judged_by_the_difference():
    """Check what the exercise's sample answers say, over its eight seeds."""
    table = {
        score: [judging.doublings(score, 0.01, seed) for seed in range(8)]
        for score in ("after", "difference")
    }
    d = paired(table["difference"], table["after"])
    assert d.mean > d.half > 0
    assert sum(table["after"]) > 0


def test_the_personal_error_is_that_of_a_new_model_with_the_rows_that_were_found():
    fed, model = digits(by="label", clients=10, alpha=0.1, seed=3), mlp(64, 32, 10)
    how = {"credit": "leave_one_out", "buffer": "shared", "credit_baseline": "running_mean"}
    search = fedtune(model, fed, RATES, 40, lr=100, seed=3, **how)
    for _ in range(40):
        search = search.step(model, fed)
    rows = search.logits.argmax(1)
    run = train(start(model, fed, Fixed(RATES, rows), seed=3), model, fed, 40, 10, progress=False)
    error = personal_error("leave_one_out", "shared", 3)
    assert error == pytest.approx(100 * evaluate(run, model, fed).error)


def test_a_round_with_all_places_is_the_round():
    fed, model = digits(clients=14), linear(64, 10)
    run = start(model, fed, LocalHP(lr=0.1, batch=8), seed=2)
    work, whole = draw_work(run, fed.sizes, 5), communicate(run, model, fed, 5)
    all_here = play_work(run, work, model, fed)
    torch.testing.assert_close(all_here.w, whole.w)
    some = play_work(run, work.keep([0, 3]), model, fed)
    assert some.history[0].client.tolist() == [whole.history[0].client.tolist()[j] for j in (0, 3)]


def test_a_server_that_no_client_reaches_in_time_keeps_its_first_model():
    fed, model = digits("iid", 10, seed=1), linear(64, 10)
    first = evaluate(start(model, fed, seed=1), model, fed[[*range(5, 10)]]).error
    assert slow_error(0.4, False, 1) == pytest.approx(100 * first)


@pytest.mark.parametrize("seconds", [0, -1.0, float("inf")])
def test_a_server_that_waits_for_no_time_or_for_ever_is_refused(seconds):
    with pytest.raises(ValueError, match=r"^seconds is .*; allowed: a finite number above 0"):
        slow_error(seconds, False, 0)


@pytest.mark.parametrize(("by", "rounds"), [("train", 1), ("test", 0), ("test", 6)])
def test_other_parts_and_rounds_than_an_experiment_has_are_refused(by, rounds, unchecked):
    with pytest.raises(ValueError, match=r"^(by|rounds) is .*; allowed: "):
        selection.printed_error(by, rounds, 0)


@pytest.mark.long
def test_not_to_wait_costs_slow_clients_with_data_of_their_own_and_pays_with_equal_data():
    mean = {
        (skewed, seconds): fmean(slow_error(seconds, skewed, seed) for seed in range(8))
        for skewed in (True, False)
        for seconds in (6.0, 1.5)
    }
    assert mean[True, 1.5] > mean[True, 6.0] + 10
    assert mean[False, 1.5] < mean[False, 6.0]


def test_printed_errors_are_those_of_the_arms_that_a_search_has_trained():
    fed, model = digits(seed=2), linear(64, 10)
    search = random_search(model, fed, selection._SPACES, 180, 20, seed=2)
    arms = tune(search, model, fed).runs
    test = [100 * evaluate(run, model, fed).error for run in arms]

    asked = replace(fed, test=fed.val)
    chosen = min(range(9), key=lambda a: evaluate(arms[a], model, asked).error)
    assert selection.printed_error("test", 1, 2) == pytest.approx(min(test), abs=1e-4)
    assert selection.printed_error("validation", 1, 2) == pytest.approx(test[chosen], abs=1e-4)


def test_with_more_rounds_to_choose_from_test_data_print_a_lower_error():
    one, five = ([selection.printed_error("test", n, s) for s in range(3)] for n in (1, 5))
    assert all(b <= a for a, b in zip(one, five, strict=True))
    assert sum(five) < sum(one)

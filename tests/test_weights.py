"""Federated multiplicative weights: against vectors and plain products, and where they rest."""

import math

import numpy as np
import pytest
import torch

from fedlab_edu import LocalHP, Reptile, communicate, digits, linear, load_run, save_run, start
from fedlab_edu.rounds.tuner import Tuner
from fedlab_edu.seeds import generator
from fedlab_edu.tuners.fedex import draw_row
from fedlab_edu.tuners.weights import MultiplicativeWeights, multiplicative_weights
from tests.rounds import result
from tests.vectors import case


def test_rounds_of_the_vectors_give_the_expected_probabilities():
    told, expected = case("fed_multiplicative_weights", "mw-3")
    p = told["p"]
    for (arm, score), after in zip(told["rounds"], expected["p_per_round"], strict=True):
        p = multiplicative_weights(p, arm, score, told["n"])
        assert p == pytest.approx(after, abs=1e-12)


def mean_move(p: list[float], losses: list[float], importance_weighting: bool) -> list[float]:
    """The expected change of ln p_j / p_0 in a round of one client of 16 rounds in all."""
    moved = [0.0] * len(p)
    for arm, q in enumerate(p):
        after = multiplicative_weights(p, [arm], [losses[arm]], 16, importance_weighting)
        for j, (x, y) in enumerate(zip(after, p, strict=True)):
            moved[j] += q * (math.log(x / y) - math.log(after[0] / p[0]))
    return moved


def test_as_printed_p_rests_where_it_is_proportional_to_1_over_the_loss():
    _, expected = case("fed_multiplicative_weights", "mf")
    rest = expected["one_over_loss"]
    assert rest == pytest.approx([4 / 7, 2 / 7, 1 / 7])
    assert mean_move(rest, [1.0, 2.0, 4.0], False) == pytest.approx([0, 0, 0], abs=1e-12)
    away = mean_move([0.5, 0.3, 0.2], [1.0, 2.0, 4.0], False)
    assert away[1] < 0
    assert away[2] < 0


def test_divided_by_p_the_move_is_the_loss_itself_wherever_p_is():
    for p in ([1 / 3] * 3, [0.1, 0.2, 0.7]):
        move = mean_move(p, [1.0, 2.0, 4.0], True)
        assert move == pytest.approx([0.0, -1 / 4, -3 / 4])  # (s_0 - s_j) / sqrt(16)


def test_with_importance_weights_the_best_arm_wins_and_as_printed_it_does_not():
    """One run is chaotic, so that the claim is about means over seeds; their errors are 0.02."""
    losses, means = [1.0, 2.0, 4.0], {}
    for importance in (False, True):
        ends = []
        for seed in range(30):
            p, gen = [1 / 3] * 3, generator(seed)
            for _ in range(50):
                u = torch.rand(5, generator=gen, dtype=torch.float64).tolist()
                rows = [draw_row(p, u_i) for u_i in u]
                p = multiplicative_weights(p, rows, [losses[j] for j in rows], 50, importance)
            ends.append(p[0])
        means[importance] = sum(ends) / len(ends)
    assert means[True] > 0.85
    assert means[False] == pytest.approx(4 / 7, abs=0.1)


def test_a_probability_of_0_stays_and_cannot_have_been_drawn():
    assert multiplicative_weights([0.5, 0.0, 0.5], [0], [9.0], 1)[1] == 0
    assert multiplicative_weights([1.0, 0.0], [0], [1e6], 1) == [1, 0]  # whatever the score
    with pytest.raises(ValueError, match=r"p is \[1.0, 0.0\]; allowed: above 0 for each row"):
        multiplicative_weights([1.0, 0.0], [1], [0.5], 1)
    with pytest.raises(ValueError, match="rounds is 0; allowed: at least 1"):
        multiplicative_weights([1.0], [0], [0.5], 0)


def test_in_rounds_it_is_told_losses_and_moves_as_its_rule_says(tmp_path):
    fed, model = digits(clients=14).to("cpu", torch.float64), linear(64, 10)
    tuner = MultiplicativeWeights(LocalHP(lr=[0.01, 0.1, 1.0], batch=8), rounds=9)
    run = start(model, fed, tuner, seed=1, method=Reptile())
    for _ in range(3):
        before, run = [*run.tuner.p], communicate(run, model, fed, 5)
        played = run.history[-1]
        for arm, loss in zip(played.row.tolist(), played.after.loss.tolist(), strict=True):
            before[arm] *= math.exp(-loss / 3)
        expected = [x / sum(before) for x in before]
        assert run.tuner.p == pytest.approx(expected, abs=1e-12)
    save_run(run, tmp_path / "run")
    assert load_run(tmp_path / "run").tuner.p == run.tuner.p
    assert run.tuner.final.lr == tuner.table.lr[max(range(3), key=run.tuner.p.__getitem__)]


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("given", [np.array([0.25, 0.75]), torch.tensor([0.25, 0.75])])
def test_probabilities_of_any_array_are_numbers_that_a_file_holds(given, tmp_path):
    fed, model = digits(clients=14), linear(64, 10)
    tuners = (MultiplicativeWeights(LocalHP(lr=[0.1, 1]), 9, p=p) for p in (given, (0.25, 0.75)))
    run, plain = (communicate(start(model, fed, tuner), model, fed) for tuner in tuners)
    save_run(run, tmp_path / "run")
    assert load_run(tmp_path / "run").tuner.p == run.tuner.p == plain.tuner.p


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("given", [None, 0.5, "ab", (0.5, None), (math.nan, 1), (1.5, -0.5)])
def test_what_are_no_probabilities_is_refused(given):
    with pytest.raises(ValueError, match=r"p is .*; allowed: 2 probabilities"):
        MultiplicativeWeights(LocalHP(lr=[0.1, 1]), 9, p=given)


def test_what_diverges_counts_as_twice_the_largest_loss_and_p_stays_a_distribution():
    """Told +inf, p would become 0 for a row that may have met one unlucky client."""
    tuner = MultiplicativeWeights(LocalHP(lr=[0.1, 0.2]), 4)
    moved = tuner.tell(result([0, 1], [1.0, 1.0], [math.inf, 3.0], [3, 3]))
    weak, strong = math.exp(-2 * 3.0 / 2), math.exp(-3.0 / 2)
    assert moved.p == pytest.approx((weak / (weak + strong), strong / (weak + strong)))
    for _ in range(200):
        moved = moved.tell(result([0, 1], [1.0, 1.0], [math.nan, 0.5], [3, 3]))
        assert sum(moved.p) == pytest.approx(1)
        assert moved.p[1] > 0
    assert moved.p[0] < 1e-20
    unheard = tuner.tell(result([0], [1.0], [math.inf], [0]))
    assert unheard.p == (0.5, 0.5)
    assert isinstance(moved, Tuner)
    assert moved.final.lr == 0.2

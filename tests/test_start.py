"""Runs from given weights, and runs whose targets are numbers: least squares by federated SGD."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from fedlab_edu import (
    MAML,
    Ditto,
    Estimate,
    FedAvg,
    FedDyn,
    Federation,
    FedEx,
    FedPA,
    FedProx,
    LocalHP,
    LogUniform,
    Reptile,
    Scaffold,
    SearchSpace,
    ServerHP,
    Spaces,
    communicate,
    digits,
    evaluate,
    fedpop,
    fedtune,
    from_module,
    mlp,
    personalise,
    start,
    train,
    tune,
)  # fmt: skip
from fedlab_edu.data import federate
from fedlab_edu.search.baselines import make_arms, race
from fedlab_edu.search.schedules import bracket
from fedlab_edu.seeds import seed_for

MODEL = mlp(64, 10)
FULL = LocalHP(lr=0.1, batch=1000)  # one step on all of a client's examples


@pytest.fixture(scope="module")
def fed():
    return digits(clients=14).to("cpu", torch.float64)


# ------------------------------------------------------------------------------- given weights


def test_a_run_starts_from_a_copy_of_the_weights_given_in_the_precision_of_the_data(fed):
    w = torch.linspace(-1, 1, MODEL.d)
    run = start(MODEL, fed, w=w)
    assert run.w.dtype == torch.float64
    assert torch.equal(run.w, w.double())
    assert run.round == 0
    assert not run.server.v.any()
    w64 = w.double().requires_grad_()
    run = start(MODEL, fed, w=w64)
    with torch.no_grad():
        w64.zero_()
    assert torch.equal(run.w, w.double())
    assert not run.w.requires_grad


def test_the_seed_draws_the_same_clients_and_minibatches_for_given_weights(fed):
    drawn = start(MODEL, fed, seed=5)
    again = start(MODEL, fed, seed=5, w=MODEL.init(seed_for(5)))
    one, other = (train(run, MODEL, fed, 2, clients=3) for run in (drawn, again))
    assert torch.equal(one.w, other.w)


@pytest.mark.parametrize(
    "method",
    [FedAvg(), FedProx(), Reptile(), Scaffold(), FedDyn(), FedPA(), Ditto(), MAML()],
    ids=lambda method: type(method).__name__,
)
def test_with_every_method_the_clients_start_from_the_weights_given(method, fed):
    w = torch.linspace(-1, 1, MODEL.d, dtype=torch.float64)
    needs = {"FedDyn": {"mu": 0.5}, "FedPA": {"epochs": 4}}.get(type(method).__name__, {})
    run = start(MODEL, fed, LocalHP(batch=8, **needs), ServerHP(lr=0), method=method, w=w)
    after = communicate(run, MODEL, fed, clients=3)
    torch.testing.assert_close(after.w, w, rtol=0, atol=1e-12)
    loss = torch.nn.functional.cross_entropy
    (played,) = after.history
    x, y = fed.val.examples(int(played.client[0]))
    assert played.before.loss[0].item() == pytest.approx(loss(MODEL(w, x), y).item())


def test_a_tuner_starts_from_the_weights_given(fed):
    w = torch.linspace(-1, 1, MODEL.d, dtype=torch.float64)
    run = communicate(start(MODEL, fed, FedEx(LocalHP(lr=[0.0, 0.0])), w=w), MODEL, fed, 3)
    torch.testing.assert_close(run.w, w, rtol=0, atol=1e-12)


def test_training_goes_on_from_a_network_trained_before(fed):
    net = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
    run = start(MODEL, fed, w=MODEL.flatten(net))
    x, y = fed.test.x[torch.cat(fed.test.rows)], fed.test.y[torch.cat(fed.test.rows)]
    expected = (net.double()(x).argmax(1) != y).double().mean().item()
    assert evaluate(run, MODEL, fed).error == pytest.approx(expected)


@pytest.mark.parametrize(
    ("w", "message"),
    [
        ([0.0] * 650, r"w is 'list'; allowed: a Tensor: another run's w, or model.flatten\(net\)"),
        (torch.zeros(649), r"shape of w is \(649,\); allowed: \(650,\)"),
        (torch.zeros(1, 650), r"shape of w is \(1, 650\); allowed: \(650,\)"),
        (torch.zeros(650).long(), "dtype of w is 'torch.int64'; allowed: floats"),
        (torch.zeros(650).to_sparse(), "layout of w is 'torch.sparse_coo'; allowed: dense"),
        (torch.zeros(650, device="meta"), "device of w is 'meta'; allowed: one that holds numbers"),
        (torch.full((650,), torch.nan), r"w \(650 of 650 values\) is \[nan, .*; allowed: finite"),
    ],
    ids=["list", "shorter", "matrix", "whole numbers", "sparse", "meta", "NaN"],
)
def test_weights_that_are_none_of_the_model_are_refused(w, message, fed):
    with pytest.raises(ValueError, match=message):
        start.__wrapped__(MODEL, fed, w=w)


# ---------------------------------------------------------------------------------- regression


def squared(outputs: Tensor, y: Tensor) -> Tensor:
    return (outputs[:, 0] - y) ** 2


RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = X @ [1.0, -2.0, 0.5] + 0.3 + RNG.normal(size=60)
ROWS = np.split(np.arange(60), [10, 25])
LINEAR = from_module(nn.Linear(3, 1), squared)


def least_squares_gradient(w: np.ndarray, rows: np.ndarray) -> np.ndarray:
    ones = np.c_[X[rows], np.ones(len(rows))]
    return 2 * ones.T @ (ones @ w - Y[rows]) / len(rows)


@pytest.fixture(scope="module")
def points():
    return federate(X, Y, ROWS, fractions=(0.6, 0.2, 0.2))


def trained(fed: Federation, i: int) -> np.ndarray:
    return fed.train.rows[i].numpy()


def test_a_round_of_least_squares_is_the_average_of_the_clients_gradient_steps(points):
    w = torch.tensor([0.5, 0.0, -1.0, 2.0], dtype=torch.float64)
    after = communicate(start(LINEAR, points, FULL, w=w), LINEAR, points, clients=3)
    n = [len(trained(points, i)) for i in range(3)]
    steps = [w.numpy() - 0.1 * least_squares_gradient(w.numpy(), trained(points, i))
             for i in range(3)]  # fmt: skip
    expected = sum(k * step for k, step in zip(n, steps, strict=True)) / sum(n)
    assert after.w.tolist() == pytest.approx(expected.tolist(), abs=1e-12)


def test_the_error_of_a_regression_is_its_loss(points):
    w = np.array([0.5, 0.0, -1.0, 2.0])
    run = start(LINEAR, points, FULL, w=torch.tensor(w))
    tested = torch.cat(points.test.rows).numpy()
    mean = np.mean((np.c_[X[tested], np.ones(len(tested))] @ w - Y[tested]) ** 2)
    assert evaluate(run, LINEAR, points) == pytest.approx((mean, mean))
    assert mean > 1  # an error rate could not be
    run = communicate(run, LINEAR, points, clients=3)
    for scores in (run.history[0].before, run.history[0].after):
        assert torch.equal(scores.loss, scores.error)
    own = personalise(run, LINEAR, points)
    assert own.loss == own.error


def test_rounds_of_one_step_reach_the_least_squares_solution(points):
    run = train(start(LINEAR, points, FULL), LINEAR, points, 300, clients=3)
    rows = np.concatenate([trained(points, i) for i in range(3)])
    solution = np.linalg.lstsq(np.c_[X[rows], np.ones(len(rows))], Y[rows], rcond=None)[0]
    assert run.w.tolist() == pytest.approx(solution.tolist(), abs=1e-6)


def test_a_tuner_of_a_regression_finds_the_rate_that_learns(points):
    tuner = FedEx(LocalHP(lr=[0.0, 0.05], batch=1000))
    run = train(start(LINEAR, points, tuner), LINEAR, points, 30, clients=3)
    assert run.tuner.theta[1] > 0.6


def test_a_client_that_has_diverged_errs_more_than_any_other_of_a_regression(points):
    tuner = FedEx(LocalHP(lr=[1e200, 0.05], batch=1000))
    far = torch.full((4,), 5.0)  # where all losses are far above 1
    run = train(start(LINEAR, points, tuner, w=far), LINEAR, points, 12, clients=3)
    assert min(float(r.before.error.min()) for r in run.history[:1]) > 1
    assert any(r.diverged.any() for r in run.history)
    assert run.tuner.theta[1] > 0.99


def test_a_search_scores_the_arms_of_a_regression_by_their_squared_error(points):
    arms = make_arms(LocalHP(lr=[0.0, 0.05], batch=1000))
    begun = race(LINEAR, points, arms, [bracket((1,), 2, 2)], estimate=Estimate("averaged"))
    search = tune(begun, LINEAR, points, clients=3)
    rows = torch.cat(points.val.rows).numpy()
    for run, found in zip(search.runs, search.scores, strict=True):
        outputs = np.c_[X[rows], np.ones(len(rows))] @ run.w.numpy()
        assert found == pytest.approx(np.mean((outputs - Y[rows]) ** 2))
    assert search.best == 1


def test_targets_in_a_column_train_as_those_in_a_row(points):
    column = federate(X, Y[:, None], ROWS, fractions=(0.6, 0.2, 0.2))
    model = replace(LINEAR, loss=lambda outputs, y: ((outputs - y) ** 2).mean(1))
    w = torch.zeros(4, dtype=torch.float64)
    one = train(start(model, column, FULL, w=w), model, column, 3, clients=3)
    other = train(start(LINEAR, points, FULL, w=w), LINEAR, points, 3, clients=3)
    torch.testing.assert_close(one.w, other.w, rtol=0, atol=1e-12)
    assert evaluate(one, model, column).error == pytest.approx(
        evaluate(other, LINEAR, points).error
    )


def test_populations_and_searches_for_single_clients_begin_at_given_weights(fed):
    w = start(MODEL, fed, seed=9).w
    for search in (
        fedpop(MODEL, fed, Spaces(SearchSpace({"lr": LogUniform(0.01, 1)})), 8, 4, w=w),
        fedtune(MODEL, fed, LocalHP(lr=[0.1, 1.0]), 4, w=w),
    ):
        begun = search.runs if hasattr(search, "runs") else [search.final_run()]
        assert all(torch.equal(run.w, w) for run in begun)
    with pytest.raises(ValueError, match=r"^shape of w is"):
        fedtune(MODEL, fed, LocalHP(), 4, w=w[1:])

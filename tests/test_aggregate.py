"""Averages and server steps against hand-computed numbers and independent vectors."""

import math

import pytest
import torch

from fedlab_edu import LocalHP, ServerHP, local_sgd, server_sgd, weighted_average
from tests.vectors import case, quadratic

F64 = torch.float64


def test_numbers_of_examples_may_be_larger_than_half_precision_can_add():
    W, n = torch.ones(4, 3, dtype=torch.float16), torch.full((4,), 6e4, dtype=torch.float16)
    assert weighted_average(W, n).tolist() == [1, 1, 1]


def test_the_average_is_weighted_by_the_numbers_of_examples():
    W = torch.tensor([[1.0, 0.0], [4.0, 8.0]])
    assert weighted_average(W, torch.tensor([3, 1])).tolist() == [1.75, 2.0]


def test_scaling_the_sizes_or_permuting_the_clients_changes_nothing():
    W, n = torch.randn(6, 4, dtype=F64), torch.tensor([1, 2, 30, 4, 50, 6])
    average = weighted_average(W, n)
    torch.testing.assert_close(weighted_average(W, 7 * n), average)
    order = torch.tensor([3, 1, 5, 0, 2, 4])
    torch.testing.assert_close(weighted_average(W[order], n[order]), average)


@pytest.mark.parametrize("n", [[0, 0], [-1, 2], [1.0, math.nan], []])
def test_weights_that_cannot_average_are_refused(n):
    with pytest.raises(ValueError, match=r"n is \[.*finite weights of at least 0"):
        weighted_average(torch.zeros(len(n), 3), torch.tensor(n))


def test_whole_numbers_are_no_models():
    with pytest.raises(ValueError, match=r"^dtype of W is 'torch.int64'; allowed: floats$"):
        weighted_average.__wrapped__(torch.tensor([[1, 2], [3, 4]]), torch.tensor([1, 1]))


def test_the_default_server_step_returns_the_average_itself():
    w, average = torch.tensor([1.0, 2.0]), torch.tensor([5.0, -3.0])
    new, speed = server_sgd(w, torch.zeros(2), average, ServerHP(), t=9)
    assert new.tolist() == average.tolist()
    assert speed.tolist() == [-4.0, 5.0]


def test_server_momentum_and_decay_follow_the_independent_vector():
    given, expected = case("fedopt", "server-optimiser")
    b = ServerHP(given["lr"], given["momentum"], given["gamma"])
    w = torch.tensor(given["w"], dtype=F64)
    v = torch.zeros_like(w)
    for t, (W, n) in enumerate(zip(given["models"], given["sizes"], strict=True), 1):
        average = weighted_average(torch.tensor(W, dtype=F64), torch.tensor(n))
        w, v = server_sgd(w, v, average, b, t)
        assert w.tolist() == pytest.approx(expected["w_per_round"][t - 1], abs=1e-9)


def test_rounds_count_from_1():
    with pytest.raises(ValueError, match="t is 0; allowed: at least 1"):
        server_sgd(torch.zeros(2), torch.zeros(2), torch.zeros(2), ServerHP(), 0)


@pytest.mark.parametrize(("name", "own"), [("fedavg", {}), ("fedprox", {"mu": "rho"})])
def test_a_round_on_quadratics_moves_w_as_the_closed_form_says(name, own):
    given, expected = case("fedopt", name)
    model, clients = quadratic(given["A"], given["mu"])
    hyper = {field: given[key] for field, key in own.items()}
    c = LocalHP(lr=given["lr"], epochs=given["K"], batch=1, **hyper)
    w = torch.tensor(given["w"], dtype=F64)
    W = local_sgd(model, w, clients, c, [0, 1, 2])
    average = weighted_average(W, torch.tensor(given["sizes"]))
    b = ServerHP(lr=given.get("server_lr", 1.0))
    new, _ = server_sgd(w, torch.zeros_like(w), average, b)
    assert new.tolist() == pytest.approx(expected["w"], abs=1e-9)

"""Networks with a client axis against the plain networks that they stand for."""

import pytest
import torch
from torch import Tensor, nn

from fedlab_edu import Model, char_lstm, from_module, lenet5, linear, mlp

X = torch.rand(3, 5, 1, 28, 28, dtype=torch.float64)
MODELS = {
    "linear": (linear(784, 10), X),
    "mlp": (mlp(784, 20, 15, 10), X),
    "lenet5": (lenet5(), X),
    "lenet5-32": (lenet5(32, 3, 7), torch.rand(3, 5, 3, 32, 32, dtype=torch.float64)),
    "char_lstm": (char_lstm(30, 4, 6), torch.arange(3 * 5 * 8).view(3, 5, 8) % 30),
    "module": (
        from_module(nn.Sequential(nn.Conv2d(1, 2, 5), nn.Flatten(), nn.Linear(1152, 4))),
        X,
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_row_i_of_the_outputs_is_what_the_plain_network_with_weights_i_says(name: str) -> None:
    model, x = MODELS[name]
    W = torch.stack([model.init(seed).double() + 0.01 * seed for seed in range(3)])
    outputs = model.outputs(W, x)
    for i in range(3):
        plain = model.unflatten(W[i])(x[i])
        torch.testing.assert_close(outputs[i], plain, rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(model(W[i], x[i]), plain, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_a_vector_becomes_a_network_and_the_same_vector_again(name: str) -> None:
    model, _ = MODELS[name]
    w = torch.randn(model.d)
    net = model.unflatten(w)
    assert model.d == sum(p.numel() for p in net.parameters())
    assert torch.equal(model.flatten(net), w)


def test_first_weights_are_those_of_a_fresh_pytorch_network() -> None:
    torch.manual_seed(11)
    net = nn.Linear(784, 10)
    w = linear(784, 10).init(11)
    assert torch.equal(w[:7840].view(784, 10), net.weight.T)
    assert torch.equal(w[7840:], net.bias)


def test_drawing_first_weights_leaves_the_global_generator_alone() -> None:
    before = torch.get_rng_state()
    mlp(4, 3, 2).init(5)
    assert torch.equal(torch.get_rng_state(), before)


def test_views_write_through_to_the_matrix() -> None:
    model = mlp(4, 3, 2)
    W = torch.zeros(2, model.d)
    model.views(W)[1][0].fill_(7)  # the first client's first bias
    assert W[0, 12:15].tolist() == [7, 7, 7]
    assert W.sum() == 21


@pytest.mark.parametrize(
    ("net", "message"),
    [
        (nn.Sequential(nn.BatchNorm1d(3)), r"net\.0 is 'BatchNorm1d'; allowed: GroupNorm"),
        (
            nn.Sequential(nn.InstanceNorm1d(3, track_running_stats=True)),
            r"net\.0 is 'InstanceNorm1d'",
        ),
        (nn.Sequential(nn.LSTM(2, 3)), r"net\.0 is 'LSTM'; allowed: layers that vmap can batch"),
        (nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.1)), r"net\.1 is 'Dropout'; allowed: dropout"),
    ],
)
def test_layers_that_mix_clients_are_refused(net: nn.Module, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_module(net)


def test_a_module_may_bring_a_loss_of_its_own() -> None:
    def squared(outputs: Tensor, y: Tensor) -> Tensor:
        return (outputs[:, 0] - y) ** 2

    model = from_module(nn.Linear(2, 1), squared)
    assert model.loss(torch.tensor([[3.0]]), torch.tensor([1])).tolist() == [4.0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mlp(4), r"sizes is \(4,\); allowed: two or more"),
        (lambda: mlp(4, 0, 2), r"sizes is \(4, 0, 2\)"),
        (lambda: lenet5(8), r"side is 8; allowed: 28 or 32"),
    ],
)
def test_impossible_sizes_are_refused(make: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()  # type: ignore[operator]


def test_a_model_is_a_value_of_plain_fields() -> None:
    model = mlp(4, 3, 2)
    assert isinstance(model, Model)
    assert model.shapes == ((4, 3), (3,), (3, 2), (2,))
    assert model.flipped == (True, False, True, False)


def test_a_model_keeps_the_weights_that_its_network_had() -> None:
    net = nn.Linear(2, 2)
    model, before = from_module(net), net.weight.detach().clone()
    with torch.no_grad():
        net.weight.zero_()
    assert torch.equal(model.init()[:4], before.flatten())


def test_frozen_parameters_are_no_part_of_w_and_stay_in_the_network() -> None:
    net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
    net[0].requires_grad_(False)
    model = from_module(net)
    assert model.d == 10
    w = torch.arange(10.0)
    x = torch.randn(5, 3)
    again = model.unflatten(w)
    assert torch.equal(again[0].weight, net[0].weight)
    assert torch.equal(model.flatten(again), w)
    torch.testing.assert_close(model(w, x), again(x))

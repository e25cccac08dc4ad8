"""Networks with a client axis against the plain networks that they stand for."""

import os
import pickle
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from multiprocessing import get_context

import pytest
import torch
from torch import Tensor, nn

from fedlab_edu import (
    Clients,
    LocalHP,
    Model,
    char_lstm,
    cnn_cifar,
    cnn_femnist,
    from_module,
    gradient,
    lenet5,
    linear,
    local_sgd,
    mlp,
    score,
)
from fedlab_edu.models.layers import Drop
from tests.test_layers import masks

GEN = torch.Generator().manual_seed(0)
X = torch.rand(3, 5, 1, 28, 28, dtype=torch.float64, generator=GEN)


class Twice(nn.Module):
    """One dropout layer at two places, and one more of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.last, self.shared = nn.Dropout(0.0), nn.Dropout(0.0)
        self.a, self.b, self.c = nn.Linear(784, 6), nn.Linear(6, 5), nn.Linear(5, 4)

    def forward(self, x: Tensor) -> Tensor:
        x = self.a(self.shared(x.flatten(1))).relu()
        return self.c(self.last(self.b(self.shared(x)).relu()))


MODELS = {
    "linear": (linear(784, 10), X),
    "mlp": (mlp(784, 20, 15, 10), X),
    "lenet5": (lenet5(), X),
    "lenet5-8": (lenet5(8), X[..., 9:17, 9:17]),
    "lenet5-32": (
        lenet5(32, 3, 7),
        torch.rand(3, 5, 3, 32, 32, dtype=torch.float64, generator=GEN),
    ),
    "cnn_femnist": (cnn_femnist(), X[:, :2]),
    "cnn_cifar": (cnn_cifar(), torch.rand(3, 2, 3, 24, 24, dtype=torch.float64, generator=GEN)),
    "cnn_cifar-32": (
        cnn_cifar(32, 7),
        torch.rand(3, 1, 3, 32, 32, dtype=torch.float64, generator=GEN),
    ),
    "char_lstm": (char_lstm(30, 4, 6), torch.arange(3 * 5 * 8).view(3, 5, 8) % 30),
    "module": (
        from_module(nn.Sequential(nn.Conv2d(1, 2, 5), nn.Flatten(), nn.Linear(1152, 4))),
        X,
    ),
    "twice": (from_module(Twice()), X),
}


@pytest.mark.parametrize("name", MODELS)
def test_row_i_of_the_outputs_is_what_the_plain_network_with_weights_i_says(name):
    model, x = MODELS[name]
    W = torch.stack([model.init(seed).double() + 0.01 * seed for seed in range(3)])
    outputs = model.outputs(W, x)
    for i in range(3):
        plain = model.unflatten(W[i])(x[i])
        torch.testing.assert_close(outputs[i], plain, rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(model(W[i], x[i]), plain, rtol=1e-12, atol=1e-12)


class Masked(nn.Module):
    """In the place of dropout layers: multiplies by one mask after the other."""

    def __init__(self, masks: Iterator[Tensor]) -> None:
        super().__init__()
        self.masks = masks

    def forward(self, x: Tensor) -> Tensor:
        return x * next(self.masks)


FEATURES = {  # of an example, at each place
    "linear": [784],
    "mlp": [15],
    "lenet5": [84],
    "lenet5-8": [84],
    "lenet5-32": [84],
    "cnn_femnist": [2048],
    "cnn_cifar": [192],
    "cnn_cifar-32": [192],
    "char_lstm": [6],
    "twice": [784, 6, 5],
}


def test_all_our_networks_drop_and_one_without_a_dropout_layer_does_not():
    assert {name for name, (model, _) in MODELS.items() if model.drops} == set(FEATURES)


@pytest.mark.parametrize("name", FEATURES)
def test_outputs_and_gradients_with_dropout_are_those_of_the_plain_network_with_masks(name):
    model, x = MODELS[name]
    drop = Drop(torch.tensor([5, -6, 7]), torch.tensor([0.5, 0.1, 0.8], dtype=torch.float64))
    W = torch.stack([model.init(seed).double() for seed in range(3)]).requires_grad_()
    b = x.shape[1]
    of_place = [masks(drop, place, (b, f)) for place, f in enumerate(FEATURES[name])]
    outputs = model.forward(model.views(W), x, drop)
    (gradient,) = torch.autograd.grad((outputs**2).sum(), W)
    for i in range(3):
        net = model.unflatten(W[i].detach())
        masked = Masked(mask[i] for mask in of_place)
        for parent in list(net.modules()):
            for child, part in list(parent.named_children()):
                if isinstance(part, nn.Dropout):
                    setattr(parent, child, masked)
        if isinstance(net, Twice):
            net.last = net.shared = masked
        plain = net(x[i])
        torch.testing.assert_close(outputs[i], plain, rtol=1e-11, atol=1e-12)
        expected = torch.autograd.grad((plain**2).sum(), list(net.parameters()))
        for view, g, flip in zip(model.views(gradient), expected, model.flipped, strict=True):
            torch.testing.assert_close(view[i], g.T if flip else g, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", FEATURES)
def test_evaluation_never_drops_not_even_after_training_has(name):
    model, x = MODELS[name]
    W = torch.stack([model.init(seed).double() for seed in range(3)])
    drop = Drop(torch.arange(3), torch.full((3,), 0.5, dtype=torch.float64))
    before = model.outputs(W, x)
    assert not torch.allclose(model.forward(model.views(W), x, drop), before)
    assert torch.equal(model.forward(model.views(W), x, None), before)
    assert torch.equal(model.outputs(W, x), before)


def test_threads_that_drop_at_the_same_time_each_drop_their_own():
    model, x = MODELS["twice"]
    W = torch.stack([model.init(seed).double() for seed in range(3)])
    rates = torch.full((3,), 0.5, dtype=torch.float64)
    drops = [None, *(Drop(torch.arange(3) + 10 * n, rates) for n in range(3))]
    expected = [model.forward(model.views(W), x, drop) for drop in drops]
    wrong: list[int] = []

    def repeat(n: int) -> None:
        for _ in range(30):
            if not torch.equal(model.forward(model.views(W), x, drops[n]), expected[n]):
                wrong.append(n)

    threads = [threading.Thread(target=repeat, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_the_networks_of_papers_have_as_many_weights_as_a_count_by_hand_gives():
    # 5 * 5 * in * out + out for a convolution, in * out + out for a linear layer
    leaf = [25 * 32 + 32, 25 * 32 * 64 + 64, 7 * 7 * 64 * 2048 + 2048, 2048 * 62 + 62]
    assert cnn_femnist().d == sum(leaf) == 6_603_710
    tutorial = [25 * 3 * 64 + 64, 25 * 64 * 64 + 64, 6 * 6 * 64 * 384 + 384]
    tutorial += [384 * 192 + 192, 192 * 10 + 10]
    assert cnn_cifar().d == sum(tutorial) == 1_068_298


@pytest.mark.parametrize("name", MODELS)
def test_a_vector_becomes_a_network_and_the_same_vector_again(name):
    model, _ = MODELS[name]
    w = torch.randn(model.d)
    net = model.unflatten(w)
    assert model.d == sum(p.numel() for p in net.parameters())
    assert torch.equal(model.flatten(net), w)


def test_first_weights_are_those_of_a_fresh_pytorch_network():
    torch.manual_seed(11)
    net = nn.Linear(784, 10)
    w = linear(784, 10).init(11)
    assert torch.equal(w[:7840].view(784, 10), net.weight.T)
    assert torch.equal(w[7840:], net.bias)


def test_drawing_first_weights_leaves_the_global_generator_alone():
    before = torch.get_rng_state()
    mlp(4, 3, 2).init(5)
    assert torch.equal(torch.get_rng_state(), before)


def test_views_write_through_to_the_matrix():
    model = mlp(4, 3, 2)
    W = torch.zeros(2, model.d)
    model.views(W)[1][0].fill_(7)  # the first client's first bias
    assert W[0, 12:15].tolist() == [7, 7, 7]
    assert W.sum() == 21


def test_a_module_may_bring_a_loss_of_its_own():
    def squared(outputs: Tensor, y: Tensor) -> Tensor:
        return (outputs[:, 0] - y) ** 2

    model = from_module(nn.Linear(2, 1), squared)
    assert model.loss(torch.tensor([[3.0]]), torch.tensor([1])).tolist() == [4.0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mlp(4), r"sizes is \(4,\); allowed: two or more"),
        (lambda: mlp(4, 0, 2), r"sizes is \(4, 0, 2\)"),
        (lambda: lenet5(16), r"side is 16; allowed: 8, 28 or 32"),
        (lambda: cnn_cifar(28), r"side is 28; allowed: 24 or 32"),
    ],
)
def test_impossible_sizes_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_a_model_is_a_value_of_plain_fields():
    model = mlp(4, 3, 2)
    assert isinstance(model, Model)
    assert model.shapes == ((4, 3), (3,), (3, 2), (2,))
    assert model.flipped == (True, False, True, False)


def test_a_model_is_shown_in_one_short_line():
    assert repr(linear(64, 10)) == "Model(650 weights in 2 tensors)"


def test_a_model_keeps_the_weights_that_its_network_had():
    net = nn.Linear(2, 2)
    model, before = from_module(net), net.weight.detach().clone()
    with torch.no_grad():
        net.weight.zero_()
    assert torch.equal(model.init()[:4], before.flatten())


@pytest.mark.parametrize("name", MODELS)
def test_a_model_from_a_pickle_is_the_same_function(name):
    model, x = MODELS[name]
    again = pickle.loads(pickle.dumps(model))
    w = model.init(1).double()
    assert torch.equal(again.init(1), model.init(1))
    assert torch.equal(again(w, x[0]), model(w, x[0]))
    assert torch.equal(pickle.loads(pickle.dumps(again)).init(1), model.init(1))


def test_threads_draw_the_first_weights_that_each_would_draw_alone():
    model, drawn = mlp(20, 20, 5), {}
    alone = {seed: model.init(seed) for seed in range(4)}

    def draw(seed: int) -> None:
        drawn[seed] = [model.init(seed) for _ in range(100)]

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(draw, range(4)))
    for seed, weights in drawn.items():
        assert all(torch.equal(w, alone[seed]) for w in weights)


@pytest.mark.processes
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_process_forked_while_a_thread_draws_first_weights_can_draw_its_own():
    begun, end = threading.Event(), threading.Event()
    os.register_at_fork(before=end.set)  # hooks run from the last on, so this is before the wait

    def slow() -> nn.Module:
        begun.set()
        assert end.wait(60)
        return nn.Linear(2, 2)

    with ThreadPoolExecutor(1) as pool:
        drawn = pool.submit(replace(linear(2, 2), net=slow).init)
        assert begun.wait(60)
        child = get_context("fork").Process(target=linear(2, 2).init)
        child.start()
        drawn.result()
    child.join(60)
    child.kill()
    assert child.exitcode == 0


def test_frozen_weights_keep_their_digits_when_other_precisions_have_passed():
    net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2)).double()
    net[0].requires_grad_(False)
    model, x = from_module(net), torch.randn(5, 3, dtype=torch.float64)
    w = model.init()
    before = model(w, x)
    model(w.bfloat16(), x.bfloat16())
    assert torch.equal(model(w, x), before)


def test_a_loss_that_is_a_mean_is_refused_by_name():
    model = from_module(nn.Linear(3, 2), nn.CrossEntropyLoss())
    clients = Clients(torch.zeros(4, 3), torch.zeros(4, dtype=torch.long), (torch.arange(4),))
    for use in (score, gradient, lambda m, w, c: local_sgd(m, w, c, LocalHP(), [0])):
        with pytest.raises(ValueError, match=r"the loss is \(\); allowed: \(\d,\), one for each"):
            use(model, model.init(), clients)


def test_frozen_parameters_are_no_part_of_w_and_stay_in_the_network():
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

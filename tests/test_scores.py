"""Losses, errors, gradients and products with Hessians, in pieces of every size, against loops."""

import gc
import weakref

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fedlab_edu import (
    Clients,
    LocalHP,
    char_lstm,
    cnn_femnist,
    from_module,
    gradient,
    lenet5,
    linear,
    local_sgd,
    mlp,
    score,
)
from fedlab_edu.training import scores as scores_module
from fedlab_edu.training.memory import activations, chunks
from fedlab_edu.training.scores import hessian_product
from tests.test_local import federation

MODEL = mlp(64, 16, 8, 10)
# bytes that evaluation may take; and, for any network, how many examples of one model at once
ROOM = pytest.mark.parametrize(("room", "rows"), [(256 << 20, 4096), (1, 4096), (9_000, 40)])


@pytest.fixture(autouse=True)
def small_pieces(request, monkeypatch):
    given = getattr(request.node, "callspec", None)
    if given is not None and "room" in given.params:
        monkeypatch.setattr(scores_module, "SCORE_BYTES", given.params["room"])
        monkeypatch.setattr(scores_module, "ROWS_AT_ONCE", given.params["rows"])


def world(sizes: tuple[int, ...] = (3, 1, 20, 5)) -> tuple[Clients, Tensor]:
    return federation((1, 8, 8), 10, sizes), torch.stack([MODEL.init(i).double() for i in range(4)])


@ROOM
def test_scores_are_the_means_over_each_clients_own_examples(room, rows):
    clients, W = world()
    for w in (W, W[0]):
        loss, error = [], []
        for i in range(4):
            x, y = clients.examples(i)
            net = MODEL.unflatten(w[i] if w.dim() == 2 else w)
            loss.append(F.cross_entropy(net(x), y).item())
            error.append((net(x).argmax(1) != y).double().mean().item())
        scores = score(MODEL, w, clients)
        torch.testing.assert_close(scores.loss.tolist(), loss, rtol=1e-12, atol=1e-12)
        assert scores.error.tolist() == pytest.approx(error, abs=1e-15)


@ROOM
def test_gradients_are_those_of_each_clients_mean_loss(room, rows):
    clients, W = world()
    for w in (W, W[0]):
        for i, g in enumerate(gradient(MODEL, w, clients)):
            x, y = clients.examples(i)
            net = MODEL.unflatten(w[i] if w.dim() == 2 else w)
            F.cross_entropy(net(x), y).backward()
            for p in net.parameters():
                p.data = p.grad
            torch.testing.assert_close(g, MODEL.flatten(net), rtol=0, atol=1e-14)


@ROOM
def test_products_with_the_hessian_are_differences_of_gradients(room, rows):
    clients, W = world()
    u = torch.randn(W.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    h = 1e-6 / u.norm(dim=1, keepdim=True)
    after, before = (gradient(MODEL, W + sign * h * u, clients) for sign in (1, -1))
    expected = (after - before) / (2 * h)
    torch.testing.assert_close(hessian_product(MODEL, W, clients, u), expected, rtol=0, atol=1e-7)


def test_a_client_without_examples_has_gradient_0():
    clients, W = world((3, 0, 2, 1))
    g = gradient(MODEL, W, clients)
    assert not g[1].any()
    assert g[[0, 2, 3]].norm(dim=1).min() > 0


def test_an_infinite_loss_is_a_diverged_model_even_where_nothing_is_nan():
    clients = Clients(torch.zeros(2, 3), torch.tensor([0, 1]), torch.arange(2).split(1))
    model = linear(3, 2)
    w = torch.zeros(model.d)
    w[-1] = -torch.inf  # the second class never
    assert score(model, w, clients).loss.tolist() == [0, torch.inf]
    assert score(model, w, clients).error.tolist() == [0, torch.inf]


def test_a_client_without_validation_data_scores_0():
    clients, W = world((3, 0, 2, 1))
    for weights in (W, W[0]):
        assert score(MODEL, weights, clients).loss[1] == 0
        assert score(MODEL, weights, clients).loss[[0, 2, 3]].min() > 0


def examples(*shape: int, of: torch.dtype = torch.float32) -> Clients:
    x = torch.zeros(3, *shape, dtype=of)
    return Clients(x, torch.zeros(3, dtype=torch.long), (torch.arange(3),))


def test_targets_may_be_vectors_of_real_numbers_and_the_error_is_then_the_loss():
    def squared(outputs: Tensor, y: Tensor) -> Tensor:
        return ((outputs - y) ** 2).sum(-1)

    net, gen = nn.Linear(3, 2), torch.Generator().manual_seed(0)
    x, y = torch.randn(6, 3, generator=gen), torch.randn(6, 2, generator=gen)
    model, clients = from_module(net, squared), Clients(x, y, torch.arange(6).split([2, 4]))
    W, parts = model.init().repeat(2, 1), zip(x.split([2, 4]), y.split([2, 4]), strict=True)
    expected = [((net(x_i) - y_i) ** 2).sum(1).mean().item() for x_i, y_i in parts]
    for w in (W, W[0]):
        seen = score(model, w, clients)
        assert seen.loss.tolist() == pytest.approx(expected, rel=1e-5)
        assert torch.equal(seen.error, seen.loss)
    before = gradient(model, W, clients).norm(dim=1)
    trained = local_sgd(model, W, clients, LocalHP(lr=0.05, epochs=2000), [0, 1])
    assert (gradient(model, trained, clients).norm(dim=1) < 1e-2 * before).all()


def test_one_output_counts_no_errors():
    def logistic(outputs: Tensor, y: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(outputs[:, 0], y.float(), reduction="none")

    model = from_module(nn.Linear(3, 1), logistic)
    x, y = torch.randn(8, 3), torch.arange(8) % 2
    seen = score(model, model.init(), Clients(x, y, (torch.arange(8),)))
    assert torch.equal(seen.error, seen.loss)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int16, torch.uint8])
def test_classes_may_be_numbers_of_any_width(dtype):
    clients, W = world()
    narrow = Clients(clients.x, clients.y.to(dtype), clients.rows)
    for a, b in zip(score(MODEL, W, narrow), score(MODEL, W, clients), strict=True):
        assert torch.equal(a, b)


def test_a_measurement_leaves_nothing_behind():
    sizes = []
    for _ in range(3):
        model = mlp(10, 100_000, 2)
        activations(model, examples(10), torch.zeros(model.d))
        del model
        gc.collect()
        alive = (t for t in gc.get_objects() if type(t) is Tensor and t.layout == torch.strided)
        sizes.append(sum(t.nbytes for t in alive))
    assert sizes[2] - sizes[0] < 1 << 20


def test_a_measured_model_is_not_kept_alive():
    model = mlp(3, 2)
    score(model, model.init(), Clients(torch.zeros(1, 3), torch.tensor([0]), (torch.arange(1),)))
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None


def test_the_memory_of_an_mlps_example_is_its_inputs_and_hidden_units():
    model, x = mlp(64, 16, 10), examples(64)
    # x, the hidden units, and for the loss the log-probabilities; some bytes for y and its weights
    least = 4 * (64 + 16 + 10)
    assert least <= activations(model, x, model.init()) <= least + 64
    in_double = activations(model, x.to("cpu", torch.float64), model.init().double())
    assert in_double >= 2 * least


@pytest.mark.parametrize(
    ("model", "shape", "floats"),
    [
        # the inputs and outputs of convolutions, pools (with the places of the largest) and ReLUs
        (lenet5(), (1, 28, 28), 28**2 + 6 * (28**2 + 14**2 + 2 * 14**2) + 16 * 100),
        (cnn_femnist(), (1, 28, 28), 28**2 + 32 * (28**2 + 14**2) + 64 * 14**2),
    ],
)
def test_the_memory_of_an_images_example_is_at_least_that_of_its_feature_maps(model, shape, floats):
    kept = activations(model, examples(*shape), model.init())
    assert 4 * floats <= kept <= 3 * 4 * floats


def test_the_memory_of_text_grows_by_as_much_for_each_character():
    model = char_lstm(20, 4, 16)
    at_10, at_40, at_70 = (
        activations(model, examples(T, of=torch.uint8), model.init()) for T in (10, 40, 70)
    )
    a_character = 4 * 4 + 2 * 4 * 16  # in bytes: its embedding, and the states of two layers
    assert at_40 - at_10 == pytest.approx(at_70 - at_40, rel=0.2)  # they are rounded up
    assert at_40 - at_10 > 30 * a_character


def test_pieces_hold_what_fits_and_at_least_one(monkeypatch):
    monkeypatch.setattr("fedlab_edu.training.memory.CHUNK_BYTES", 100)
    cpu = torch.device("cpu")
    assert list(chunks(7, 30, cpu)) == [[0, 1, 2], [3, 4, 5], [6]]
    assert list(chunks(2, 1000, cpu)) == [[0], [1]]
    assert list(chunks(0, 1, cpu)) == []

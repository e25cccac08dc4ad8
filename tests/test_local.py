"""The engine against a plain PyTorch loop, in float64, and against closed forms."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from fedlab_edu import Clients, LocalHP, char_lstm, from_module, lenet5, linear, local_sgd, mlp
from fedlab_edu import local as engine
from fedlab_edu.local import minibatches, score, shuffles
from tests.reference import plain_loop
from tests.vectors import case, quadratic

SIZES = (1, 7, 40, 12, 3, 33, 8, 21)  # clients with one example, and with fewer than a batch


def federation(shape: tuple[int, ...], classes: int, sizes: tuple[int, ...] = SIZES) -> Clients:
    gen = torch.Generator().manual_seed(1)
    x = torch.randn(sum(sizes), *shape, generator=gen, dtype=torch.float64)
    y = torch.randint(classes, (sum(sizes),), generator=gen)
    return Clients(x, y, torch.arange(sum(sizes)).split(sizes))


def settings(k: int) -> LocalHP:
    """k clients, no two with the same hyperparameters."""
    gen = torch.Generator().manual_seed(2)

    def uniform(low: float, high: float) -> torch.Tensor:
        return low + (high - low) * torch.rand(k, generator=gen, dtype=torch.float64)

    return LocalHP(
        lr=10 ** uniform(-2.5, -1),
        momentum=uniform(0, 0.9),
        weight_decay=10 ** uniform(-5, -2),
        mu=torch.where(torch.arange(k) % 2 == 0, 10 ** uniform(-3, 0), 0.0),
        batch=2 ** torch.randint(1, 6, (k,), generator=gen),
        epochs=torch.randint(1, 4, (k,), generator=gen),
    )


def small_cnn() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.GroupNorm(2, 4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 5)
    )


MODELS = {
    "linear": (linear(64, 10), (1, 8, 8), 10),
    "mlp": (mlp(64, 16, 8, 10), (1, 8, 8), 10),
    "lenet5-grey": (lenet5(28), (1, 28, 28), 10),
    "lenet5-colour": (lenet5(32, channels=3), (3, 32, 32), 10),
    "module": (from_module(small_cnn()), (1, 8, 8), 5),
}


@pytest.mark.parametrize("name", MODELS)
def test_each_client_ends_with_the_weights_of_a_plain_loop_to_1e_12(name: str) -> None:
    model, shape, classes = MODELS[name]
    clients, c, seeds = federation(shape, classes), settings(8), list(range(8))
    w = model.init(3).double()
    W = local_sgd(model, w, clients, c, seeds)
    torch.testing.assert_close(W, plain_loop(model, w, clients, c, seeds), rtol=0, atol=1e-12)
    assert (W - w).norm(dim=1).min() > 1e-3  # every client has moved


def test_each_client_of_the_character_model_ends_with_the_weights_of_a_plain_loop() -> None:
    model = char_lstm(vocabulary=20, width=4, hidden=8)
    gen = torch.Generator().manual_seed(0)
    x = torch.randint(20, (30, 6), generator=gen).to(torch.uint8)
    y = torch.randint(20, (30,), generator=gen)
    clients = Clients(x, y, torch.arange(30).split((4, 17, 9)))
    w = model.init(0).double()
    W = local_sgd(model, w, clients, settings(3), [5, 6, 7])
    expected = plain_loop(model, w, clients, settings(3), [5, 6, 7])
    torch.testing.assert_close(W, expected, rtol=0, atol=1e-12)


def test_each_client_may_start_from_a_model_of_its_own() -> None:
    model, shape, classes = MODELS["mlp"]
    clients, c, seeds = federation(shape, classes), settings(8), list(range(8))
    W0 = torch.stack([model.init(i).double() for i in range(8)])
    W = local_sgd(model, W0, clients, c, seeds)
    torch.testing.assert_close(W, plain_loop(model, W0, clients, c, seeds), rtol=0, atol=1e-12)


def test_float32_agrees_with_the_plain_loop_to_rounding() -> None:
    model, shape, classes = MODELS["mlp"]
    clients = federation(shape, classes).to("cpu", torch.float32)
    w, c, seeds = model.init(3), settings(8), list(range(8))
    expected = plain_loop(model, w, clients, c, seeds)
    torch.testing.assert_close(local_sgd(model, w, clients, c, seeds), expected)


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("tile_bytes", [1, 40_000, 1 << 30])
def test_tiles_and_threads_change_nothing(
    workers: int, tile_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, shape, classes = MODELS["mlp"]
    clients, c, seeds, w = federation(shape, classes), settings(8), list(range(8)), None
    w = model.init(0).double()
    expected = plain_loop(model, w, clients, c, seeds)
    monkeypatch.setattr(engine, "CPU_TILE_BYTES", tile_bytes)
    threads = torch.get_num_threads()
    W = local_sgd(model, w, clients, c, seeds, workers=workers)
    torch.testing.assert_close(W, expected, rtol=0, atol=1e-12)
    assert torch.get_num_threads() == threads


def test_a_client_does_not_depend_on_its_company_or_on_its_place() -> None:
    model, shape, classes = MODELS["mlp"]
    clients, c, w = federation(shape, classes), settings(8), MODELS["mlp"][0].init(0).double()
    W = local_sgd(model, w, clients, c, list(range(8)))
    order = [5, 0, 7, 2, 6, 1, 3, 4]
    permuted = local_sgd(model, w, clients[order], c[order], order)
    torch.testing.assert_close(permuted, W[order], rtol=0, atol=1e-12)
    alone = local_sgd(model, w, clients[[2]], c[2], [2])
    torch.testing.assert_close(alone[0], W[2], rtol=0, atol=1e-12)


def test_a_client_that_diverges_leaves_the_others_alone_and_scores_infinity() -> None:
    model, shape, classes = MODELS["mlp"]
    clients, w = federation(shape, classes), MODELS["mlp"][0].init(0).double()
    lr = torch.full((8,), 0.05, dtype=torch.float64)
    lr[2] = 1e200
    c = LocalHP(lr=lr, epochs=3, batch=8)
    W = local_sgd(model, w, clients, c, list(range(8)))
    others = [0, 1, 3, 4, 5, 6, 7]
    expected = plain_loop(model, w, clients[others], c[others], others)
    torch.testing.assert_close(W[others], expected, rtol=0, atol=1e-12)
    scores = score(model, W, clients)
    assert scores.loss[2] == scores.error[2] == float("inf")
    assert scores.loss[others].isfinite().all()


def test_the_proximal_term_alone_pulls_towards_the_start_as_the_closed_form_says() -> None:
    given, expected = case("fedopt", "fedprox")
    model, clients = quadratic(given["A"], given["mu"])
    c = LocalHP(lr=given["lr"], epochs=given["K"], batch=1, mu=given["rho"])
    w = torch.tensor(given["w"], dtype=torch.float64)
    W = local_sgd(model, w, clients, c, [0, 1, 2])
    torch.testing.assert_close(W.tolist(), expected["client_models"], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("fedavg", {}),
        ("weight-decay", {"weight_decay": "wd"}),
        ("momentum", {"momentum": "momentum"}),
    ],
)
def test_gradient_descent_on_quadratics_ends_where_its_closed_form_does(
    name: str, own: dict[str, str]
) -> None:
    given, expected = case("fedopt", name)
    model, clients = quadratic(given["A"], given["mu"])
    hyper = {field: given[key] for field, key in own.items()}
    c = LocalHP(lr=given["lr"], epochs=given["K"], batch=1, **hyper)
    w = torch.tensor(given["w"], dtype=torch.float64)
    W = local_sgd(model, w, clients, c, list(range(len(clients))))
    torch.testing.assert_close(W.tolist(), expected["client_models"], rtol=1e-9, atol=1e-9)


def test_minibatches_of_seven_in_threes_keep_the_short_last_one() -> None:
    orders = torch.tensor([[6, 5, 4, 3, 2, 1, 0], [0, 2, 4, 6, 1, 3, 5]])
    expected = [[6, 5, 4], [3, 2, 1], [0, -1, -1], [0, 2, 4], [6, 1, 3], [5, -1, -1]]
    assert minibatches(orders, 3).tolist() == expected


def test_the_number_of_local_steps_is_epochs_times_ceil_of_n_over_batch() -> None:
    given, expected = case("fedopt", "sgd-steps")
    steps = [len(minibatches(shuffles(n, e, 0), b)) for n, b, e in given["m_batch_epochs"]]
    assert steps == expected["steps"]


def test_every_epoch_visits_each_example_once_in_an_order_of_its_own() -> None:
    orders = shuffles(50, 4, seed=9)
    assert orders.sort(dim=1).values.tolist() == [list(range(50))] * 4
    assert len({tuple(o) for o in orders.tolist()}) == 4


@pytest.mark.parametrize("pieces", [(4096, 256), (7, 7), (16, 3)])
def test_scores_are_the_means_over_each_clients_own_examples(
    pieces: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "ROWS_AT_ONCE", pieces[0])
    monkeypatch.setattr(engine, "COLUMNS_AT_ONCE", pieces[1])
    model, shape, classes = MODELS["mlp"]
    clients = federation(shape, classes, (3, 1, 20, 5))
    W = torch.stack([model.init(i).double() for i in range(4)])
    for w in (W, W[0]):
        loss, error = [], []
        for i in range(4):
            x, y = clients.examples(i)
            net = model.unflatten(w[i] if w.dim() == 2 else w)
            loss.append(F.cross_entropy(net(x), y).item())
            error.append((net(x).argmax(1) != y).double().mean().item())
        scores = score(model, w, clients)
        torch.testing.assert_close(scores.loss.tolist(), loss, rtol=1e-12, atol=1e-12)
        assert scores.error.tolist() == pytest.approx(error, abs=1e-15)


def test_an_infinite_loss_is_a_diverged_model_even_where_nothing_is_nan() -> None:
    clients = Clients(torch.zeros(2, 3), torch.tensor([0, 1]), torch.arange(2).split(1))
    model = linear(3, 2)
    w = torch.zeros(model.d)
    w[-1] = -torch.inf  # the second class never
    assert score(model, w, clients).loss.tolist() == [0, torch.inf]
    assert score(model, w, clients).error.tolist() == [0, torch.inf]


@torch.no_grad()
def test_training_works_where_gradients_are_switched_off_around_it() -> None:
    model, shape, classes = MODELS["linear"]
    clients, w = federation(shape, classes, (4, 5)), MODELS["linear"][0].init(0).double()
    assert not torch.equal(local_sgd(model, w, clients, LocalHP(), [0, 1], workers=1)[0], w)


def test_a_client_without_validation_data_scores_0() -> None:
    model, shape, classes = MODELS["mlp"]
    clients = federation(shape, classes, (3, 0, 2))
    w = model.init(0).double()
    for weights in (w, w.repeat(3, 1)):
        assert score(model, weights, clients).loss[1] == 0
        assert score(model, weights, clients).loss[[0, 2]].min() > 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"clients": federation((1, 8, 8), 10, (3, 0))}, r"examples of client 1 is 0; allowed: at"),
        ({"seeds": [1]}, r"seeds is 1; allowed: 2, one for each client"),
        ({"c": LocalHP(lr=[0.1, 0.1, 0.1])}, r"c is 3; allowed: one setting, or 2 rows"),
        ({"w": torch.zeros(3, 650)}, r"shape of w is \(3, 650\); allowed: \(650,\), the model's"),
        ({"w": torch.zeros(649)}, r"shape of w is \(649,\); allowed: \(650,\)"),
        ({"w": torch.zeros(650).half()}, r"dtype of w is 'torch.float16'; allowed: torch.float64"),
        ({"w": torch.zeros(650, device="meta")}, r"device of w is 'meta'; allowed: cpu"),
    ],
)
def test_what_does_not_fit_is_named(change: dict[str, object], message: str) -> None:
    good = {
        "model": linear(64, 10),
        "w": torch.zeros(650, dtype=torch.float64),
        "clients": federation((1, 8, 8), 10, (3, 4)),
        "c": LocalHP(),
        "seeds": [1, 2],
    }
    with pytest.raises(ValueError, match=message):
        local_sgd(**{**good, **change})


class Partly(nn.Module):
    """A tied weight, a weight that is not used, a frozen layer and a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)
        self.second.weight = self.first.weight
        self.frozen = nn.Linear(4, 3).requires_grad_(False)
        self.unused = nn.Parameter(torch.ones(2))
        self.register_buffer("shift", torch.tensor(0.5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.frozen(self.second(self.first(x).tanh()) + self.shift)


def test_a_module_with_tied_frozen_and_unused_weights_trains_as_in_a_plain_loop() -> None:
    model = from_module(Partly().double())
    assert model.d == 16 + 4 + 4 + 2
    gen = torch.Generator().manual_seed(0)
    x = torch.randn(12, 4, generator=gen, dtype=torch.float64)
    y = torch.randint(3, (12,), generator=gen)
    clients = Clients(x, y, torch.arange(12).split((5, 7)))
    w, c = model.init().double(), LocalHP(lr=[0.1, 0.2], batch=2, epochs=3, momentum=0.5)
    W = local_sgd(model, w, clients, c, [1, 2])
    torch.testing.assert_close(W, plain_loop(model, w, clients, c, [1, 2]), rtol=0, atol=1e-12)

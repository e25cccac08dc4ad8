"""The engine against a plain PyTorch loop, in float64, and against closed forms."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fedlab_edu import (
    Clients,
    LocalHP,
    Model,
    char_lstm,
    cnn_cifar,
    cnn_femnist,
    from_module,
    lenet5,
    linear,
    local_sgd,
    mlp,
)
from fedlab_edu.models.layers import Drop
from fedlab_edu.training import local as engine
from fedlab_edu.training.memory import activations
from fedlab_edu.training.plan import minibatches, shuffles, steps
from fedlab_edu.training.scores import score
from tests.reference import plain_loop
from tests.test_layers import masks, splitmix64
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
    "lenet5-small": (lenet5(8), (1, 8, 8), 10),
    "lenet5-colour": (lenet5(32, channels=3), (3, 32, 32), 10),
    "module": (from_module(small_cnn()), (1, 8, 8), 5),
}


@pytest.mark.parametrize("name", MODELS)
def test_each_client_ends_with_the_weights_of_a_plain_loop_to_1e_12(name):
    model, shape, classes = MODELS[name]
    clients, c, seeds = federation(shape, classes), settings(8), list(range(8))
    w = model.init(3).double()
    W = local_sgd(model, w, clients, c, seeds)
    torch.testing.assert_close(W, plain_loop(model, w, clients, c, seeds), rtol=0, atol=1e-12)
    assert (W - w).norm(dim=1).min() > 1e-3  # every client has moved


@pytest.mark.parametrize("name", ["mlp", "module"])
def test_each_client_of_adam_ends_with_the_weights_of_torchs_adam(name):
    model, shape, classes = MODELS[name]
    clients, c, seeds = federation(shape, classes), settings(8), list(range(8))
    w = model.init(3).double()
    W = local_sgd(model, w, clients, c, seeds, optimizer="adam")
    expected = plain_loop(model, w, clients, c, seeds, adam=True)
    torch.testing.assert_close(W, expected, rtol=0, atol=1e-10)
    assert (W - w).norm(dim=1).min() > 1e-3  # every client has moved


def test_an_unknown_optimizer_is_refused():
    model, shape, classes = MODELS["linear"]
    clients, w = federation(shape, classes), model.init(0).double()
    message = r"^optimizer is 'rmsprop'; allowed: 'sgd', 'adam'$"
    with pytest.raises(ValueError, match=message):
        local_sgd(model, w, clients, LocalHP(), [0] * 8, optimizer="rmsprop")


def test_each_client_of_the_character_model_ends_with_the_weights_of_a_plain_loop():
    model = char_lstm(vocabulary=20, width=4, hidden=8)
    gen = torch.Generator().manual_seed(0)
    x = torch.randint(20, (30, 6), generator=gen).to(torch.uint8)
    y = torch.randint(20, (30,), generator=gen)
    clients = Clients(x, y, torch.arange(30).split((4, 17, 9)))
    w = model.init(0).double()
    W = local_sgd(model, w, clients, settings(3), [5, 6, 7])
    expected = plain_loop(model, w, clients, settings(3), [5, 6, 7])
    torch.testing.assert_close(W, expected, rtol=0, atol=1e-12)


def test_training_in_bfloat16_goes_where_float32_goes_and_keeps_its_weights_dtype():
    exact, rounded = (char_lstm(20, 4, 8, bfloat16=flag) for flag in (False, True))
    gen = torch.Generator().manual_seed(0)
    x, y = torch.randint(20, (30, 6), generator=gen), torch.randint(20, (30,), generator=gen)
    clients, w = Clients(x, y, torch.arange(30).split((4, 17, 9))), exact.init(0)
    there, near = (local_sgd(m, w, clients, settings(3), [5, 6, 7]) for m in (exact, rounded))
    assert near.dtype == torch.float32
    assert 0 < (near - there).norm() < 0.05 * (there - w).norm()


@pytest.mark.parametrize(
    ("model", "shape"), [(cnn_femnist(5), (1, 28, 28)), (cnn_cifar(24, 5), (3, 24, 24))]
)
def test_clients_of_the_papers_large_networks_end_with_the_weights_of_a_plain_loop(model, shape):
    clients, w = federation(shape, 5, (3, 5)), model.init(0).double()
    c = LocalHP(lr=[0.05, 0.1], batch=2, momentum=0.5)
    W = local_sgd(model, w, clients, c, [1, 2])
    torch.testing.assert_close(W, plain_loop(model, w, clients, c, [1, 2]), rtol=0, atol=1e-12)


def test_each_client_may_start_from_a_model_of_its_own():
    model, shape, classes = MODELS["mlp"]
    clients, c, seeds = federation(shape, classes), settings(8), list(range(8))
    W0 = torch.stack([model.init(i).double() for i in range(8)])
    W = local_sgd(model, W0, clients, c, seeds)
    torch.testing.assert_close(W, plain_loop(model, W0, clients, c, seeds), rtol=0, atol=1e-12)


def test_float32_agrees_with_the_plain_loop_to_rounding():
    model, shape, classes = MODELS["mlp"]
    clients = federation(shape, classes).to("cpu", torch.float32)
    w, c, seeds = model.init(3), settings(8), list(range(8))
    expected = plain_loop(model, w, clients, c, seeds)
    torch.testing.assert_close(local_sgd(model, w, clients, c, seeds), expected)


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("tile_bytes", [1, 40_000, 1 << 30])
def test_tiles_and_threads_change_nothing(workers, tile_bytes, monkeypatch):
    model, shape, classes = MODELS["mlp"]
    clients, c, seeds, w = federation(shape, classes), settings(8), list(range(8)), None
    w = model.init(0).double()
    expected = plain_loop(model, w, clients, c, seeds)
    monkeypatch.setattr(engine, "CPU_TILE_BYTES", tile_bytes)
    torch.set_num_threads(2)
    try:
        W = local_sgd(model, w, clients, c, seeds, workers=workers)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(1)
    torch.testing.assert_close(W, expected, rtol=0, atol=1e-12)


def test_tiles_hold_few_minibatches_where_these_take_much_memory(monkeypatch):
    model, clients = lenet5(), federation((1, 28, 28), 10, (32,) * 12).to("cpu", torch.float32)
    sizes: list[int] = []

    def watch(at: Tensor, t: int, W: Tensor) -> None:
        sizes.append(len(at))

    a_minibatch = 32 * activations(model, clients, model.init())
    for room, most in ((1, 1), (4 * a_minibatch, 4), (1 << 40, 12)):
        monkeypatch.setattr(engine, "EXAMPLES_BYTES", room)
        local_sgd(model, model.init(), clients, LocalHP(), [0] * 12, watch=watch, workers=1)
        assert max(sizes) == most
        sizes.clear()


def test_a_client_does_not_depend_on_its_company_or_on_its_place():
    model, shape, classes = MODELS["mlp"]
    clients, c, w = federation(shape, classes), settings(8), MODELS["mlp"][0].init(0).double()
    W = local_sgd(model, w, clients, c, list(range(8)))
    order = [5, 0, 7, 2, 6, 1, 3, 4]
    permuted = local_sgd(model, w, clients[order], c[order], order)
    torch.testing.assert_close(permuted, W[order], rtol=0, atol=1e-12)
    alone = local_sgd(model, w, clients[[2]], c[2], [2])
    torch.testing.assert_close(alone[0], W[2], rtol=0, atol=1e-12)


def test_a_client_that_diverges_leaves_the_others_alone_and_scores_infinity():
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


def test_the_proximal_term_alone_pulls_towards_the_start_as_the_closed_form_says():
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
def test_gradient_descent_on_quadratics_ends_where_its_closed_form_does(name, own):
    given, expected = case("fedopt", name)
    model, clients = quadratic(given["A"], given["mu"])
    hyper = {field: given[key] for field, key in own.items()}
    c = LocalHP(lr=given["lr"], epochs=given["K"], batch=1, **hyper)
    w = torch.tensor(given["w"], dtype=torch.float64)
    W = local_sgd(model, w, clients, c, list(range(len(clients))))
    torch.testing.assert_close(W.tolist(), expected["client_models"], rtol=1e-9, atol=1e-9)


def test_minibatches_of_seven_in_threes_keep_the_short_last_one():
    orders = torch.tensor([[6, 5, 4, 3, 2, 1, 0], [0, 2, 4, 6, 1, 3, 5]])
    expected = [[6, 5, 4], [3, 2, 1], [0, -1, -1], [0, 2, 4], [6, 1, 3], [5, -1, -1]]
    assert minibatches(orders, 3).tolist() == expected


def test_the_number_of_local_steps_is_epochs_times_ceil_of_n_over_batch():
    given, expected = case("fedopt", "sgd-steps")
    steps = [len(minibatches(shuffles(n, e, 0), b)) for n, b, e in given["m_batch_epochs"]]
    assert steps == expected["steps"]


def test_every_epoch_visits_each_example_once_in_an_order_of_its_own():
    orders = shuffles(50, 4, seed=9)
    assert orders.sort(dim=1).values.tolist() == [list(range(50))] * 4
    assert len({tuple(o) for o in orders.tolist()}) == 4


def loop(w: Tensor, clients: Clients, c: LocalHP, a: Tensor, drift: Tensor) -> Tensor:
    """One client at a time, by autograd on the vector: the loss, a pull to a, and a linear term."""
    model, trained = MODELS["mlp"][0], []
    for i in range(len(clients)):
        (x, y), own, u, v = clients.examples(i), c[i], w[i].clone(), torch.zeros_like(w[i])
        for order in shuffles(len(y), int(own.epochs), i):
            for batch in order.split(int(own.batch)):
                leaf = u.clone().requires_grad_()
                loss = F.cross_entropy(model(leaf, x[batch]), y[batch])
                loss = loss + own.mu / 2 * ((leaf - a[i]) ** 2).sum() + drift[i] @ leaf
                loss = loss + own.weight_decay / 2 * (leaf**2).sum()
                v = own.momentum * v + torch.autograd.grad(loss, leaf)[0]
                u = u - own.lr * v
        trained.append(u)
    return torch.stack(trained)


def test_anchor_and_drift_are_a_pull_to_elsewhere_and_a_linear_term_of_the_loss():
    model, shape, classes = MODELS["mlp"]
    clients, c = federation(shape, classes), settings(8)
    w, a, drift = (
        torch.stack([model.init(8 * k + i).double() for i in range(8)]) for k in range(3)
    )
    W = local_sgd(model, w, clients, c, list(range(8)), anchor=a, drift=drift)
    torch.testing.assert_close(W, loop(w, clients, c, a, drift), rtol=0, atol=1e-12)
    for_all = local_sgd(model, w, clients, c, list(range(8)), anchor=a[0], drift=drift)
    expected = loop(w, clients, c, a[:1].expand(8, -1), drift)
    torch.testing.assert_close(for_all, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_watcher_sees_each_client_after_each_of_its_steps(workers, monkeypatch):
    monkeypatch.setattr(engine, "CPU_TILE_BYTES", 40_000)
    model, shape, classes = MODELS["mlp"]
    clients, c, w = federation(shape, classes), settings(8), model.init(0).double()
    seen: dict[int, list[Tensor]] = {i: [] for i in range(8)}

    def watch(at: Tensor, t: int, W: Tensor) -> None:
        for i, w_i in zip(at.tolist(), W, strict=True):
            assert len(seen[i]) == t
            seen[i].append(w_i.clone())

    W = local_sgd(model, w, clients, c, list(range(8)), watch=watch, workers=workers)
    assert [len(way) for way in seen.values()] == steps(clients.n, c).tolist()
    for i, way in seen.items():
        assert torch.equal(way[-1], W[i])
        first = LocalHP(**{**c[i].columns, "epochs": 1})
        one = local_sgd(model, w, clients[[i]], first, [i])
        torch.testing.assert_close(
            way[-(-SIZES[i] // int(c.batch[i])) - 1], one[0], rtol=0, atol=1e-12
        )


def dropping(model: Model) -> Callable[[Tensor, Clients, LocalHP, list[int]], Tensor]:
    """The plain loop whose dropout layer multiplies with masks drawn by Python's integers."""

    def train(w: Tensor, clients: Clients, c: LocalHP, seeds: list[int]) -> Tensor:
        trained = []
        for i, seed in enumerate(seeds):
            (x, y), own, net, t = clients.examples(i), c[i], model.unflatten(w), 0
            (place,) = (m for m in net.modules() if isinstance(m, nn.Dropout))
            place.register_forward_hook(
                lambda _, inputs, output: inputs[0] * masks(Drop(key, rate), 0, inputs[0].shape)[0]  # noqa: B023
            )
            sgd = torch.optim.SGD(net.parameters(), float(own.lr), float(own.momentum))
            rate, steps = own.dropout[None], splitmix64(seed)
            for order in shuffles(len(y), int(own.epochs), seed):
                for batch in order.split(int(own.batch)):
                    key = torch.tensor([(next(steps) + 2**63) % 2**64 - 2**63])
                    sgd.zero_grad()
                    F.cross_entropy(net(x[batch]), y[batch]).backward()
                    sgd.step()
                    t += 1
            trained.append(model.flatten(net))
        return torch.stack(trained)

    return train


@pytest.mark.parametrize("name", ["mlp", "dropout-module"])
def test_each_client_drops_with_its_own_rate_and_seed(name):
    model = mlp(64, 6, 5)
    if name == "dropout-module":
        net = nn.Sequential(nn.Flatten(), nn.Linear(64, 6), nn.Dropout(0.0), nn.Linear(6, 5))
        model = from_module(net)
    clients, seeds = federation((1, 8, 8), 5, (9, 4, 17)), [3, 2**40, 8]
    c = LocalHP(lr=0.1, momentum=0.5, dropout=[0.5, 0.0, 0.2], batch=[4, 8, 3], epochs=2)
    w = model.init(1).double()
    W = local_sgd(model, w, clients, c, seeds)
    torch.testing.assert_close(W, dropping(model)(w, clients, c, seeds), rtol=0, atol=1e-12)
    dry = local_sgd(model, w, clients, replace(c, dropout=0.0), seeds)
    assert ((W - dry).abs().amax(1) > 1e-3).tolist() == [True, False, True]


def test_dropout_where_there_is_no_layer_for_it_is_refused():
    model = from_module(nn.Linear(4, 2))
    clients = Clients(torch.zeros(2, 4), torch.tensor([0, 1]), (torch.arange(2),))
    with pytest.raises(
        ValueError, match=r"dropout is 0.5; allowed: 0 for this model, which has no"
    ):
        local_sgd(model, model.init(), clients, LocalHP(dropout=0.5), [0])


@torch.no_grad()
def test_training_works_where_gradients_are_switched_off_around_it():
    model, shape, classes = MODELS["linear"]
    clients, w = federation(shape, classes, (4, 5)), MODELS["linear"][0].init(0).double()
    assert not torch.equal(local_sgd(model, w, clients, LocalHP(), [0, 1], workers=1)[0], w)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"clients": federation((1, 8, 8), 10, (3, 0))}, r"examples of client 1 is 0; allowed: at"),
        ({"seeds": [1]}, r"seeds is 1; allowed: 2, one for each client"),
        ({"seeds": [1, 2**63]}, "seeds is 9223372036854775808; allowed: whole numbers of 64"),
        ({"seeds": [1, 1.5]}, "seeds is 1.5; allowed: whole numbers of 64 bits"),
        ({"seeds": [1, "2"]}, "seeds is '2'; allowed: whole numbers of 64 bits"),
        ({"c": LocalHP(lr=[0.1, 0.1, 0.1])}, r"c is '3 rows'; allowed: one setting, or 2 rows"),
        ({"workers": 0}, r"workers is 0; allowed: at least 1, or None"),
        ({"w": torch.zeros(3, 650)}, r"shape of w is \(3, 650\); allowed: \(650,\), the model's"),
        ({"w": torch.zeros(649)}, r"shape of w is \(649,\); allowed: \(650,\)"),
        (
            {"anchor": torch.zeros(650)},
            "dtype of anchor is 'torch.float32'; allowed: torch.float64",
        ),
        ({"drift": torch.zeros(2, 650)}, "dtype of drift is 'torch.float32'; allowed: torch.fl"),
        ({"w": torch.zeros(650).half()}, r"dtype of w is 'torch.float16'; allowed: torch.float64"),
        ({"w": torch.zeros(650, device="meta")}, r"device of w is 'meta'; allowed: cpu"),
    ],
)
def test_what_does_not_fit_is_named(change, message, unchecked):
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


def test_a_module_with_tied_frozen_and_unused_weights_trains_as_in_a_plain_loop():
    model = from_module(Partly().double())
    assert model.d == 16 + 4 + 4 + 2
    gen = torch.Generator().manual_seed(0)
    x = torch.randn(12, 4, generator=gen, dtype=torch.float64)
    y = torch.randint(3, (12,), generator=gen)
    clients = Clients(x, y, torch.arange(12).split((5, 7)))
    w, c = model.init().double(), LocalHP(lr=[0.1, 0.2], batch=2, epochs=3, momentum=0.5)
    W = local_sgd(model, w, clients, c, [1, 2])
    torch.testing.assert_close(W, plain_loop(model, w, clients, c, [1, 2]), rtol=0, atol=1e-12)


def test_infinite_examples_of_others_reach_nobody():
    """Minibatches of unlike sizes are filled up with examples of the client's own."""
    x = torch.randn(6, 64, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    x[0] = torch.inf  # of a client that does not train
    rows = torch.tensor([1, 2, 3]), torch.tensor([4, 5])
    clients = Clients(x, torch.tensor([0, 1, 0, 1, 1, 0]), rows)
    model, c = linear(64, 2), LocalHP(batch=3)
    w = model.init(0).double()
    W = local_sgd(model, w, clients, c, [0, 1], workers=1)
    torch.testing.assert_close(W, plain_loop(model, w, clients, c, [0, 1]), rtol=0, atol=1e-12)

"""Another device: the same clients, rows and minibatches as on the CPU, and the same weights.

Without a GPU the device is `elsewhere`, where a copy that the code does not ask for is an error.
``make gpu`` runs the same tests on a GPU, up to rounding in float32.
"""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from fedlab_edu import (
    Federation,
    FedEx,
    LocalHP,
    Model,
    MultiplicativeWeights,
    Run,
    char_lstm,
    cnn_cifar,
    cnn_femnist,
    communicate,
    digits,
    evaluate,
    fedpop,
    fedtune,
    from_module,
    lenet5,
    linear,
    load_run,
    mlp,
    personalise,
    resnet18,
    save_run,
    start,
    successive_halving,
    tune,
)
from fedlab_edu import methods as all_methods
from fedlab_edu.data import federate
from fedlab_edu.methods import FedDyn, FedPA, FedProx, Method
from fedlab_edu.search.space import FEDEX, FEDPOP
from tests.elsewhere import elsewhere

MODEL = mlp(64, 16, 10)
METHODS = [
    made(burn_in=1, rho=0.1) if made is FedPA else made()
    for made in map(vars(all_methods).get, all_methods.__all__)
    if isinstance(made, type) and hasattr(made, "loc") and made is not Method
]
pytestmark = pytest.mark.long
GPU = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
CLOSE: dict[str, Any] = {"rtol": 1e-3, "atol": 1e-4}  # float32, and a GPU sums in another order


@pytest.fixture(params=["elsewhere", pytest.param("cuda", marks=[pytest.mark.cuda, GPU])])
def device(request):
    if request.param == "cuda":
        yield torch.device("cuda")
    else:
        with elsewhere() as found:
            yield found


@pytest.fixture(scope="module")
def fed():
    return digits(clients=14)


def assert_same(run: Run, there: Run) -> None:
    """The runs have the same draws; their numbers are equal up to rounding."""
    assert there.w.device.type != "cpu"
    for a, b in zip(run.history, there.history, strict=True):
        for name in ("client", "row", "size", "diverged"):
            assert torch.equal(getattr(a, name), getattr(b, name))
        torch.testing.assert_close(a.after, b.after, **CLOSE)
    back = there.to("cpu")
    torch.testing.assert_close(back.server, run.server, **CLOSE)
    torch.testing.assert_close(back.states, run.states, **CLOSE)


def played(run: Run, model: Model, fed: Federation, rounds: int = 2) -> Run:
    for _ in range(rounds):
        run = communicate(run, model, fed, min(len(fed), 6))
    return run


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_each_method_plays_the_rounds_of_the_cpu(method, device, fed):
    mu = 0.3 if isinstance(method, FedDyn) else 0.0
    c = LocalHP(lr=[0.05, 0.1], batch=[8, 16], epochs=2, mu=mu)
    tuner = FedEx(c, step="constant")
    run = played(start(MODEL, fed, tuner, method=method, seed=2), MODEL, fed)
    there = fed.to(device)
    other = played(start(MODEL, there, tuner, method=method, seed=2), MODEL, there)
    assert_same(run, other)
    assert other.tuner.theta.tolist() == pytest.approx(run.tuner.theta.tolist(), abs=1e-3)
    assert evaluate(other, MODEL, there).loss == pytest.approx(evaluate(run, MODEL, fed).loss, 1e-3)
    one, two = personalise(run, MODEL, fed), personalise(other, MODEL, there)
    assert two.loss == pytest.approx(one.loss, rel=1e-3)


def tiny(shape: tuple[int, ...], high: int = 0, classes: int = 4) -> Federation:
    """Four clients with three examples each; whole numbers below ``high``, if above 0."""
    gen = torch.Generator().manual_seed(0)
    x = torch.rand(12, *shape, generator=gen)
    x = (x * high).long() if high else x
    return federate(x, torch.arange(12) % classes, [range(i, 12, 4) for i in range(4)])


NETWORKS: dict[str, tuple[Callable[[], Model], Callable[[], Federation]]] = {
    "linear": (lambda: linear(8, 4), lambda: tiny((8,))),
    "mlp": (lambda: mlp(8, 4, 4), lambda: tiny((8,))),
    "lenet5": (lenet5, lambda: tiny((1, 28, 28))),
    "cnn_femnist": (cnn_femnist, lambda: tiny((1, 28, 28))),
    "cnn_cifar": (cnn_cifar, lambda: tiny((3, 24, 24))),
    "char_lstm": (lambda: char_lstm(9, 2, 3, 2), lambda: tiny((5,), 9)),
    "resnet18": (lambda: resnet18(4), lambda: tiny((3, 32, 32))),
    "vmap": (
        lambda: from_module(nn.Sequential(nn.Flatten(), nn.Linear(8, 4), nn.LayerNorm(4))),
        lambda: tiny((8,)),
    ),
}


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.nightly] * (n == "resnet18")) for n in NETWORKS]
)
def test_each_network_trains_as_on_the_cpu(name, device):
    model, fed = (make() for make in NETWORKS[name])
    rate = 0.1 if model.drops else 0.0
    c = LocalHP(lr=0.01, batch=2, dropout=rate)
    run = played(start(model, fed, c), model, fed, 1)
    there = fed.to(device)
    assert_same(run, played(start(model, there, c), model, there, 1))


SEARCHES: dict[str, Callable[[Federation], Any]] = {
    "halving": lambda fed: successive_halving(MODEL, fed, FEDEX, 8, 4, 2, 1, method=FedProx()),
    "fedpop": lambda fed: fedpop(MODEL, fed, FEDPOP, 12, 3, T_g=1, method=FedProx()),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_each_search_eliminates_the_arms_of_the_cpu(name, device, fed):
    here, there = fed, fed.to(device)
    one = tune(SEARCHES[name](here), MODEL, here, 4)
    two = tune(SEARCHES[name](there), MODEL, there, 4)
    assert one.out == two.out
    assert one.best == two.best
    for a, b in zip(one.traces, two.traces, strict=True):
        assert a == pytest.approx(b, rel=1e-2, abs=1e-2, nan_ok=True)


@pytest.mark.parametrize("dtype", [torch.uint16, torch.int16, torch.uint8], ids=str)
def test_whole_numbers_stay_on_their_device(dtype, device):
    there = federate(torch.arange(8).to(dtype)[:, None].to(device), [0, 1] * 4, [[0, 1, 2, 3]])
    assert there.train.x.device.type == there.train.y.device.type == device.type
    assert there.train.x.flatten().tolist() == list(range(8))


def test_fedtune_moves_the_logits_of_the_cpu(device, fed):
    table, there = LocalHP(lr=[0.01, 0.1, 1.0]), fed.to(device)
    one = tune(fedtune(MODEL, fed, table, 2), MODEL, fed)
    two = tune(fedtune(MODEL, there, table, 2), MODEL, there)
    torch.testing.assert_close(two.logits.cpu(), one.logits, rtol=1e-2, atol=1e-3)


def test_multiplicative_weights_draw_the_rows_of_the_cpu(device, fed):
    tuner, there = MultiplicativeWeights(LocalHP(lr=[0.01, 0.1]), 10), fed.to(device)
    run = played(start(MODEL, fed, tuner), MODEL, fed)
    assert_same(run, played(start(MODEL, there, tuner), MODEL, there))


def test_a_run_of_a_device_is_stored_and_resumes_on_the_cpu(device, fed, tmp_path):
    there = fed.to(device)
    run = played(start(MODEL, there), MODEL, there)
    save_run(run.to("cpu"), tmp_path / "run.pt")
    torch.testing.assert_close(load_run(tmp_path / "run.pt").w, run.w.cpu())

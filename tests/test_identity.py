"""The identity of a search or a run: whatever decides its numbers, and nothing else."""

import subprocess
import sys
import types
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from threading import Lock
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from fedlab_edu import (
    FedAvg,
    Federation,
    FedProx,
    LocalHP,
    Model,
    char_lstm,
    digits,
    from_module,
    linear,
    load_run,
    mlp,
    save_run,
    start,
    train,
    tune,
)
from fedlab_edu.rounds.fingerprint import Reader
from fedlab_edu.rounds.identity import differences, identity
from fedlab_edu.search.baselines import make_arms, race
from fedlab_edu.search.race import Race
from fedlab_edu.search.schedules import bracket

ROOT = Path(__file__).parents[1]
MODEL = linear(64, 10)


@pytest.fixture(scope="module")
def fed():
    return digits(clients=14)


def same_weights(*parts: Any) -> nn.Sequential:
    """A network with these parts before a linear layer, whose weights are the same for all."""
    torch.manual_seed(0)
    head = nn.Linear(64, 10)
    return nn.Sequential(nn.Flatten(), *parts, head)


class Times(nn.Module):
    """Multiplies by what it holds as an attribute, a buffer or a frozen parameter."""

    def __init__(self, by: Any, hidden: Any = 0) -> None:
        super().__init__()
        self.hidden = hidden
        self.by = by

    def forward(self, x: Tensor) -> Tensor:
        return x * self.by


class Buffered(nn.Module):
    def __init__(self, by: float, persistent: bool) -> None:
        super().__init__()
        self.register_buffer("by", torch.tensor(by), persistent=persistent)

    def forward(self, x: Tensor) -> Tensor:
        return x * self.by


class Own(nn.Module):
    """Calls a function of one's own."""

    def __init__(self, f: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.f = f

    def forward(self, x: Tensor) -> Tensor:
        return self.f(x)


def frozen(by: float) -> nn.Parameter:
    return nn.Parameter(torch.tensor(by), requires_grad=False)


def closure(by: float) -> Callable[[Tensor], Tensor]:
    return lambda x: x * by


def default(by: float) -> Callable[[Tensor], Tensor]:
    def f(x: Tensor, by: float = by) -> Tensor:
        return x * by

    return f


def keyword(by: float) -> Callable[[Tensor], Tensor]:
    def f(x: Tensor, *, by: float = by) -> Tensor:
        return x * by

    return f


def written(code: str) -> Callable[[float], Callable[[Tensor], Tensor]]:
    """A function in a module of its own, in which BY stands for a number."""

    def make(by: float) -> Callable[[Tensor], Tensor]:
        module = types.ModuleType("own")
        module.__dict__["settings"] = types.ModuleType("settings")
        module.__dict__["settings"].__file__ = "settings.py"
        exec(code.replace("BY", repr(by)), module.__dict__)
        f: Callable[[Tensor], Tensor] = module.__dict__["f"]
        return f

    return make


def attribute(by: float) -> Callable[[Tensor], Tensor]:
    def f(x: Tensor) -> Tensor:
        return x * f.by

    f.by = by
    return f


class Callable_:
    def __init__(self, by: float) -> None:
        self.by = by

    def __call__(self, x: Tensor) -> Tensor:
        return x * self.by

    def method(self, x: Tensor) -> Tensor:
        return x * self.by


def class_of(by: float) -> Callable[[Tensor], Tensor]:
    class Inner:
        amount = by

        def __call__(self, x: Tensor) -> Tensor:
            return x * self.amount

    return Inner()


PARTS: dict[str, Callable[[float], nn.Module]] = {
    "attribute": Times,
    "tensor": lambda by: Times(torch.tensor(by)),
    "frozen parameter": lambda by: Times(frozen(by)),
    "buffer": lambda by: Buffered(by, True),
    "buffer that is not saved": lambda by: Buffered(by, False),
    "option of a layer": lambda by: nn.LeakyReLU(by),
    "closure": lambda by: Own(closure(by)),
    "default": lambda by: Own(default(by)),
    "keyword default": lambda by: Own(keyword(by)),
    "constant": lambda by: Own(written("def f(x):\n    return x * BY")(by)),
    "global": lambda by: Own(written("a = BY\ndef f(x):\n    return x * a")(by)),
    "function that it calls": lambda by: Own(
        written("def g(x):\n    return x * BY\ndef f(x):\n    return g(x)")(by)
    ),
    "attribute of a module": lambda by: Own(
        written("settings.a = BY\ndef f(x):\n    return x * settings.a")(by)
    ),
    "class that it makes": lambda by: Own(
        written("class A:\n    a = BY\ndef f(x):\n    return x * A().a")(by)
    ),
    "inner function": lambda by: Own(
        written("a = BY\ndef f(x):\n    def g():\n        return a\n    return x * g()")(by)
    ),
    "attribute of a function": lambda by: Own(attribute(by)),
    "object that is called": lambda by: Own(Callable_(by)),
    "bound method": lambda by: Own(Callable_(by).method),
    "class attribute": lambda by: Own(class_of(by)),
    "partial": lambda by: Own(partial(torch.mul, torch.tensor(by))),
    "cached function": lambda by: Own(cache(closure(by))),
    "decorated by a library": lambda by: Own(torch.no_grad()(closure(by))),
    "list": lambda by: Times(1.0, [1, (2, {"a": [by]})]),
    "queue": lambda by: Times(1.0, deque([by])),
    "object within": lambda by: Times(1.0, Callable_(by)),
}


@pytest.mark.parametrize("kind", PARTS)
def test_a_network_that_computes_with_another_number_has_another_identity(kind, fed):
    one, again, other = (
        identity(from_module(same_weights(PARTS[kind](by))), fed) for by in (0.5, 0.5, 0.25)
    )
    assert differences(one, again) == []
    assert differences(one, other) == ["network"]


@pytest.mark.parametrize("kind", [k for k in PARTS if "buffer" not in k and "layer" not in k])
def test_a_loss_that_computes_with_another_number_has_another_identity(kind, fed):
    def loss(part: nn.Module) -> Callable[[Tensor, Tensor], Tensor]:
        return lambda outputs, y: F.cross_entropy(part(outputs), y, reduction="none")

    net = same_weights()
    one, again, other = (
        identity(from_module(net, loss(PARTS[kind](by))), fed) for by in (0.5, 0.5, 0.25)
    )
    assert differences(one, again) == []
    assert differences(one, other) == ["loss"]


def test_networks_that_differ_in_layers_order_or_what_is_frozen_have_other_identities(fed):
    layers = {"a": nn.Sigmoid(), "b": nn.Tanh()}
    turned = OrderedDict(reversed(layers.items()))
    halves = []
    for part in (0, 1):
        torch.manual_seed(0)
        net = nn.Sequential(nn.Flatten(), nn.Linear(64, 64), nn.Linear(64, 64))
        with torch.no_grad():
            net[2].weight.copy_(net[1].weight)
        halves.append(net)
        for p in net[1 + part].parameters():
            p.requires_grad_(False)
    nets = [same_weights(), same_weights(nn.ReLU()), same_weights(nn.Tanh()), *halves,
            same_weights(nn.Sequential(OrderedDict(layers))), same_weights(nn.Sequential(turned)),
            same_weights(Times(1.0)), same_weights(Times(1)).double()]  # fmt: skip
    models = [
        *map(from_module, nets),
        MODEL,
        mlp(64, 10, 10),
        mlp(64, 11, 10),
        char_lstm(5, 2, 3, 1),
        char_lstm(5, 2, 3, 1, bfloat16=True),
    ]
    found = [identity(model, fed)["network"] for model in models]
    assert len(set(found)) == len(found)


def test_a_model_of_ones_own_counts_with_what_its_functions_read(fed):
    def own(by: float) -> Model:
        def forward(p: list[Tensor], x: Tensor) -> Tensor:
            return by * MODEL.forward(p, x)

        return replace(MODEL, forward=forward, drops=False)

    assert differences(identity(own(1.0), fed), identity(own(1.0), fed)) == []
    assert differences(identity(own(1.0), fed), identity(own(2.0), fed)) == ["network"]


@dataclass(frozen=True)
class Scaled(FedAvg):
    """A method of one's own."""

    by: float = 1.0

    def weights(self, n: Tensor) -> Tensor:
        return self.by * n.double()


def begun(fed: Federation, method: Any = None, seed: int = 0, **how: Any) -> Race:
    arms = make_arms(LocalHP(lr=[0.1, 0.2], **how))
    return race(MODEL, fed, arms, [bracket((4,), 2, 2)], seed=seed, method=method)


def test_all_that_a_file_differs_in_is_named_in_one_line(fed, tmp_path):
    file = tmp_path / "search"
    tune(begun(fed, Scaled()), MODEL, fed, 3, path=file, also=(Scaled,))
    moved = replace(fed, val=replace(fed.val, y=(fed.val.y + 1) % 10))
    turned = replace(fed, train=fed.train[[*range(1, 14), 0]])
    for search, data, clients, named in (
        (begun(fed, Scaled(2.0)), fed, 3, "method"),
        (begun(fed, FedProx()), fed, 3, "method"),
        (begun(fed, Scaled(), momentum=0.5), fed, 3, "tuner"),
        (begun(fed, Scaled(), seed=1), fed, 3, "seed, initial weights"),
        (begun(fed, Scaled()), fed, 4, "clients"),
        (begun(fed, Scaled()), moved, 3, "validation data"),
        (begun(fed, Scaled()), turned, 3, "training data"),
    ):
        with pytest.raises(ValueError, match=rf"that search has another {named}$"):
            tune(search, MODEL, data, clients, path=file, also=(Scaled,))
    assert tune(begun(fed, Scaled()), MODEL, fed, 3, path=file, also=(Scaled,)).done


def test_what_cannot_be_told_apart_is_refused_before_a_file_is_written(fed, tmp_path):
    numbers = (x for x in [1.0])
    model = from_module(same_weights(), lambda o, y: F.cross_entropy(o, y) * next(numbers))
    with pytest.raises(ValueError, match=r"^a part of loss is 'generator'; allowed: what pickle "):
        tune(begun(fed), model, fed, 3, path=tmp_path / "search")
    assert not [*tmp_path.iterdir()]


def test_locks_caches_of_threads_and_names_of_modules_tell_nothing_apart():
    assert Reader().digest(Lock()) == Reader().digest(Lock())
    model = from_module(same_weights())
    before = Reader().digest(model.forward)
    model(model.init(), torch.zeros(1, 64))  # which keeps a copy for each thread
    assert Reader().digest(model.forward) == before


def test_a_cycle_ends():
    def ring(x: float) -> list[Any]:
        values: list[Any] = [x]
        values.append(values)
        return values

    assert Reader().digest(ring(1.0)) == Reader().digest(ring(1.0)) != Reader().digest(ring(2.0))


SCRIPT = """
import sys
from dataclasses import dataclass
import torch
from torch import nn
from fedlab_edu import FedAvg, LocalHP, cnn_cifar, digits, from_module, resnet18, start
from fedlab_edu.rounds.fingerprint import Reader
from fedlab_edu.rounds.identity import identity
SCALES, NAMES = {"a": 2.0}, {*"abcdefgh"}
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(64, 10)
        self.body.register_forward_hook(self.hook)
        self.act = torch.tanh
    @staticmethod
    def hook(module, x, y):
        return y * SCALES["a"]
    def forward(self, x):
        return self.act(self.body(x.flatten(1))) * len(NAMES)
@dataclass(frozen=True)
class Own(FedAvg):
    most: float = 1.0
    def loc(self, inputs):
        return super().loc(inputs)
for _ in range(int(sys.argv[1])):  # PyTorch numbers hooks through
    nn.Linear(1, 1).register_forward_hook(print)
torch.manual_seed(0)
fed = digits(clients=14)
loss = lambda o, y, by=SCALES: nn.functional.cross_entropy(o, y, reduction="none") * by["a"]
print(identity(from_module(Net(), loss), fed, run=start(from_module(Net()), fed, method=Own())))
print(identity(resnet18(), fed), identity(cnn_cifar(), fed), Reader().digest({*"abcdefgh"}))
"""


@pytest.mark.processes
def test_the_same_objects_and_sets_have_the_same_identity_in_another_process():
    found = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT, seed],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in "12"
    }
    assert len(found) == 1
    assert "network" in found.pop()


def test_a_run_is_read_with_the_model_and_the_data_it_was_saved_with(fed, tmp_path):
    one, other = (from_module(same_weights(Times(frozen(by)))) for by in (1.0, 2.0))
    run = train(start(one, fed), one, fed, 1, clients=2)
    save_run(run, tmp_path / "run", one, fed)
    assert torch.equal(load_run(tmp_path / "run", model=one, fed=fed).w, run.w)
    assert torch.equal(load_run(tmp_path / "run").w, run.w)
    moved = replace(fed, train=replace(fed.train, x=fed.train.x + 1))
    for model, data, named in (
        (other, fed, "network"),
        (one, moved, "training data"),
        (other, moved, "network, training data"),
    ):
        with pytest.raises(ValueError, match=rf"that run has another {named}$"):
            load_run(tmp_path / "run", model=model, fed=data)
    with pytest.raises(
        ValueError, match="model and fed is 'one of them'; allowed: both, or neither"
    ):
        load_run(tmp_path / "run", model=one)
    save_run(run, tmp_path / "bare")
    with pytest.raises(ValueError, match="allowed: a run that was saved with model and fed"):
        load_run(tmp_path / "bare", model=one, fed=fed)


def test_a_search_is_no_run_and_is_refused_before_a_file_is_written(fed, tmp_path):
    with pytest.raises(
        ValueError, match=r"^run is 'Race'; allowed: a Run, such as search.winner; "
    ):
        save_run.__wrapped__(begun(fed), tmp_path / "run")
    assert not [*tmp_path.iterdir()]

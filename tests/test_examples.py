"""The plain files in ``examples/`` and the package give the same numbers, in float64."""

import csv
import math
import runpy
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from fedlab_edu import FedEx, LocalHP, Model, Run, communicate, digits, local_sgd, mlp, start
from fedlab_edu.data.clients import Clients, Federation
from fedlab_edu.methods import Server

FOLDER = Path(__file__).parents[1] / "examples"
SEEDS = [5, 6]


@pytest.fixture
def fedavg():
    return SimpleNamespace(**runpy.run_path(str(FOLDER / "fedavg.py")))


@pytest.fixture
def fedex(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.delitem(sys.modules, "fedavg", raising=False)
    return SimpleNamespace(**runpy.run_path(str(FOLDER / "fedex.py")))


def clients_of(parts: list[tuple[Tensor, Tensor]]) -> Clients:
    x, y = (torch.cat(columns) for columns in zip(*parts, strict=True))
    rows = torch.arange(len(y)).split([len(part[1]) for part in parts])
    return Clients(x, y, tuple(rows))


def federation(train: list[tuple[Tensor, Tensor]], val: list[tuple[Tensor, Tensor]]) -> Federation:
    held = clients_of(val)
    return Federation(clients_of(train), held, held, tuple(map(str, range(len(train)))), 10)


def network() -> tuple[Model, nn.Sequential, Tensor]:
    """A model, the same network in plain PyTorch, and its weights."""
    net = nn.Sequential(nn.Linear(64, 8), nn.ReLU(), nn.Linear(8, 10)).double()
    model = mlp(64, 8, 10)
    return model, net, model.flatten(net)


def close(a: Tensor, b: Tensor) -> None:
    torch.testing.assert_close(a, b, rtol=0, atol=1e-12)


def test_local_sgd_is_that_of_the_example_minibatch_by_minibatch(fedavg):
    data = fedavg.client_data()[:2]
    model, net, w = network()
    W = local_sgd(model, w, clients_of(data), LocalHP(lr=0.1, batch=50, epochs=3), SEEDS)
    for trained, (x, y), seed in zip(W, data, SEEDS, strict=True):
        gen = torch.Generator().manual_seed(seed)
        close(trained, model.flatten(fedavg.local_sgd(net, x, y, 0.1, 50, 3, gen)))


def test_rounds_of_fedavg_are_those_of_the_example(fedavg):
    data = fedavg.client_data()
    model, net, w = network()
    c = LocalHP(lr=0.3, batch=1000, epochs=2)  # one batch, in whatever order
    run = started(model, federation(data, data), c, w)
    for _ in range(3):
        run = communicate(run, model, federation(data, data), clients=10)
    gen = torch.Generator().manual_seed(0)
    close(run.w, model.flatten(fedavg.train(net, data, 3, 10, 0.3, 1000, 2, gen)))


def started(model: Model, fed: Federation, setting: Any, w: Tensor) -> Run:
    return replace(start(model, fed, setting), server=Server.initial(w))


DRAWN: dict[int, int] = {}  # client -> its row in this round


class Dealt(FedEx):
    """FedEx that draws the rows of the example."""

    def ask(self, who: Tensor, gen: torch.Generator) -> Tensor:
        return torch.tensor([DRAWN[i] for i in who.tolist()])


def test_rounds_of_fedex_are_those_of_the_example(fedex):
    parts = fedex.client_data()
    train, val = [(x[20:], y[20:]) for x, y in parts], [(x[:20], y[:20]) for x, y in parts]
    clients = [(*a, *b) for a, b in zip(train, val, strict=True)]
    lrs = [0.01, 0.1, 1.0]
    table = [{"lr": lr, "batch": 1000, "epochs": 1} for lr in lrs]
    model, net, w = network()
    fed = federation(train, val)
    run = started(model, fed, Dealt(LocalHP(lr=lrs, batch=1000)), w)
    theta, lam, gen = torch.full((3,), 1 / 3, dtype=torch.float64), 0.0, torch.Generator()
    for t in range(4):
        gen.manual_seed(t)
        who = torch.randperm(10, generator=gen)
        rows = torch.multinomial(theta, 10, replacement=True, generator=gen)
        DRAWN.update(zip(who.tolist(), rows.tolist(), strict=True))
        run = communicate(run, model, fed, clients=10)
        net, theta, lam = fedex.train(net, theta, lam, table, clients, 10, gen.manual_seed(t))
        close(run.w, model.flatten(net))
        close(run.tuner.theta, theta)
        assert math.isclose(run.tuner.baseline, lam, rel_tol=1e-12)


def test_the_log_has_a_row_for_each_round_with_the_scores_on_its_clients(tmp_path):
    logger = runpy.run_path(str(FOLDER / "log_rounds.py"))["logger"]
    data = digits(clients=14)
    model = mlp(64, 8, 10)
    runs = [start(model, data)]
    with (tmp_path / "log.csv").open("w", newline="") as file:
        log = logger(file)
        log(runs[0])
        for _ in range(3):
            runs.append(communicate(runs[-1], model, data, clients=4))
            log(runs[-1])
        written = (tmp_path / "log.csv").read_text().splitlines()  # it is flushed
    rows = list(csv.DictReader(written))
    assert [row["round"] for row in rows] == ["1", "2", "3"]
    assert [row["diverged"] for row in rows] == ["0", "0", "0"]
    for row, before, after in zip(rows, runs[:-1], runs[1:], strict=True):
        held = [data.val.examples(i) for i in after.history[-1].client.tolist()]
        x, y = (torch.cat(column) for column in zip(*held, strict=True))
        outputs = model.unflatten(before.w)(x).detach()
        error = float((outputs.argmax(1) != y).double().mean())
        assert math.isclose(float(row["error"]), error, rel_tol=1e-9)
        assert math.isclose(float(row["loss"]), float(cross_entropy(outputs, y)), rel_tol=1e-5)


def test_the_log_is_rounds_csv_where_no_file_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["log_rounds.py"])
    runpy.run_path(str(FOLDER / "log_rounds.py"), run_name="__main__")
    assert len((tmp_path / "rounds.csv").read_text().splitlines()) == 1 + 20


@pytest.mark.parametrize("name", ["fedavg", "fedex"])
def test_an_example_stands_alone_and_is_short(name):
    text = (FOLDER / f"{name}.py").read_text()
    assert "fedlab_edu" not in text
    assert len(text.splitlines()) < 75

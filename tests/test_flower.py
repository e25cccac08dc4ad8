"""The Flower app against a run in one process, against plain loops and Flower's own FedAvg."""

import importlib
import re
import sys
import warnings
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from torch import Tensor

from fedlab_edu import (
    MAML,
    Ditto,
    FedDyn,
    Federation,
    FedPA,
    FedProx,
    LocalHP,
    Reptile,
    Scaffold,
    ServerHP,
    communicate,
    digits,
    start,
    train,
)
from fedlab_edu.data import Clients
from fedlab_edu.rounds.result import Round
from fedlab_edu.rounds.tuner import Tuner
from tests.one_process import MODEL, N, OneProcess, assert_same, node_of, over_flower
from tests.reference import plain_loop

with warnings.catch_warnings():
    # typer, which Flower imports, uses a name that click will drop
    warnings.filterwarnings("ignore", "'click", DeprecationWarning)
    from flwr.app import ArrayRecord, ConfigRecord, Message, RecordDict
    from flwr.clientapp import ClientApp
    from flwr.serverapp.strategy import FedAvg

    from fedlab_edu.flower import client_app
    from fedlab_edu.methods import ClientUpdate, DPFedAvg, FedAdam, FedNova, Krum, Median, QFedAvg

C = LocalHP(lr=0.1, batch=8, epochs=2, momentum=0.5, weight_decay=1e-4)
B = ServerHP(lr=0.7, momentum=0.9, decay=0.9)


@dataclass(frozen=True)
class Better:
    """Rows of the table are drawn by weights, which fall with the error that each row leaves."""

    table: LocalHP
    weights: Tensor

    @property
    def final(self) -> LocalHP:
        return self.table[int(self.weights.argmax())]

    def ask(self, who: Tensor, gen: torch.Generator) -> Tensor:
        return torch.multinomial(self.weights, len(who), replacement=True, generator=gen)

    def tell(self, result: Round) -> "Better":
        worse = result.size * (result.after.error - result.before.error)
        change = torch.zeros_like(self.weights).index_add_(0, result.row, worse)
        return replace(self, weights=self.weights * torch.exp(-change / result.size.sum()))


@pytest.fixture(scope="module")
def fed():
    return digits(clients=N).to("cpu", torch.float64)


TUNERS = {
    "one configuration": C,
    "three": Better(
        LocalHP(lr=[0.01, 0.1, 0.3], batch=[4, 8, 16], epochs=[1, 2, 3], momentum=[0.9, 0.5, 0.0]),
        torch.ones(3, dtype=torch.float64),
    ),
}


@pytest.mark.parametrize("name", TUNERS)
def test_three_rounds_over_flower_are_three_rounds_in_one_process(name, fed):
    tuner: Tuner | LocalHP = TUNERS[name]
    run = start(MODEL, fed, tuner, B, seed=3)
    seen = over_flower(run, fed, 3, OneProcess(lambda i: node_of(fed)))
    expected = [run]
    for _ in range(3):
        expected.append(train(expected[-1], MODEL, fed, 1, clients=5))
    for got, wanted in zip(seen, expected, strict=True):
        assert_same(got, wanted)
    assert (seen[-1].w - run.w).norm() > 0.1
    if name == "three":
        assert seen[-1].tuner.weights.tolist() == pytest.approx(expected[-1].tuner.weights.tolist())
        assert len(set(torch.cat([r.row for r in seen[-1].history]).tolist())) == 3


def test_float32_survives_the_messages_bit_for_bit():
    fed = digits(clients=N)
    grid = OneProcess(lambda i: node_of(fed))
    run = start(MODEL, fed, C)
    over_flower(run, fed, 1, grid)
    sent = grid.sent[-1].content.array_records["arrays"].to_numpy_ndarrays()[0]
    assert torch.equal(torch.tensor(sent), run.w)


def test_a_run_begun_in_one_process_goes_on_over_flower(fed):
    run = start(MODEL, fed, C, B, seed=8)
    begun = train(run, MODEL, fed, 2, clients=4)
    grid = OneProcess(lambda i: node_of(fed))
    got = over_flower(begun, fed, 1, grid, clients=4)[-1]
    assert_same(got, train(run, MODEL, fed, 3, clients=4))


def without(fed: Federation, owner: int | None) -> Federation:
    """The same federation, in which all examples but the owner's are NaN."""
    x = torch.full_like(fed.train.x, torch.nan)
    for part in (fed.train, fed.val, fed.test):
        for i, rows in enumerate(part.rows):
            if i == owner:
                x[rows] = part.x[rows]
    parts = (Clients(x, part.y, part.rows) for part in (fed.train, fed.val, fed.test))
    return Federation(*parts, fed.names, fed.classes)


def test_a_node_reads_its_own_examples_alone_and_the_server_none(fed):
    run = start(MODEL, fed, C, B, seed=3)
    grid = OneProcess(lambda i: node_of(without(fed, i)))
    got = over_flower(run, without(fed, None), 2, grid)[-1]
    assert_same(got, train(run, MODEL, fed, 2, clients=5))


def test_nodes_may_be_numbered_in_any_order(fed):
    run = start(MODEL, fed, C, B, seed=3)
    grid = OneProcess(lambda i: node_of(fed), reversed(range(N)))
    assert_same(over_flower(run, fed, 1, grid)[-1], train(run, MODEL, fed, 1, clients=5))


def test_a_client_that_diverges_scores_infinity_over_flower_too(fed):
    run = start(MODEL, fed, LocalHP(lr=1e200, epochs=3, batch=4))
    grid = OneProcess(lambda i: node_of(fed))
    got = over_flower(run, fed, 1, grid)[-1]
    assert got.history[0].after.loss.tolist() == [float("inf")] * 5
    assert got.history[0].diverged.all()
    assert_same(got, communicate(run, MODEL, fed, clients=5))


@dataclass(frozen=True)
class WithGraphs(Scaffold):
    """A method of a user's own, whose vectors have graphs."""

    def loc(self, inputs):
        one = torch.ones((), requires_grad=True)
        return ClientUpdate(*(v if v is None else one * v for v in super().loc(inputs)))


METHODS = {
    WithGraphs(): 0,
    FedProx(): 0.1,
    Reptile(): 0,
    Scaffold(option=1): 0,
    Scaffold(option=2): 0,
    FedDyn(): 0.1,
    FedPA(burn_in=1, plain_rounds=1): 0,
    Ditto(): 0.1,
    MAML(): 0,
    FedNova(): 0,
    FedAdam(): 0,
    Median(): 0,
    Krum(1): 0,
    QFedAvg(2.0): 0,
    DPFedAvg(0.5, 0.1): 0,
}


@pytest.mark.parametrize("method", METHODS, ids=repr)
def test_each_method_is_the_same_over_flower_and_client_states_stay_on_their_nodes(method, fed):
    c = LocalHP(lr=0.05, batch=16, epochs=2, mu=METHODS[method])
    run = start(MODEL, fed, c, B, seed=3, method=method)
    grid = OneProcess(lambda i: node_of(fed, method))
    got = over_flower(run, fed, 4, grid)[-1]
    expected = train(run, MODEL, fed, 4, clients=5)
    assert_same(got, expected)
    assert got.states == (None if expected.states else {})
    on_nodes = {
        grid.nodes[node]: [*state["states"].to_torch_state_dict().values()][-1]
        for node, state in grid.states.items()
        if "states" in state
    }
    torch.testing.assert_close(on_nodes, dict(expected.states), rtol=0, atol=1e-12)


def test_dittos_personal_models_are_in_no_message(fed):
    run = start(MODEL, fed, LocalHP(mu=0.1), method=Ditto())
    grid = OneProcess(lambda i: node_of(fed, Ditto()))
    message = Message(
        RecordDict(
            {
                "arrays": ArrayRecord([run.w.numpy()]),
                "config": ConfigRecord(
                    {
                        "seed": 1,
                        **{name: column.item() for name, column in LocalHP(mu=0.1).columns.items()},
                    }
                ),
            }
        ),
        100,
        "train",
    )
    reply = grid.answer(message).content
    assert set(reply) == {"arrays", "metrics"}
    personal = grid.states[100]["states"].to_torch_state_dict()["0"]
    sent = torch.tensor(reply["arrays"].to_numpy_ndarrays()[0])
    assert (personal - sent).norm() > 1e-4


def test_a_node_of_another_method_and_a_run_with_client_states_are_refused(fed):
    run = start(MODEL, fed, C, method=Scaffold())
    grid = OneProcess(lambda i: node_of(fed))
    wanted = (
        r"(?s)in round 1 0 of 5 .*method of the run is .*Scaffold.*option.: 2.*; allowed: FedAvg"
    )
    with pytest.raises(RuntimeError, match=wanted):
        over_flower(run, fed, 1, grid)
    here = train(run, MODEL, fed, 1, clients=2)
    nodes = OneProcess(lambda i: node_of(fed, Scaffold()))
    there = over_flower(run, fed, 1, nodes)[-1]
    for begun in (here, there):
        with pytest.raises(ValueError, match="rounds played is 1; allowed: 0: client states live"):
            over_flower(begun, fed, 1, grid)
    with pytest.raises(ValueError, match="states is None; allowed: client states; those of"):
        train(there, MODEL, fed, 1)


def test_a_client_that_diverges_over_flower_keeps_its_state(fed):
    grid = OneProcess(lambda i: node_of(fed, Ditto()))
    hot = LocalHP(lr=1e200, epochs=3, batch=4, mu=0.1)
    run = start(MODEL, fed, hot, method=Ditto())
    over_flower(run, fed, 1, grid)
    states = [state["states"] for state in grid.states.values() if "states" in state]
    assert len(states) == 5
    for state in states:
        torch.testing.assert_close(state.to_torch_state_dict()["0"], run.w, rtol=0, atol=0)


def test_flowers_own_fedavg_drives_the_client_app_to_the_average_of_plain_loops(fed):
    w = MODEL.init(2).double()
    grid = OneProcess(lambda i: node_of(fed))
    strategy = FedAvg(fraction_evaluate=0.0, min_available_nodes=N)
    c = {name: column.item() for name, column in C.columns.items()}
    result = strategy.start(
        grid, ArrayRecord([w.numpy()]), 1, train_config=ConfigRecord({"seed": 7, **c})
    )
    W = plain_loop(MODEL, w, fed.train, C, [7] * N)
    n = torch.tensor([len(rows) for rows in fed.train.rows], dtype=torch.float64)
    got = torch.tensor(result.arrays.to_numpy_ndarrays()[0])
    torch.testing.assert_close(got, (n[:, None] * W).sum(0) / n.sum(), rtol=0, atol=1e-12)


def test_a_client_whose_node_fails_to_join_is_an_error_with_the_nodes_reason(fed):
    def broken(number: int) -> ClientApp:
        return node_of(fed) if number else ClientApp()  # the node of client 0 knows no request

    grid = OneProcess(broken)
    with pytest.raises(TimeoutError, match=r"(?s)clients \[0\] of 14 in .*node 100: .*quer"):
        over_flower(start(MODEL, fed, C), fed, 1, grid)


def test_a_client_without_a_node_is_an_error_and_the_log_says_that_the_server_waits(fed, caplog):
    grid = OneProcess(lambda i: node_of(fed), range(N - 2))
    with (
        caplog.at_level("INFO"),
        pytest.raises(TimeoutError, match=r"no node for the clients \[12, 13\] of 14 in 0.05 s"),
    ):
        over_flower(start(MODEL, fed, C), fed, 1, grid)
    assert "12 of 14 clients have joined" in caplog.text


def test_a_second_node_for_a_client_takes_the_place_of_the_first(fed, caplog):
    grid = OneProcess(lambda i: node_of(fed), [*range(N), 3])
    got = over_flower(start(MODEL, fed, C), fed, 3, grid)[-1]
    assert_same(got, train(start(MODEL, fed, C), MODEL, fed, 3, clients=5))
    old, new = (node for node, client in grid.nodes.items() if client == 3)
    assert re.search(
        f"client 3: node ({new} in place of {old}|{old} in place of {new})", caplog.text
    )


@pytest.mark.parametrize(
    ("number", "allowed"), [(-1, "partition-id"), (N, "client is 14;"), ("3", "partition-id")]
)
def test_a_number_that_is_no_clients_is_an_error(number, allowed, fed):
    data = lambda context: fed[[0]]  # noqa: E731
    grid = OneProcess(lambda i: client_app(MODEL, data), [*range(N - 1), number])
    with pytest.raises(TimeoutError, match=rf"(?s)clients \[13\].*node 191: {allowed}"):
        over_flower(start(MODEL, fed, C), fed, 1, grid)


def test_a_node_with_data_of_two_clients_is_an_error(fed):
    grid = OneProcess(lambda i: client_app(MODEL, lambda context: fed))
    with pytest.raises(TimeoutError, match=r"clients of data\(context\) is 14; allowed: 1, this"):
        over_flower(start(MODEL, fed, C), fed, 1, grid)


def test_without_flower_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "flwr.app", None)
    for name in [name for name in sys.modules if name.startswith("fedlab_edu.flower")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'fedlab_edu\[flower\]'"):
        importlib.import_module("fedlab_edu.flower")


def test_a_run_that_draws_clients_twice_is_refused(fed):
    run = start(MODEL, fed, C, replacement=True)
    with pytest.raises(ValueError, match="replacement is True; allowed: False: a node trains once"):
        over_flower(run, fed, 1, OneProcess(lambda i: node_of(fed)))


def test_numbers_that_numpy_does_not_have_are_refused(fed):
    half = fed.to("cpu", torch.bfloat16)
    with pytest.raises(ValueError, match=r"dtype of the run is 'torch.bfloat16'; .* torch.float32"):
        over_flower(start(MODEL, half, C), half, 1, OneProcess(lambda i: node_of(half)))


@pytest.mark.usefixtures("unchecked")
def test_a_number_of_classes_of_numpys_is_one_of_pythons(fed):
    other = replace(fed, classes=np.int64(fed.classes))
    run = start(MODEL, other, C)
    got = over_flower(run, other, 1, OneProcess(lambda i: node_of(other)))
    assert_same(got[-1], communicate(start(MODEL, fed, C), MODEL, fed, 5))


def test_a_run_from_given_weights_is_the_same_over_flower(fed):
    w = torch.linspace(-1, 1, MODEL.d, dtype=torch.float64)
    run = start(MODEL, fed, C, B, w=w)
    got = over_flower(run, fed, 2, OneProcess(lambda i: node_of(fed)))
    assert torch.equal(got[0].w, w)
    assert_same(got[-1], train(run, MODEL, fed, 2, clients=5))

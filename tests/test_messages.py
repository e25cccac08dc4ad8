"""Messages about wrong arguments: they name the argument, and show a few values."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

import fedlab_edu as fl
from fedlab_edu import LocalHP, ServerHP, data, methods
from fedlab_edu.methods import ClientUpdate
from fedlab_edu.rounds.tuner import Fixed
from fedlab_edu.search.baselines import draw_arms
from fedlab_edu.search.space import FEDEX
from fedlab_edu.validate import require, require_all, shown, whole

MODEL = fl.mlp(64, 10)
FED = fl.digits(clients=14)
RUN = fl.start(MODEL, FED, LocalHP(batch=8))


pytestmark = pytest.mark.usefixtures("unchecked")


def said(call: Callable[[], object]) -> str:
    with pytest.raises(ValueError) as seen:  # noqa: PT011
        call()
    return str(seen.value)


# ------------------------------------------------------------------------- values in a message


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "3"),
        ("10", "'10'"),
        ((1,), "(1,)"),
        ([], "[]"),
        (torch.tensor(0.5), "0.5"),
        (torch.ones(3).to_sparse(), "a Tensor"),
        (np.int64(3), "3"),
        (list(range(8)), "[0, 1, 2, 3, 4, 5, 6, 7]"),
        (torch.arange(9), "[0, 1, 2, 3, 4, 5, 6, 7, ...]"),
        (np.arange(99_999), "[0, 1, 2, 3, 4, 5, 6, 7, ...]"),
        (torch.arange(99).view(9, 11), "[[0, 1, 2, 3, 4, 5, 6, 7, ...], ...]"),
        ([[1, 2], [3, 4]], "[[1, 2], [3, 4]]"),
        ([torch.zeros(5).long(), torch.ones(5).long()], "[[0, 0, 0, 0, 0], [1, 1, 1, ...]]"),
        ({"lr": [1] * 9, "mu": 2}, "{'lr': [1, 1, 1, 1, 1, 1, 1, 1, ...], ...}"),
        (nn.Sequential(nn.ReLU(), nn.ReLU()), "Sequential( (0): ReLU() (1): ReLU() )"),
    ],
)
def test_a_value_is_shown_with_eight_of_its_numbers_at_most(value, text):
    assert shown(value) == text
    with pytest.raises(ValueError, match=re.escape(f"x is {text}; allowed: none")):
        require(False, "x", value, "none")


def test_of_a_long_column_the_wrong_values_are_shown():
    column = torch.arange(100.0)
    column[77] = torch.nan
    assert said(lambda: require_all(column.isfinite(), "x", column, "finite")) == (
        "x (1 of 100 values) is [nan]; allowed: finite"
    )
    rates = [0.1] * 1000 + [-1.0, -2.0]
    assert said(lambda: LocalHP(lr=rates)) == (
        "lr (2 of 1,002 values) is [-1.0, -2.0]; allowed: finite numbers of at least 0"
    )


def test_a_long_table_reads_as_its_first_eight_rows():
    text = repr(LocalHP(lr=[0.5] * 9))
    assert text.startswith("LocalHP(lr=[0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, ...], momentum=")


SPACES = fl.Spaces(fl.SearchSpace({"lr": fl.Choice((0.1,))}))
LONG = torch.full((1000,), -0.123)
TABLE = LocalHP(lr=[0.1] * 1000)
FAULTS: dict[str, Callable[[], object]] = {
    "lr": lambda: LocalHP(lr=LONG),
    "batch": lambda: LocalHP(batch=LONG),
    "momentum": lambda: LocalHP(momentum=LONG.numpy()),
    "decay": lambda: ServerHP(decay=LONG.tolist()),
    "matrix": lambda: LocalHP(lr=LONG.view(10, 100)),
    "method": lambda: fl.start(MODEL, FED, method=LONG),
    "tuner": lambda: fl.start(MODEL, FED, LONG),
    "rows of a tuner": lambda: fl.start(MODEL, FED, TABLE),
    "clients": lambda: fl.communicate(RUN, MODEL, FED, LONG),
    "rounds": lambda: fl.train(RUN, MODEL, FED, LONG),
    "c": lambda: fl.personalise(RUN, MODEL, FED, TABLE),
    "spaces": lambda: fl.random_search(MODEL, FED, LONG, 2, 1),
    "table": lambda: fl.random_search(MODEL, FED, TABLE, 2, 1),
    "mu": lambda: fl.communicate(fl.start(MODEL, FED, LocalHP(mu=0.123)), MODEL, FED, 14),
    "options": lambda: fl.Choice([*LONG.tolist(), "x"]),
    "theta": lambda: fl.FedEx(TABLE, score=LONG),
    "weights": lambda: fl.local_sgd(MODEL, LONG, FED.train, LocalHP(), [0] * 14),
    "seeds": lambda: fl.local_sgd(MODEL, RUN.w, FED.train, LocalHP(), [0] * 1000),
    "fed": lambda: fl.start(MODEL, LONG),
    "estimate": lambda: fl.random_search(MODEL, FED, SPACES, 2, 1, estimate=LONG),
    "targets": lambda: replace(FED, val=replace(FED.val, y=FED.val.y + 1000)),
    "rows": lambda: replace(FED, val=replace(FED.val, rows=tuple(r + 9999 for r in FED.val.rows))),
}


@pytest.mark.parametrize("name", FAULTS)
def test_no_message_shows_more_than_eight_values_of_a_long_column(name):
    text = said(FAULTS[name]).partition("; allowed")[0]
    columns = re.findall(r"[\[(]([^\[\]()]*)", text)
    assert max((column.count(", ") for column in columns), default=0) <= 8, text
    assert len(text) < 520


# -------------------------------------------------------------------------------- whole numbers


@pytest.mark.parametrize("value", ["10", 0.5, 3.0, None, [3], True, np.True_, torch.tensor(3.0)])
def test_what_is_no_whole_number_is_refused_by_name(value):
    with pytest.raises(ValueError, match=r"n is .*; allowed: a whole number of at least 1$"):
        whole("n", value, 1)
    with pytest.raises(
        ValueError, match=r"n is .*; allowed: a whole number of at least 1, 2,000 at most$"
    ):
        whole("n", value, 1, 2000)


@pytest.mark.parametrize("value", [3, np.int8(3), torch.tensor(3)])
def test_whole_numbers_of_numpy_and_pytorch_become_built_in_ones(value):
    assert type(whole("n", value, 1)) is int
    assert whole("n", value, 1) == 3


@pytest.mark.parametrize("value", ["10", 0.5, 2.0, None, True, [2]])
def test_rounds_and_clients_that_are_no_whole_numbers_are_refused_by_name(value):
    calls: list[tuple[str, Callable[[], object]]] = [
        ("clients", lambda: fl.communicate(RUN, MODEL, FED, value)),
        ("clients", lambda: fl.communicate_all([RUN], MODEL, FED, value)),
        ("clients", lambda: fl.train(RUN, MODEL, FED, 1, value)),
        ("rounds", lambda: fl.train(RUN, MODEL, FED, value)),
        ("clients", lambda: fl.tune(fl.random_search(MODEL, FED, SPACES, 1, 1), MODEL, FED,
                                           value)),
        ("every", lambda: fl.tune(fl.random_search(MODEL, FED, SPACES, 1, 1), MODEL, FED,
                                         every=value)),
        ("total", lambda: fl.random_search(MODEL, FED, SPACES, value, 1)),
        ("cap", lambda: fl.successive_halving(MODEL, FED, SPACES, 9, value)),
        ("seed", lambda: fl.start(MODEL, FED, seed=value)),
    ]  # fmt: skip
    for name, call in calls:
        assert re.match(rf"{name} is .*; allowed: a whole number (of|from) ", said(call))


@pytest.mark.parametrize("value", ["10", 0.5, 2.0, None, [2], True])
def test_sizes_and_counts_that_are_no_whole_numbers_are_refused_by_name(value):
    gen = torch.Generator()
    calls: list[tuple[str, Callable[[], object]]] = [
        ("k", lambda: FEDEX.client.sample(value, gen)),
        ("points", lambda: FEDEX.client.grid(value)),
        ("arms", lambda: draw_arms(FEDEX, value)),
        ("seed", lambda: draw_arms(FEDEX, 1, value)),
        ("sizes", lambda: fl.mlp(4, value)),
        ("channels", lambda: fl.lenet5(28, value)),
        ("classes", lambda: fl.lenet5(28, 1, value)),
        ("classes", lambda: fl.cnn_femnist(value)),
        ("classes", lambda: fl.cnn_cifar(24, value)),
        ("width", lambda: fl.char_lstm(101, value)),
        ("depth", lambda: fl.char_lstm(depth=value)),
        ("length", lambda: data.genres(value)),
        ("words", lambda: data.passages("tragedies", value)),
        ("seed", lambda: fl.sensors(value)),
    ]
    for name, call in calls:
        assert re.match(
            rf"{name} is .*; allowed: (a whole number of|two or more whole|from 1 to) ", said(call)
        )


def test_a_switch_that_is_neither_true_nor_false_is_refused_by_name():
    assert said(lambda: fl.char_lstm(bfloat16=1)) == "bfloat16 is 1; allowed: True, False"


@pytest.mark.parametrize("lr", [pd.Series([0.1, 0.2], index=[5, 6]), np.array([0.1, 0.2], ">f8")])
def test_columns_of_tables_and_odd_arrays_are_columns_of_hyperparameters(lr):
    assert LocalHP(lr=lr).lr.tolist() == [0.1, 0.2]


@pytest.mark.parametrize(
    "value",
    [None, "0.1", ["a"], 1j, {"a": 1}, object(), np.array(["1"]), 10**400],
)
def test_what_is_no_number_is_no_hyperparameter(value):
    text = said(lambda: LocalHP(lr=value))
    assert re.match(r"lr is .*; allowed: a number, or one number per configuration$", text)


# ----------------------------------------------------------------------------- swapped arguments


def test_swapped_arguments_are_named_with_their_type_and_what_is_allowed():
    search = fl.random_search(MODEL, FED, SPACES, 1, 1)
    model, fed, run = "a Model: from_module", "a Federation: federate", "a Run: start"
    for call, name, kind, allowed in [
        (lambda: fl.start(FED, MODEL), "model", "Federation", model),
        (lambda: fl.start(MODEL, LocalHP()), "fed", "LocalHP", fed),
        (lambda: fl.communicate(MODEL, RUN, FED), "run", "Model", run),
        (lambda: fl.communicate(RUN, FED, MODEL), "model", "Federation", model),
        (lambda: fl.communicate_all([MODEL], RUN, FED), "run", "Model", run),
        (lambda: fl.train(FED, MODEL, RUN, 3), "run", "Federation", run),
        (lambda: fl.train(RUN, MODEL, 3, FED), "fed", "int", fed),
        (lambda: fl.evaluate(MODEL, RUN, FED), "run", "Model", run),
        (lambda: fl.personalise(RUN, FED, MODEL), "model", "Federation", model),
        (lambda: fl.tune(search, FED, MODEL), "model", "Federation", model),
        (lambda: fl.tune(RUN, MODEL, FED), "search", "Run", "a search, such as"),
        (
            lambda: fl.tune(search, MODEL, FED, executor=4),
            "executor",
            "int",
            "an Executor: Process",
        ),
        (lambda: fl.random_search(FED, MODEL, SPACES, 1, 1), "model", "Federation", model),
        (lambda: fl.score(RUN.w, MODEL, FED.test), "model", "Tensor", model),
        (lambda: fl.score(MODEL, RUN.w, FED), "clients", "Federation", "a Clients: fed.train"),
        (lambda: fl.gradient(MODEL, FED.train, RUN.w), "clients", "Tensor", "a Clients: fed.train"),
        (
            lambda: fl.local_sgd(MODEL, FED.train, RUN.w, LocalHP(), [0]),
            "clients",
            "Tensor",
            "a Cl",
        ),
        (lambda: fl.local_sgd(MODEL, RUN.w, FED.train, [0], LocalHP()), "c", "list", "a LocalHP: "),
        (lambda: fl.local_sgd(MODEL, RUN.w, FED.train, LocalHP(), 0), "seeds", "int", "a list: [0"),
        (lambda: fl.communicate_all(RUN, MODEL, FED), "runs", "Run", "a list of runs: [start"),
        (lambda: fl.personalise(RUN, MODEL, FED, 0.1), "c", "float", "a LocalHP: LocalHP(lr=0.1)"),
        (lambda: fl.start(MODEL, FED, b=LocalHP()), "b", "LocalHP", "a ServerHP: ServerHP(lr=0.5)"),
        (lambda: FED.sample(3, 0), "gen", "int", "a Generator: torch.Generator"),
    ]:
        assert said(call).startswith(f"{name} is {kind!r}; allowed: {allowed}")


def test_other_odd_arguments_are_named():
    assert said(lambda: fl.start(MODEL, FED, replacement="no")).startswith("replacement is 'no'; ")
    assert said(lambda: FED.to(None)).startswith("device is 'None'; allowed: 'cpu'")
    assert said(lambda: FED.to("cpu", torch.int64)).startswith("dtype is torch.int64; allowed: a d")
    assert said(lambda: FED.to("cpu", "float64")).startswith("dtype is 'float64'; allowed: a dtype")


# ---------------------------------------------------- mu, for a method that has no use for it

METHODS = [made for made in map(vars(methods).get, methods.__all__)
           if isinstance(made, type) and issubclass(made, fl.FedAvg)]  # fmt: skip


@pytest.mark.parametrize("made", METHODS)
def test_a_run_is_refused_where_the_first_round_of_its_method_would_refuse_mu(made):
    c = LocalHP(mu=0.123, batch=8, epochs=4)
    if made in (fl.FedProx, fl.FedDyn, fl.Ditto):
        fl.communicate(fl.start(MODEL, FED, c, method=made()), MODEL, FED, 5)
        return
    text = said(lambda: fl.start(MODEL, FED, c, method=made()))
    assert re.fullmatch(rf"mu is 0.123; allowed: 0: {made.__name__} has no pull .*", text)
    run = replace(fl.start(MODEL, FED, method=made()), tuner=Fixed(c))
    assert said(lambda: fl.communicate(run, MODEL, FED, 5)).startswith("mu is [0.123")


def test_the_papers_space_without_fedprox_is_refused_when_the_search_is_made():
    searches: list[Callable[..., object]] = [
        lambda **how: fl.random_search(MODEL, FED, FEDEX, 27, 1, **how),
        lambda **how: fl.successive_halving(MODEL, FED, FEDEX, 100, 20, **how),
        lambda **how: fl.successive_halving(MODEL, FED, FEDEX, 100, 20,
                                            tuner=fl.around(FEDEX.client), **how),
        lambda **how: fl.bayesian_search(MODEL, FED, FEDEX, 12, 2, **how),
        lambda **how: fl.fedpop(MODEL, FED, FEDEX, 40, 20, **how),
        lambda **how: fl.fedtune(MODEL, FED, LocalHP(lr=[0.1, 0.2], mu=0.5), 3, **how),
    ]  # fmt: skip
    for search in searches:
        text = said(search)
        assert re.match(r"mu is .*; allowed: 0: FedAvg has no pull towards .* FedProx has$", text)
        assert len(text) < 300
        search(method=fl.FedProx())


def test_a_method_of_ones_own_may_use_mu():
    class Pulling(fl.FedAvg):
        pulls = True

    class Own(fl.FedAvg):
        def loc(self, inputs: Any) -> ClientUpdate:
            W = inputs.sgd(inputs.w)
            return ClientUpdate(model=W, personal=W)

    c = LocalHP(mu=0.1)
    ends = [
        fl.communicate(fl.start(MODEL, FED, c, method=method), MODEL, FED, 5).w
        for method in (Pulling(), Own(), fl.FedProx())
    ]
    assert torch.equal(ends[0], ends[2])
    assert torch.equal(ends[1], ends[2])

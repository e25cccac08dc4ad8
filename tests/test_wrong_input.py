"""Inputs that would silently give wrong numbers are refused by name, or give the right ones."""

from collections.abc import Callable
from dataclasses import replace
from math import inf, nan
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge
from torch import nn

from fedlab_edu import (
    Choice,
    Federation,
    FedEx,
    LocalHP,
    Model,
    MultiplicativeWeights,
    OneOf,
    Option,
    Run,
    SearchSpace,
    Spaces,
    Uniform,
    communicate,
    fedpop,
    fedtune,
    from_module,
    mlp,
    start,
    weighted_average,
)
from fedlab_edu.data import decode, enough, federate
from fedlab_edu.data.shakespeare import speeches, spoken, windowed
from fedlab_edu.data.shift import seen
from fedlab_edu.features.bags import Corpus
from fedlab_edu.features.linear import Linear, ridge, ridge_torch
from fedlab_edu.features.maps import RandomFourier, fourier_maps, preprocess
from fedlab_edu.features.rules import growing_widths
from fedlab_edu.features.selection import Data
from fedlab_edu.features.share import eg_step
from fedlab_edu.methods import FedAdam
from fedlab_edu.oco.bounds import bound, printed_bounds
from fedlab_edu.oco.losses import Losses
from fedlab_edu.oco.ogd import ogd
from fedlab_edu.search.results import arms_table, online
from fedlab_edu.search.schedules import halving, survivors

TRAIN = np.arange(12.0).reshape(4, 3)
LR = SearchSpace({"lr": Uniform(0, 1)})


def small(dtype: torch.dtype = torch.float32) -> Federation:
    x = torch.linspace(0, 1, 40, dtype=dtype).view(20, 2)
    return federate(x, torch.arange(20) % 2, [range(10), range(10, 20)])


def two_classes(**other: Any) -> Data:
    return Data(
        **({"x": TRAIN, "y": [0, 1] * 2, "x_val": TRAIN, "y_val": [0, 1] * 2} | other), classes=2
    )


def played(model: Model) -> Run:
    return communicate(start(model, small()), model, small(), 2)


def not_numbers(layer: nn.Module) -> None:
    for p in layer.parameters():
        nn.init.constant_(p, nan)


def half_of(value: float) -> Federation:
    x, y = torch.rand(4, 2).half(), torch.full((4,), value)
    return federate(x, y, [range(4)], fractions=(1, 0, 0))


CLIENTS = "allowed: whole numbers from 0 to 1"
CASES: dict[str, tuple[Callable[[], Any], str]] = {
    "a mask of clients": (lambda: small()[[True, False]], f"clients is [True, False]; {CLIENTS}"),
    "half a client": (lambda: small().train[torch.tensor([0.5])], f"clients is [0.5]; {CLIENTS}"),
    "one client, not a list": (lambda: small()[0], f"clients is 0; {CLIENTS}"),
    "a client that is not there": (lambda: small()[[2]], f"clients is [2]; {CLIENTS}"),
    "a run of another model": (
        lambda: communicate(start(mlp(2, 2), small()), mlp(2, 3, 2), small(), 2),
        "length of the run's w is 6; allowed: 17, the d of the model",
    ),
    "weights of another model": (
        lambda: mlp(2, 2)(torch.zeros(5), torch.zeros(1, 2)), "length of w is 5; allowed: 6",
    ),
    "a network of another model": (
        lambda: mlp(4, 3).flatten(nn.Linear(3, 4)), "shapes of net's weights is [(4, 3), (4,)]",
    ),
    "data in another precision": (
        lambda: communicate(start(mlp(2, 2), small()), mlp(2, 2), small(torch.float64), 2),
        "dtype of x is 'torch.float64'; allowed: torch.float32",
    ),
    "initial weights that float32 lacks": (
        lambda: start(mlp(2, 1), small(), w=torch.full((3,), 1e300, dtype=torch.float64)),
        "w is [inf, inf, inf]; allowed: finite numbers in torch.float32",
    ),
    "a network with NaN": (
        lambda: start(from_module(nn.Linear(2, 2).apply(not_numbers)), small()),
        "w is [nan, nan, nan, nan, nan, nan]; allowed: finite numbers in torch.float32",
    ),
    "examples that float16 lacks": (
        lambda: replace(small().train, x=torch.full((20, 2), 1e5)).to("cpu", torch.float16),
        "x in torch.float16 is 'not finite'; allowed: numbers that it has",
    ),
    "targets that float16 lacks": (
        lambda: half_of(1e5), "y in torch.float16 is 'not finite'; allowed: numbers that it has",
    ),
    "a seed with a fraction": (lambda: mlp(2, 2).init(1.5), "seed is 1.5; allowed: a whole number"),
    "a seed beyond PyTorch's": (lambda: mlp(2, 2).init(2**64), "seed is 18446744073709551616;"),
    "a class for a network": (lambda: from_module(nn.Linear), "net is 'type'; allowed: a Module"),
    "a network without classes": (
        lambda: played(from_module(nn.Sequential(nn.Linear(2, 1), nn.Flatten(0)))),
        "shape of the outputs is (2,); allowed: (2, C)",
    ),
    "a loss that counts": (
        lambda: played(from_module(nn.Linear(2, 2), lambda o, y: (o.argmax(1) != y).long())),
        "dtype of the loss is 'torch.int64'; allowed: floats",
    ),
    "an infinite weight": (
        lambda: weighted_average(torch.ones(2, 3), torch.tensor([1, inf])), "n is [1.0, inf];",
    ),
    "a list for a space": (lambda: SearchSpace([Uniform(0, 1)]), "distributions is 'list'"),
    "a space of another kind": (lambda: SearchSpace({}, dict), "kind is <class 'dict'>"),
    "a point outside the cube": (lambda: LR.from_unit(torch.tensor([[nan]])), "u is [[nan]]"),
    "a point with other axes": (lambda: LR.from_unit(torch.ones(1, 2)), "shape of u is (1, 2)"),
    "a seed for a generator": (lambda: LR.sample(2, 0), "gen is 'int'; allowed: a Generator"),
    "options that floats cannot tell apart": (lambda: Choice((2**53, 2**53 + 1)), "none twice"),
    "options that are words": (lambda: Choice(("sgd", "adam")), "none twice; for words see OneOf"),
    "half an eta": (lambda: survivors([1.0, 2.0], 2.5), "eta is 2.5"),
    "no arms": (lambda: halving([], [1, 2]), "scores is []; allowed: at least one"),
    "probabilities that are none": (
        lambda: MultiplicativeWeights(LocalHP(lr=[1, 2]), 3, p=(0.9, 0.3)), "p is (0.9, 0.3)",
    ),
    "one probability in a tensor": (
        lambda: MultiplicativeWeights(LocalHP(lr=[1, 2]), 3, p=torch.tensor(0.5)), "p is 0.5; all",
    ),
    "a column of features for all": (
        lambda: preprocess(TRAIN, "minmax")(np.ones((2, 1))), "shape of x is (2, 1)",
    ),
    "more classes than memory holds scores of": (
        lambda: Data(TRAIN, [0, 1] * 2, TRAIN, [0, 1] * 2, classes=10**7), "2, 1,000,000 at most",
    ),
    "validation data with NaN": (lambda: two_classes(x_val=TRAIN * nan), "x_val (12 of 12"),
    "a seed for a generator of NumPy's": (
        lambda: RandomFourier.draw(0),
        "rng is 'int'; allowed: a Generator: np.random",
    ),
    "a character that is none": (lambda: decode(torch.tensor([-1])), "ids is [-1]; allowed: whole"),
    "a list for a method's fields": (
        lambda: Option(FedAdam(), Spaces(LR), [("tau", 1)]),
        """own is 'list'; allowed: a Mapping: {"tau": LogUniform""",
    ),
    "a run for a race": (lambda: online(start(mlp(2, 2), small())), "race is 'Run'"),
    "one text for many": (lambda: Corpus("one"), "texts is 'one string'"),
    "model and data swapped in FedPop": (
        lambda: fedpop(small(), mlp(2, 2), Spaces(LR), 6, 2), "model is 'Federation'; allowed: a M",
    ),
    "model and data swapped in FedTune": (
        lambda: fedtune(small(), mlp(2, 2), LocalHP(), 6), "model is 'Federation'; allowed: a M",
    ),
    "a point with too few axes": (lambda: Spaces(LR).at([]), "shape of point is (0,); allowed: ("),
    "a seed for a generator of options": (
        lambda: OneOf((Option(FedAdam(), Spaces(LR)),)).draw(0), "gen is 'int'; allowed: a Generat",
    ),
    "a table of clients": (lambda: small()[[[0, 1]]], "shape of clients is (1, 2); allowed: (B,)"),
    "a client from the end": (lambda: small().train.examples(-1), "client is -1; allowed: a whole"),
    "two fractions": (lambda: enough(10, (0.8, 0.2)), "fractions is (0.8, 0.2); allowed: three"),
    "windows longer than a text": (
        lambda: windowed({"A": "To be"}, 5, 1, False, None), "length is 5; allowed: below 5",
    ),
    "a word for weights": (lambda: weighted_average(torch.ones(2, 2), "ab"), "n is 'ab'; allowed"),
    "complex numbers": (lambda: Losses("hinge", 1j * torch.ones(2, 2)), "allowed: real numbers of"),
    "a table of step sizes": (lambda: bound(1, 1, 1, 1, 1, 1, [[1, 0.5]]), "shape of steps is (1,"),
    "no tasks": (lambda: printed_bounds(1, 1, 1, 1, 0, 1, 1), "tau is 0; allowed: a whole number"),
    "targets with NaN": (
        lambda: ridge_torch(torch.ones(2, 1), torch.full((2, 1), nan)), "Y is 'not finite'; allow",
    ),
    "complex targets": (lambda: ridge(TRAIN, TRAIN * 1j), "Y is [[0j, 1j, 2j], "),
    "labels without a class": (
        lambda: Linear().fit(TRAIN, np.array([0, 1, 2, 5]), 3), "y is [0, 1, 2, 5]; allowed: whole",
    ),
    "features whose squares overflow": (
        lambda: preprocess(TRAIN * 1e200, "standard"), "allowed: (M, d), not empty, finite numbers",
    ),
    "a masked array": (
        lambda: preprocess(np.ma.masked_equal(TRAIN, 5), None), "allowed: real numbers of one shap",
    ),
    "an infinite probability": (lambda: eg_step([inf, 1], [0, 0], 1), "p is [inf, 1.0]; allowed:"),
    "a step beyond all numbers": (lambda: eg_step([1, 1], [9, 0], 1e308), "eta times error is inf"),
    "widths that become 0": (lambda: growing_widths(9, 2, inf), "growth is inf; allowed: a finite"),
    "steps beyond all numbers": (
        lambda: ogd(Losses("quadratic", [[1e100], [0]]), [0.0], 1e100, 1.0), "largest |w|^2 is inf",
    ),
}  # fmt: skip


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("case", CASES)
def test_what_would_be_wrong_in_silence_is_refused_by_name(case):
    call, message = CASES[case]
    with pytest.raises(ValueError, match="allowed") as error:
        call()
    assert message in str(error.value)


def test_a_table_takes_a_list_of_flags_as_a_mask():
    table = LocalHP(lr=[0.1, 0.2, 0.3])
    assert table[[True, False, True]].lr.tolist() == [0.1, 0.3]
    assert len(table[[]]) == 0


def test_a_space_is_not_changed_by_its_dictionary():
    given = {"lr": Uniform(0, 1)}
    space = SearchSpace(given)
    given["momentum"] = Uniform(0, 5)  # which a space would refuse
    assert [*space.distributions] == ["lr"]


def test_ridge_regression_on_features_whose_squares_overflow_is_least_squares():
    X = torch.tensor([[1.0, 0], [1, 1], [0, 1], [3, 1]], dtype=torch.float64)
    Y = torch.eye(4, dtype=torch.float64)[:, :2]
    W, _ = ridge_torch(1e160 * X, Y)
    expected = np.linalg.lstsq(X - X.mean(0), Y - Y.mean(0), rcond=None)[0]
    np.testing.assert_allclose(1e160 * W, expected, atol=1e-9)


def test_maps_may_be_made_of_a_generator():
    chosen = RandomFourier.draw(np.random.default_rng(0), 3)
    maps = [fourier_maps(of, TRAIN, 4, np.random.default_rng(1)) for of in (chosen, iter(chosen))]
    for one, other in zip(*maps, strict=True):
        np.testing.assert_array_equal(one(TRAIN), other(TRAIN))


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
def test_images_and_features_of_half_precision_are_those_of_the_same_numbers(kind):
    x = torch.rand(2, 1, 4, 4, generator=torch.Generator().manual_seed(0)).to(kind)
    for sensor in ("blurred", "thickened"):
        torch.testing.assert_close(seen(x, sensor), seen(x.double(), sensor).to(kind))
    rows = torch.tensor(TRAIN).to(kind)
    assert (two_classes(x=rows).x == TRAIN).all()
    assert (preprocess(rows, None)(rows) == TRAIN).all()
    for one, other in zip(ridge(rows, rows), ridge(TRAIN, TRAIN), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


@pytest.mark.parametrize("kind", [torch.int64, torch.bool])
def test_ridge_regression_on_whole_numbers_does_not_round_its_weights(kind):
    X, Y = torch.tensor([[1, 0], [1, 1], [0, 1]], dtype=kind), torch.eye(3)[:, :2]
    W, b = ridge_torch(X, Y)
    expected = Ridge(alpha=0.5).fit(X.double(), Y)
    np.testing.assert_allclose(W.T, expected.coef_, atol=1e-7)
    np.testing.assert_allclose(b, expected.intercept_, atol=1e-7)


def test_a_part_that_shall_have_no_example_needs_none():
    assert [n for n in range(1, 12) if enough(n, (0.8, 0.2, 0.0))] == [*range(5, 12)]


def test_line_ends_of_windows_are_those_of_unix():
    play = "**A**\nTo be, or\nnot.\n\n**B**\nYes.\n"
    assert (
        speeches(spoken(play.replace("\n", "\r\n")))
        == speeches(spoken(play))
        == {"A": "To be, or not.", "B": "Yes."}
    )


@pytest.mark.usefixtures("unchecked")
def test_texts_and_sizes_of_numpy_are_those_of_python():
    assert Corpus(np.array(["a", "b c"])).texts == ["a", "b c"]
    assert FedEx(LocalHP(lr=[0.1, 0.2]), axes=(np.int64(2),)).axes == (2,)


@pytest.mark.usefixtures("unchecked")
def test_weights_may_be_a_list():
    W = torch.tensor([[1.0, 0.0], [0.0, 4.0]])
    assert weighted_average(W, [3, 1]).tolist() == [0.75, 1.0]


def test_fedpop_members_are_shown_as_the_arms_of_a_race():
    search = fedpop(mlp(2, 2), small(), Spaces(LR), 6, 2)
    assert [one.arms for one in search.brackets] == [3]
    assert arms_table(search).bracket.tolist() == [0, 0, 0]


def test_row_numbers_that_change_later_do_not_change_a_federation():
    rows = [torch.arange(4), torch.arange(4, 8)]
    fed = federate(torch.rand(8, 2), torch.arange(8) % 2, rows, 2, (1, 0, 0))
    rows[0].fill_(7)
    assert fed.train.rows[0].tolist() == [0, 1, 2, 3]

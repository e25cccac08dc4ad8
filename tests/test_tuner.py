"""The tuner that tunes nothing: which row each client gets."""

import inspect
from statistics import mean
from typing import Any

import numpy as np
import pytest
import torch

from fedlab_edu import LocalHP, digits, mlp, start, train
from fedlab_edu.methods import Median, Method
from fedlab_edu.rounds.tuner import Fixed, Tuner
from tests.test_space import made

TABLE = LocalHP(lr=[0.1, 0.2, 0.3])


@pytest.mark.parametrize(
    "row",
    [
        [2, 0, 1, 1],
        np.array([2, 0, 1, 1]),
        torch.tensor([2, 0, 1, 1], dtype=torch.uint8),  # which alone would index as a mask
        torch.tensor([2, 0, 1, 1], dtype=torch.int32),
    ],
    ids=["list", "NumPy", "uint8", "int32"],
)
def test_each_client_gets_the_row_that_is_its_own(row):
    tuner = made(Fixed, table=TABLE, row=row)
    assert tuner.row.dtype == torch.long
    assert tuner.final.lr.tolist() == [0.3, 0.1, 0.2, 0.2]
    asked = tuner.ask(torch.tensor([3, 0]), torch.Generator())
    assert asked.tolist() == [1, 2]


@pytest.mark.parametrize(
    "row",
    [
        [0.0, 1.0],
        [True, False],
        torch.tensor(1),
        [[0, 1], [1, 0]],
        [[0], [1, 0]],
        [],
        [0, 3],
        [-1, 0],
        [1j],
        "ab",
    ],
    ids=repr,
)
def test_rows_that_are_no_column_of_whole_numbers_are_refused(row):
    with pytest.raises(ValueError, match=r"row is .*; allowed: (whole numbers from 0|a row)"):
        made(Fixed, table=TABLE, row=row)


def example(cls: type) -> str:
    """The code in a docstring."""
    text = inspect.getdoc(cls) or ""
    block = text.partition("::\n\n")[2].splitlines()
    end = next((i for i, line in enumerate(block) if line and not line.startswith("    ")), None)
    return inspect.cleandoc("\n".join(block[:end]))


def test_the_tuner_in_the_docstring_of_the_interface_works():
    fed, model = digits(clients=14), mlp(64, 8, 10)
    names = {"start": start, "train": train, "fed": fed, "model": model}
    exec(example(Tuner).replace(", 30)", ", 6)"), names)
    tuner = names["run"].tuner
    assert isinstance(tuner, Tuner)
    assert [one.row.unique().tolist() for one in names["run"].history] == [[0], [1], [2]] * 2
    means = [mean(tuner.errors[j::3]) for j in range(3)]
    assert tuner.final.lr.item() == pytest.approx([0.01, 0.1, 1.0][means.index(min(means))])


def test_the_method_in_the_docstring_of_the_interface_works():
    fed, model = digits(clients=14), mlp(64, 8, 10)
    names: dict[str, Any] = {}
    exec(example(Method), names)
    begun = start(model, fed, LocalHP(lr=1.0), method=names["Clipped"](0.01))
    after = train(begun, model, fed, 1)
    assert 0 < float((after.w - begun.w).norm()) <= 0.01 * (1 + 1e-5)
    mine, ours = (
        train(start(model, fed, method=m), model, fed, 1) for m in (names["MedianAvg"](), Median())
    )
    torch.testing.assert_close(mine.w, ours.w)

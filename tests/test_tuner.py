"""The tuner that tunes nothing: which row each client gets."""

import numpy as np
import pytest
import torch

from fedlab_edu import LocalHP
from fedlab_edu.rounds.tuner import Fixed
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
def test_each_client_gets_the_row_that_is_its_own(row: object) -> None:
    tuner = made(Fixed, table=TABLE, row=row)
    assert tuner.row.dtype == torch.long
    assert tuner.final.lr.tolist() == [0.3, 0.1, 0.2, 0.2]
    asked = tuner.ask(2, torch.Generator(), who=torch.tensor([3, 0]))
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
def test_rows_that_are_no_column_of_whole_numbers_are_refused(row: object) -> None:
    with pytest.raises(
        ValueError, match=r"row is .*; allowed: for each client a whole number from"
    ):
        made(Fixed, table=TABLE, row=row)

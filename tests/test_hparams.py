"""Tables of hyperparameters: rows in, columns out, and what they refuse."""

import numpy as np
import pytest
import torch

from fedlab_edu import LocalHP, ServerHP


def test_a_row_index_gives_scalars_and_a_tensor_of_arms_gives_columns():
    table = LocalHP(lr=[0.1, 0.2, 0.3], epochs=[1, 2, 3], mu=0.5)
    assert len(table) == 3
    assert table[1].lr.item() == 0.2
    assert table[1].epochs.dim() == 0
    arm = torch.tensor([2, 2, 0])
    assert table[arm].lr.tolist() == [0.3, 0.3, 0.1]
    assert table[[0, 2]].epochs.tolist() == [1, 3]
    assert table[arm].mu.tolist() == [0.5, 0.5, 0.5]
    assert table[:2].lr.tolist() == [0.1, 0.2]


def test_a_setting_reads_as_it_would_be_written():
    c = LocalHP(lr=[0.5, 0.25], batch=8)
    assert repr(c).startswith("LocalHP(lr=[0.5, 0.25], momentum=[0.0, 0.0], ")
    again = eval(repr(c))
    assert again.lr.tolist() == [0.5, 0.25]
    assert again.batch.tolist() == [8, 8]


def test_a_table_is_a_copy_of_what_it_was_made_from():
    lr = torch.tensor([0.5, 0.25], dtype=torch.float64, requires_grad=True)
    c = LocalHP(lr=lr)
    with torch.no_grad():
        lr.mul_(-1)
    assert c.lr.tolist() == [0.5, 0.25]
    assert not c.lr.requires_grad


def test_tables_are_joined_row_after_row():
    joined = LocalHP.concat([LocalHP(lr=0.5), LocalHP(lr=[0.1, 0.2], epochs=3)])
    assert joined.lr.tolist() == [0.5, 0.1, 0.2]
    assert joined.epochs.tolist() == [1, 3, 3]


def test_whole_numbers_stay_whole_and_the_rest_is_float64():
    table = LocalHP(lr=1, batch=[8, 16])
    assert table.batch.dtype == table.epochs.dtype == torch.int64
    assert table.lr.dtype == table.mu.dtype == torch.float64


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LocalHP(lr=-0.1), r"lr is -0\.1; allowed: finite numbers of at least 0"),
        (lambda: LocalHP(lr=[0.1, float("nan")]), r"lr is \[0\.1, nan\]; allowed: finite"),
        (lambda: LocalHP(lr=float("inf")), r"lr is inf; allowed: finite"),
        (lambda: LocalHP(lr="fast"), r"lr is 'fast'; allowed: a number"),
        (lambda: LocalHP(lr=[]), r"lr is \[\]; allowed: a number or a column"),
        (lambda: LocalHP(lr=[[0.1]]), r"lr is \[\[0\.1\]\]; allowed: a number or a column"),
        (lambda: LocalHP(momentum=1.5), r"momentum is 1\.5; allowed: numbers from 0 to 1"),
        (lambda: LocalHP(momentum=-0.1), r"momentum is -0\.1; allowed: numbers from 0 to 1"),
        (lambda: ServerHP(momentum=-0.1), r"momentum is -0\.1; allowed: numbers from 0 to 1"),
        (lambda: ServerHP(decay=1.1), r"decay is 1\.1; allowed: numbers above 0, up to 1"),
        (lambda: LocalHP(weight_decay=-1), r"weight_decay is -1; allowed"),
        (lambda: LocalHP(mu=-1), r"mu is -1; allowed"),
        (lambda: LocalHP(batch=0), r"batch is 0; allowed: whole numbers from 1 to 2\^53"),
        (lambda: LocalHP(batch=2**60), r"batch is \d+; allowed: whole numbers from 1 to 2\^53"),
        (lambda: LocalHP(epochs=1.5), r"epochs is 1\.5; allowed: whole numbers from 1 to 2"),
        (lambda: LocalHP(lr=[1, 2], mu=[1, 2, 3]), r"columns is .*'lr': 2, 'mu': 3.*one length"),
        (lambda: ServerHP(decay=0), r"decay is 0; allowed: numbers above 0"),
        (lambda: ServerHP(control_lr=-1), r"control_lr is -1; allowed"),
        (lambda: ServerHP(control_decay=0), r"control_decay is 0; allowed: numbers above 0"),
        (lambda: ServerHP(lr=-1), r"lr is -1; allowed"),
        (lambda: ServerHP(momentum=2), r"momentum is 2; allowed"),
    ],
)
def test_a_value_out_of_range_is_named_with_what_is_allowed(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    "flag",
    [True, [0.5, True], [np.True_], torch.tensor([True]), np.array(True), torch.tensor(1j)],
)
def test_true_false_and_complex_numbers_are_no_hyperparameters(flag):
    with pytest.raises(ValueError, match=r"^momentum is .*; allowed: numbers from 0 to 1$"):
        LocalHP(momentum=flag)

"""What tuning costs: steps are those of a plain count, and energy is the stated formula."""

import re
from dataclasses import replace
from math import ceil
from pathlib import Path
from typing import Any

import pytest

from fedlab_edu import cli, tune
from fedlab_edu.papers.costs import Device, cost_of
from fedlab_edu.papers.fedpop import Member
from fedlab_edu.papers.reproduce import EXPERIMENTS

RECORDS = Path(__file__).parents[1] / "book/records"
DIGITS: Any = EXPERIMENTS["fedpop-table1"].workload("digits", "book")
SMALL = replace(DIGITS, total=6, cap=3)


def test_steps_are_those_that_a_plain_count_finds_in_the_rounds():
    model, fed = SMALL.model(), SMALL.load(0)
    searched = tune(Member("RS", "RS", "global", "none").search(SMALL, model, fed, 0), model, fed)
    plain = 0
    for run in searched.runs:
        epochs, batch = int(run.tuner.final.epochs), int(run.tuner.final.batch)
        for result in run.history:
            for client in result.client.tolist():
                plain += epochs * ceil(int(fed.train.n[client]) / batch)
    assert cost_of("RS", SMALL, Device()).steps == plain


def test_bytes_and_energy_are_the_stated_formula():
    cost = cost_of("RS + FedPop", SMALL, Device(watts=3.0, seconds=0.5, joules=0.25))
    d = 64 * 32 + 32 + 32 * 10 + 10
    assert cost.rounds == 6
    assert (cost.down, cost.up) == (4 * 60 * (d + 7), 4 * 60 * (d + 1))
    assert cost.training == pytest.approx(cost.steps * 0.5 * 3.0)
    assert cost.moving == pytest.approx(60 * (8 * d + 32) * 0.25)


@pytest.mark.parametrize("field", Device._fields)
@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
def test_a_device_without_positive_numbers_is_refused(field, value):
    with pytest.raises(ValueError, match=field):
        cost_of("RS", SMALL, Device(**{field: value}))


def test_the_command_prints_the_formula_and_a_line_for_each_search(capsys):
    assert cli.main(["costs", "--folder", str(RECORDS), "--watts", "20"]) == 0
    out = capsys.readouterr().out
    assert "E = R B (n_steps t P + 8 d e)" in out
    assert "P = 20 W" in out
    names = re.findall(r"^(one guess|RS|SHA|RS \+ \w+) {2,}\d", out, re.M)
    assert names == ["one guess", "RS", "SHA", "RS + FedEx", "RS + FedPop"]
    assert out.count("no record") == 1  # the guess


def test_the_command_refuses_a_device_that_draws_nothing(capsys):
    assert cli.main(["costs", "--watts", "0"]) == 2
    assert "watts" in capsys.readouterr().err

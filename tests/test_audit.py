"""An audit of records finds what the code no longer gives."""

import json
import math
import shutil
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

from fedlab_edu import cli
from fedlab_edu.papers import audit as audits
from fedlab_edu.papers import reproduce as reproducing
from fedlab_edu.papers.audit import audit
from fedlab_edu.papers.reproduce import reproduce
from tests.test_papers import SMALL, TINY

FIRST = SMALL.variants[0].name


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    folder = tmp_path_factory.mktemp("records")
    return reproduce(SMALL, "tiny", seeds=range(4), folder=folder, say=id)


@pytest.fixture
def folder(record, tmp_path, monkeypatch):
    monkeypatch.setattr(reproducing, "EXPERIMENTS", {"small": SMALL})
    shutil.copy(record, tmp_path)
    return tmp_path


def change(folder: Path, of: Callable[[int], bool], by: float) -> None:
    path = folder / "small-tiny-book.jsonl"
    records = [json.loads(line) for line in path.read_text().splitlines()]
    for record in records:
        if record["variant"] == FIRST and of(record["seed"]):
            record["global"] = abs(record["global"] - by)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def test_what_the_code_gives_again_is_as_recorded(folder, capsys):
    (one,) = audit(folder)
    assert (one.stale, one.runs, one.said) == (False, 4 * len(SMALL.variants), f"seed 3, {FIRST}")
    assert cli.main(["records", "--folder", str(folder)]) == 0
    assert capsys.readouterr().out.startswith("as recorded  small-tiny-book.jsonl: ")
    assert one.said == str(one).rpartition("made again: ")[2]


def test_rounding_does_not_make_a_record_stale(folder):
    change(folder, lambda seed: True, 1e-6)
    (one,) = audit(folder)
    assert not one.stale


def test_a_value_that_is_not_finite_is_equal_to_the_same_one_only():
    values = [math.nan, math.inf, -math.inf, 0.5]
    for one, other in product(range(4), repeat=2):
        assert audits._equal([values[one]], [values[other]]) == (one == other)


def test_a_record_made_before_there_were_curves_is_not_stale_and_one_with_another_curve_is(folder):
    path = folder / "small-tiny-book.jsonl"
    records = [json.loads(line) for line in path.read_text().splitlines()]
    for curve, stale in (({}, False), ({"curve": [[2, 0.0], [8, 0.0]]}, True)):
        old = ({name: r[name] for name in r if name != "curve"} | curve for r in records)
        path.write_text("".join(json.dumps(record) + "\n" for record in old))
        (one,) = audit(folder)
        assert one.stale == stale


def test_one_chaotic_run_does_not_make_a_record_stale(folder):
    change(folder, lambda seed: seed == 3, 0.01)
    (one,) = audit(folder)
    assert not one.stale
    assert one.said.count("seed") == 2


def test_an_algorithm_that_gives_other_numbers_makes_a_record_stale(folder, capsys):
    change(folder, lambda seed: True, 0.01)
    (one,) = audit(folder)
    assert one.stale
    assert one.said.count(", now ") == 3
    assert cli.main(["records", "--folder", str(folder)]) == 1
    assert capsys.readouterr().out.startswith("STALE  ")


def test_another_budget_than_that_of_the_record_is_named(folder, monkeypatch):
    longer = replace(SMALL, settings={"book": {"tiny": replace(TINY, total=10, cap=5)}})
    monkeypatch.setattr(reproducing, "EXPERIMENTS", {"small": longer})
    (one,) = audit(folder)
    assert one.stale
    assert "budget {" in one.said


def test_data_that_are_not_here_are_said(folder, monkeypatch):
    def lost(seed: int, data: str | None) -> None:
        raise OSError("no data here")

    away = replace(SMALL, settings={"book": {"tiny": replace(TINY, load=lost)}})
    monkeypatch.setattr(reproducing, "EXPERIMENTS", {"small": away})
    (one,) = audit(folder)
    assert (one.stale, one.said) == (None, "no data here")


def test_the_time_of_a_record_is_in_the_unit_that_has_two_of_or_more():
    for seconds, said in ((9, "90 seconds"), (12, "2 minutes"), (720, "2 hours")):
        line = str(audits.Audit("one.jsonl", 10, False, "seed 0", seconds))
        assert line == f"as recorded  one.jsonl: 10 runs; all take {said}; made again: seed 0"


def test_a_folder_without_records_is_refused(tmp_path, capsys):
    assert cli.main(["records", "--folder", str(tmp_path)]) == 2
    assert "allowed: one with records of reproduce" in capsys.readouterr().err

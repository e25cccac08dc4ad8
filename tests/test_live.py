"""The views, records and checks of the live cells, in CPython; tests/book has them in a browser."""

import json
import re
from itertools import pairwise
from math import log
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import torch

from fedlab_edu import FedEx, LocalHP
from fedlab_edu.live import draw, draws, fedex, records
from fedlab_edu.rounds.result import RoundResult
from fedlab_edu.training.scores import Score
from fedlab_edu.tuners.fedex import rules

FOLDER = Path(__file__).parents[1] / "book/records"


def record(name: str) -> Any:
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


# Charts.


def test_a_chart_is_xml_whose_points_are_whole_tenths_of_a_pixel() -> None:
    chart = draw.Chart((0, 10), (0, 1), "x", 'a < b & "c"')
    chart.line([0, 5, 10], [0, 0.5, 1], draw.BLUE)
    chart.dot(5, 0.5, draw.ORANGE)
    chart.bar(2, 1, 0.5, draw.GREEN)
    chart.label(1, "end", draw.BLUE)
    root = ElementTree.fromstring(chart.svg('it says "a < b"'))
    assert root.get("aria-label") == 'it says "a < b"'
    numbers = [
        v for e in root.iter() for k, v in e.items() if k in ("x", "y", "points", "cx", "cy")
    ]
    assert [one for one in numbers if not re.fullmatch(r"-?\d+([ ,]-?\d+)*", one)] == []


def test_values_outside_a_chart_are_clipped_and_nan_is_at_the_top() -> None:
    assert draw.share(5, 0, 10, False) == 0.5
    assert draw.share(-5, 0, 10, False) == 0
    assert draw.share(50, 0, 10, False) == draw.share(float("nan"), 0, 10, False) == 1
    assert draw.share(0, 0.01, 1, True) == 0
    assert draw.share(0.1, 0.01, 1, True) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("low", "high", "wanted"),
    [(0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]), (0, 60, [0, 20, 40, 60]), (-3, 2, [-3, -2, -1, 0, 1, 2])],
)
def test_ticks_are_round_numbers_within_the_axis(
    low: float, high: float, wanted: list[float]
) -> None:
    assert draw.ticks(low, high, False) == wanted


def test_ticks_of_a_logarithmic_axis_are_powers_of_ten() -> None:
    assert draw.ticks(0.002, 30, True) == [0.01, 0.1, 1, 10]


def test_labels_at_one_height_are_put_below_one_another() -> None:
    chart = draw.Chart((0, 1), (0, 1), "x", "y")
    for name in ("first", "second", "third"):
        chart.label(0.5, name, draw.BLUE)
    texts = ElementTree.fromstring(chart.svg("labels")).iter("text")
    heights = [int(e.get("y", 0)) for e in texts if e.text in ("first", "second", "third")]
    assert all(b - a >= 150 for a, b in pairwise(heights))


def test_the_draws_are_uniform_and_normal() -> None:
    u = draws.uniforms(1)
    some = [next(u) for _ in range(20_000)]
    assert 0 < min(some) < max(some) < 1
    assert sum(some) / len(some) == pytest.approx(0.5, abs=0.01)
    x = torch.tensor([draws.normal(u) for _ in range(20_000)])
    assert float(x.mean()) == pytest.approx(0, abs=0.03)
    assert float(x.std()) == pytest.approx(1, abs=0.03)


# Records.


@pytest.mark.parametrize("name", records.RECORDS)
def test_a_record_is_small(name: str) -> None:
    assert (FOLDER / f"{name}.json").stat().st_size < 150_000


def close(made: list[Any], kept: list[Any]) -> None:
    """Compare counts; processors round differently, and an example may change sides."""
    a, b = (torch.tensor(one, dtype=torch.float64).flatten() for one in (made, kept))
    assert a.shape == b.shape
    assert float((a - b).abs().mean()) < 0.05


def test_the_record_of_fedex_is_made_again_by_its_maker() -> None:
    made, kept = records.fedex(rounds=2), record("live-fedex")
    assert made["rows"] == kept["rows"]
    assert made["size"] == kept["size"][:2]
    close(made["wrong"], kept["wrong"][:2])


def test_records_are_written_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "RECORDS", {"one": lambda: {"a": [1, 2]}})
    records.main(str(tmp_path))
    assert (tmp_path / "one.json").read_text() == '{"a":[1,2]}\n'


# FedEx.


@pytest.mark.parametrize("rule", rules.RULES)
def test_the_replay_of_fedex_is_the_tuner_on_the_same_scores(rule: Any) -> None:
    data = record("live-fedex")
    path, _ = fedex.replay(data, rule, 1.0, 0.9, 3)
    tuner: Any = FedEx(LocalHP(lr=[0.1] * 27), step=rule, gamma=0.9, cutoff=0)
    u = draws.uniforms(3)
    for t, (wrong, size) in enumerate(zip(data["wrong"], data["size"], strict=True)):
        assert path[t] == pytest.approx(tuner.theta.tolist(), rel=1e-9)
        row = [rules.draw_row(path[t], next(u)) for _ in size]
        error = [w[j] / n for w, j, n in zip(wrong, row, size, strict=True)]
        tuner = tell(tuner, row, error, size)
    assert path[-1] == pytest.approx(tuner.theta.tolist(), rel=1e-9)


def tell(tuner: Any, row: list[int], error: list[float], size: list[int]) -> Any:
    score = Score(
        torch.tensor(error, dtype=torch.float64), torch.tensor(error, dtype=torch.float64)
    )
    every, n = torch.arange(len(row)), torch.tensor(size, dtype=torch.float64)
    return tuner.tell(RoundResult(every, torch.tensor(row), n, score, score, every < 0))


def test_without_the_division_theta_commits_itself_to_no_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def undivided(
        theta: list[float], row: list[int], score: list[float], size: list[float], baseline: float
    ) -> list[float]:
        g = [0.0] * len(theta)
        for j, s, n in zip(row, score, size, strict=True):
            g[j] += n * (s - baseline) / sum(size)
        return g

    def likeliest() -> float:
        data = record("live-fedex")
        return sum(max(fedex.replay(data, "constant", 1, 0.9, s)[0][-1]) for s in range(20)) / 20

    divided = likeliest()
    monkeypatch.setattr(rules, "gradient", undivided)
    assert likeliest() < 0.25 < 0.5 < divided


def test_the_picture_of_fedex_names_its_three_likeliest_rows(
    capsys: pytest.CaptureFixture[str],
) -> None:
    svg = fedex.race(record("live-fedex"), "adaptive", 1.0, 0.9, 1)
    assert len(list(ElementTree.fromstring(svg).iter("polyline"))) > 27
    assert len(re.findall(r"[\d.]+ · \d: 0\.\d\d<", svg)) == 3
    assert f"{log(27):.2f} at first" in capsys.readouterr().out

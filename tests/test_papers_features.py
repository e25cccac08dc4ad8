"""The experiments on feature maps: what a record holds, and the data that they are about."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedlab_edu.cli import main
from fedlab_edu.data import passages, roles
from fedlab_edu.features.linear import Linear
from fedlab_edu.features.maps import RandomFourier, fourier_maps
from fedlab_edu.features.selection import Data
from fedlab_edu.features.share import History
from fedlab_edu.papers import features
from fedlab_edu.papers.experiment import Experiment
from fedlab_edu.papers.features import BAGS, FOURIER
from fedlab_edu.papers.report import render
from fedlab_edu.papers.reproduce import read_records, reproduce
from fedlab_edu.papers.selections import SEARCHES, Maps, Problem, Task, rank, select, selections


def tiny(seed: int, source: str | None) -> Problem:
    """Two clouds of points in the plane, 40 to train on and 20 to validate."""
    rng = np.random.default_rng(seed)
    y = np.arange(60) % 2
    x = rng.normal(size=(60, 2)) + 2 * y[:, None]
    data = Data(x[:40], y[:40], x[40:], y[40:], 2)

    def maps(rng: np.random.Generator, k: int, n: int, shared: bool, device: Any) -> list[Any]:
        return fourier_maps(RandomFourier.draw(rng, k), data.x, n, rng, shared, data.x_val, device)

    return Problem(data, maps, Linear())


SMALL = Experiment(
    "small", "nowhere", "none",
    (Maps("5 features", 5, True), Maps("5 features, own", 5, False)), (),
    {"book": {"tiny": Task(tiny, 6)}}, selections,
)  # fmt: skip


def test_a_record_has_the_accuracy_of_each_map_and_what_each_search_has_picked(tmp_path):
    said: list[str] = []
    path = reproduce(SMALL, "tiny", seeds=[3], folder=tmp_path, say=said.append)
    records = read_records(path, SMALL)
    data, rng = tiny(3, None).data, np.random.default_rng(3).spawn(1 + len(SEARCHES))[0]
    maps = tiny(3, None).maps(rng, 6, 5, True, None)
    for i, each in enumerate(maps):  # ridge by the normal equations of a column of ones more
        A, B = (np.hstack([each(x), np.ones((len(x), 1))]) for x in (data.x, data.x_val))
        penalty = np.diag([0.5] * 5 + [0.0])
        v = np.linalg.solve(A.T @ A + penalty, A.T @ np.where(data.y == 1, 1, -1))
        accuracy = ((B @ v > 0) == (data.y_val == 1)).mean()
        assert records[0]["accuracy"][i] == pytest.approx(accuracy, abs=1e-6)
    assert len(records) == len(said) == 2
    for record in records:
        assert record["picks"].keys() == SEARCHES.keys()
        assert record["seconds"].keys() == {"maps", "sweep", *SEARCHES}
        assert record["budget"] == {"k": 6}
        assert {*record["picks"].values()} <= {*range(6)}
        assert 0.05 < record["peak_gib"] < 64
    text = render(SMALL, "tiny", records)
    assert "6 maps to choose from" in text
    assert f"{'full sweep':36}{100 * max(records[0]['accuracy']):6.2f}" in text
    again = path.read_text()
    reproduce(SMALL, "tiny", seeds=[3], folder=tmp_path, say=said.append)
    assert path.read_text() == again


def test_a_record_names_the_search_that_picked(monkeypatch):
    def picks(place: int) -> Callable:
        return lambda maps, data, rng, linear: History([], [], place)

    three = {name: picks(i) for i, name in enumerate("abc")}
    monkeypatch.setattr("fedlab_edu.papers.selections.SEARCHES", three)
    found = select(Maps("5 features", 5, True), 6, tiny(0, None), 0, "cpu")
    assert found["picks"] == {"a": 0, "b": 1, "c": 2}
    assert found["examples"] == [40, 20]


def test_a_rank_is_one_more_than_the_maps_that_are_better():
    record = {"accuracy": [0.5, 0.9, 0.7, 0.7], "picks": {"a": 2, "b": 1, "c": 0}}
    assert [rank(record, name) for name in "abc"] == [2, 1, 4]


@pytest.mark.parametrize(
    "change",
    [
        {"picks": {"halving": 6}},
        {"accuracy": [1.5] * 6},
        {"accuracy": []},
        {"seconds": {"maps": 1}},
    ],
)
def test_a_line_that_cannot_be_a_record_is_refused(change, tmp_path):
    record = {"variant": "5 features", "seed": 0, "budget": {"k": 6}, "accuracy": [0.5] * 6}
    record |= {"picks": {"halving": 5}, "seconds": {"maps": 1, "sweep": 2, "halving": 1}} | change
    path = tmp_path / "small-tiny-book.jsonl"
    path.write_text(json.dumps(record) + "\n")
    with pytest.raises(ValueError, match="line 1"):
        read_records(path, SMALL)


def test_passages_are_whole_speeches_of_their_genre():
    said = roles()
    for genre, plays in (("comedies", 8), ("tragedies", 6)):
        found = passages(genre)
        assert len({play for play, _ in found}) == plays
        assert all(play.startswith(f"{genre}/") for play, _ in found)
        assert min(len(text.split()) for _, text in found) == 40
        for play, text in found[::50]:
            assert any(text in spoken for role, spoken in said.items() if role.startswith(play))
    with pytest.raises(ValueError, match="genre is 'farces'; allowed: one of"):
        passages("farces")


def test_no_play_is_on_both_sides_and_both_sides_have_both_genres():
    seen = set()
    for seed in range(3):
        problem = BAGS.settings["book"]["shakespeare"].problem(seed, None)
        _, y, plays = features._speeches()
        train, val = ({plays[i] for i in rows} for rows in (problem.data.x, problem.data.x_val))
        assert not train & val
        assert sorted(play.split("/")[0] for play in val) == ["comedies"] * 2 + ["tragedies"] * 2
        for i in (0, 700, -1):
            assert (
                y[problem.data.x[i]]
                == problem.data.y[i]
                == plays[problem.data.x[i]].startswith("t")
            )
        seen.add(tuple(sorted(val)))
    assert len(seen) == 3


def images(folder: Path) -> None:
    from datasets import Dataset, Features, Image, Value
    from PIL import Image as pil

    pixels = [np.full((32, 32, 3), 25 * i, dtype=np.uint8) for i in range(10)]
    rows = {"img": [pil.fromarray(p) for p in pixels], "label": [*range(10)]}
    kinds = Features({"img": Image(), "label": Value("int64")})
    Dataset.from_dict(rows, features=kinds).to_parquet(folder / "train.parquet")


def reviews(folder: Path) -> None:
    for part, count in (("train", 6), ("test", 8)):
        rows = [{"text": f"{part} film {i}", "label": i % 2} for i in range(count)]
        (folder / f"{part}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))


@pytest.mark.parametrize(
    ("experiment", "dataset", "write", "sizes"),
    [(FOURIER, "cifar10", images, (8, 2)), (BAGS, "imdb", reviews, (6, 4))],
)
def test_papers_data_come_from_a_folder_that_holds_them(
    experiment, dataset, write, sizes, tmp_path
):
    write(tmp_path)
    problem = experiment.settings["paper"][dataset].problem(0, str(tmp_path))
    data = problem.data
    assert (len(data.y), len(data.y_val)) == sizes
    maps = problem.maps(np.random.default_rng(0), 2, 16, True, None)
    part = getattr(features, f"_{dataset}")(str(tmp_path), 4).data
    assert (len(part.y), len(part.y_val)) == (4, 2)
    if dataset == "cifar10":
        assert part.x.tolist() == data.x[:4].tolist()
        assert part.y_val.tolist() == data.y_val[:2].tolist()
    assert maps[0](data.x).shape == (sizes[0], 16)
    if dataset == "cifar10":
        assert data.x.shape == (8, 32 * 32 * 3)
        assert {*data.y.tolist(), *data.y_val.tolist()} == {*range(10)}
        assert data.y_val.tolist() != [8, 9]  # a file may be sorted by label
        for x, y in ((data.x, data.y), (data.x_val, data.y_val)):
            assert x[:, 0] == pytest.approx(25 * y / 255)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fourier-features", "--data", "here"], "data is 'here'; allowed: none: this data set"),
        (["fedex-table1", "--data", "here"], "data is 'here'; allowed: none: this data set"),
        (["ngram-bins", "--dataset", "digits"], "dataset is 'digits'; allowed: one of ['shake"),
        (
            ["ngram-bins", "--dataset", "imdb", "--scale", "paper", "--data", "/no/such/folder"],
            "data is '/no/such/folder'; allowed: a folder that holds the data set",
        ),
    ],
)
def test_the_command_refuses_in_one_sentence(arguments, message, tmp_path, capsys):
    assert main(["reproduce", *arguments, "--folder", str(tmp_path)]) == 2
    out, err = capsys.readouterr()
    assert message in err
    assert len(err.strip().splitlines()) == 1
    assert "Traceback" not in out + err


def test_the_picks_of_the_authors_code_are_one_of_64_maps_for_each_search_and_seed():
    path = Path(__file__).parents[1] / "book/records/authors-weight-sharing.csv"
    rows = [*csv.DictReader(path.read_text("utf-8").splitlines())]
    seeds: dict[str, list[int]] = {}
    for row in rows:
        seeds.setdefault(row["search"], []).append(int(row["seed"]))
        failed = row["search"] == "halving, exact" and row["pick"] == ""
        assert failed or 0 <= int(row["pick"]) < 64
    assert len(seeds) == 5
    assert all(found == [*range(16)] for found in seeds.values())


def test_a_plan_takes_the_first_data_set_and_counts_only_variants_that_run_on_it(tmp_path, capsys):
    assert main(["reproduce", "ngram-bins", "--plan", "--folder", str(tmp_path)]) == 0
    first, second, third = capsys.readouterr().out.splitlines()
    assert first.startswith("ngram-bins on shakespeare, book: ")
    variants = sum(v.n <= 2**16 for v in BAGS.variants)
    assert second.endswith(f": {5 * variants} of {5 * variants} runs.")
    assert third.startswith("Their time is not estimated")

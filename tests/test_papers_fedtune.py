"""FedTune's tables: printed numbers against one another, and records against searches by hand."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from fedlab_edu import evaluate, start, train, tune
from fedlab_edu.cli import main
from fedlab_edu.data import federate
from fedlab_edu.models.networks import mlp
from fedlab_edu.papers import experiment as papers
from fedlab_edu.papers import fedtune as tables
from fedlab_edu.papers.experiment import Experiment
from fedlab_edu.papers.fedtune import GRID, SKEWS, TABLES_1_TO_5, Cell, Personal
from fedlab_edu.papers.fedtune_figures import (
    EPOCHS,
    ETAS,
    FIGURE_2,
    FIGURE_5,
    MARKS,
    RATES,
    STEPS,
    changes,
    step_name,
)
from fedlab_edu.papers.fedtune_searches import RISING
from fedlab_edu.papers.report import render
from fedlab_edu.papers.reproduce import read_records, reproduce
from fedlab_edu.rounds.tuner import Fixed
from fedlab_edu.search.baselines import random_search
from fedlab_edu.search.bayes import Bayes
from fedlab_edu.search.estimate import Estimate
from fedlab_edu.search.race import alone
from fedlab_edu.search.space import Spaces
from fedlab_edu.seeds import generator, seed_for
from fedlab_edu.tuners.fedtune import fedtune

VARIANTS = {v.name: v for v in TABLES_1_TO_5[0].variants}
COMPARED = [*VARIANTS][:6]  # the paper's, the shared grid, and no search
THEIRS = ("FedTune", "random search", "Hyperband", "Bayesian optimisation")


def accuracy(table: int, algorithm: str, cell: str) -> float:
    """In percent, as printed."""
    return 100 - TABLES_1_TO_5[table - 1].published[algorithm][cell].mean


def test_gains_that_the_text_states_are_relative_and_follow_from_the_tables():
    """Sections 4.2.1 (budget 30) and 4.2.3 (90 clients): over three baselines each."""
    stated = {
        (1, "cifar10-lenet-30"): (20.32, 19.32, 9.99),
        (4, "cifar10-90"): (15.90, 18.19, 12.87),
    }
    for (table, cell), gains in stated.items():
        ours = accuracy(table, "FedTune", cell)
        for algorithm, gain in zip(THEIRS[1:], gains, strict=True):
            other = accuracy(table, algorithm, cell)
            assert 100 * (ours / other - 1) == pytest.approx(gain, abs=0.05)  # of rounded numbers
            assert ours - other < 10  # in points they are half as large


def test_cells_that_are_in_several_tables_agree():
    for data in ("cifar10", "fmnist", "mnist"):
        for algorithm in THEIRS:
            for model, skew, clients in (("lenet", 2, 4), ("mlp", 3, 5)):
                one = accuracy(1, algorithm, f"{data}-{model}-30")
                assert accuracy(skew, algorithm, f"{data}-0.1") == one
                assert accuracy(clients, algorithm, f"{data}-10") == one


def test_small_cells_divide_the_digits_and_tables_2_and_4_train_lenet_on_them():
    fields = dict(enumerate(("total", "alpha", "clients"), 1))
    for number, table in enumerate(TABLES_1_TO_5, 1):
        convolutions = number in (2, 4)
        assert [v.name for v in table.variants] == ([*VARIANTS] if number in (1, 3) else COMPARED)
        for name, cell in table.settings["book"].items():
            varied = {fields[(number + 2) // 2]: float(name.removeprefix("digits-"))}
            plain = {"total": 30, "alpha": 0.1, "clients": 10, "final": 100}
            assert cell.budget == plain | varied
            left_out = [v.name for v in table.variants if not cell.fits(v)]
            assert left_out == (["Bayesian optimisation"] if cell.clients > 10 else [])
            assert len(cell.model().shapes) == (10 if convolutions else 4)


def test_fedtune_is_best_in_all_printed_cells_but_four():
    behind = set()
    for number, table in enumerate(TABLES_1_TO_5, 1):
        for cell in table.settings["paper"]:
            ours, *others = (accuracy(number, algorithm, cell) for algorithm in THEIRS)
            if max(others) > ours:
                behind.add((number, cell))
    assert behind == {
        (1, "fmnist-lenet-300"), (3, "cifar10-0.5"), (3, "fmnist-1"), (3, "fmnist-5"),
    }  # fmt: skip


def test_each_table_varies_one_thing_and_keeps_the_others():
    for number, table in enumerate(TABLES_1_TO_5, 1):
        field = {1: "total", 2: "alpha", 3: "alpha", 4: "clients", 5: "clients"}[number]
        for scale, final in (("paper", 400), ("book", 100)):
            for name, cell in table.settings.get(scale, {}).items():
                value = float(name.rpartition("-")[2])
                expected = {"total": 30, "alpha": 0.1, "clients": 10, "final": final, field: value}
                assert cell.budget == expected
        sizes = {len(table.settings["paper"])}
        assert sizes == ({60} if number == 1 else {15})
    sizes = {
        name: cell.model().d for name, cell in TABLES_1_TO_5[0].settings["paper"].items()
        if name.endswith("-30")
    }  # fmt: skip
    assert sizes["mnist-mlp-30"] == 784 * 128 + 128 + 128 * 10 + 10
    assert sizes["cifar10-mlp-30"] == 3072 * 128 + 128 + 128 * 10 + 10
    assert sizes["mnist-lenet-30"] == sizes["fmnist-lenet-30"]


def tiny(seed: int, data: str | None) -> tuple[torch.Tensor, torch.Tensor]:
    """Two clouds that a linear model can tell apart."""
    gen = torch.Generator().manual_seed(0)
    y = torch.arange(300) % 10
    return torch.randn(300, 6, generator=gen) + y[:, None], y


TINY = Cell(tiny, lambda: mlp(6, 10), total=30, clients=3, final=4, alpha=1.0)


def small(*variants: Personal) -> Experiment:
    against = tuple((variants[0].name, other.name) for other in variants[1:])
    return Experiment("small", "nowhere", "none", variants, against, {"book": {"tiny": TINY}})


def test_a_cell_divides_each_clients_data_60_20_20_and_each_example_goes_to_one():
    fed = TINY.federation(5)
    rows = torch.cat([torch.cat(part.rows) for part in (fed.train, fed.val, fed.test)])
    assert sorted(rows.tolist()) == list(range(300))
    for i in range(3):
        m = int(fed.train.n[i] + fed.val.n[i] + fed.test.n[i])
        assert int(fed.train.n[i]) == int(0.6 * m + 1e-9)
        assert abs(int(fed.val.n[i]) - 0.2 * m) <= 1
    assert torch.equal(TINY.federation(5).train.rows[0], fed.train.rows[0])
    assert not torch.equal(TINY.federation(6).train.rows[0], fed.train.rows[0])


def test_the_summary_of_a_cell_names_a_training_only_where_there_is_one():
    searched = replace(TINY, clients=3, alpha=0.1, total=300, final=0)
    assert searched.summary == "3 clients, Dirichlet(0.1); 300 rounds to search."
    trained = replace(searched, final=9).summary
    assert trained.endswith("300 rounds to search, 9 to train with what was found.")


def test_each_search_spends_its_budget_and_gives_each_client_a_row_of_the_grid(
    tmp_path, monkeypatch
):
    def drawn(distributions: Any, points: Any, scores: Any, seed: int) -> tuple[float, ...]:
        """In place of Optuna's sampler, which takes seconds for 25 points."""
        return tuple(torch.rand(len(distributions), generator=generator(seed)).tolist())

    monkeypatch.setattr("fedlab_edu.search.bayes.propose", drawn)
    path = reproduce(small(*VARIANTS.values()), "tiny", seeds=[1], folder=tmp_path, say=id)
    grid = {*zip(GRID.lr.tolist(), GRID.weight_decay.tolist(), strict=True)}
    grid = {(round(lr, 6), round(decay, 6)) for lr, decay in grid}
    for record in read_records(path, small(*VARIANTS.values())):
        spent = {"no search": 0, "Hyperband": 27}.get(record["variant"].split(",")[0], 30)
        assert record["rounds"] == spent
        chosen = [*zip(record["lr"], record["weight_decay"], strict=True)]
        assert len(chosen) == 3
        assert {*chosen} <= grid
        if record["variant"].startswith(("shared grid", "no search")):
            assert len({*chosen}) == 1


def test_a_record_is_what_the_search_and_the_training_after_it_say(tmp_path):
    both = small(VARIANTS["FedTune"], VARIANTS["random search"])
    path = reproduce(both, "tiny", seeds=[2], folder=tmp_path, say=id)
    first, second = read_records(path, both)
    fed, model = TINY.federation(2), TINY.model()
    done = tune(fedtune(model, fed, GRID, 30, seed=2), model, fed)
    run = train(done.final_run(), model, fed, 4, 3)
    assert first["error"] == pytest.approx(evaluate(run, model, fed).error)
    assert first["lr"] == pytest.approx(GRID[done.final].lr.tolist())
    how = {"seed": 2, "estimate": Estimate("averaged", "loss"), "w": done.w0}
    found = tune(random_search(model, fed, Spaces(RISING, clients=3), 30, 1, **how), model, fed, 3)
    best_score = min(range(30), key=lambda a: found.scores[a])
    tuner = found.runs[best_score].tuner
    run = train(start(model, fed, tuner, seed=2), model, fed, 4, 3)
    assert second["error"] == pytest.approx(evaluate(run, model, fed).error)
    assert second["lr"] == pytest.approx(tuner.table.lr.tolist())


def test_a_training_that_was_stopped_resumes_from_its_last_round_with_the_same_result(
    tmp_path, monkeypatch
):
    one = small(VARIANTS["FedTune"])
    whole = read_records(reproduce(one, "tiny", seeds=[2], folder=tmp_path / "a", say=id), one)
    rounds: list[int] = []

    def stop(training: Any) -> None:
        rounds.append(training.used)
        if rounds == [1, 2]:
            raise KeyboardInterrupt

    def stopping(search: Any, model: Any, fed: Any, clients: int, *, path: Path) -> Any:
        callback = stop if path.suffix == ".run" else None
        return tune(search, model, fed, clients, path=path, callback=callback)

    monkeypatch.setattr(tables, "tune", stopping)
    folder = tmp_path / "b"
    with pytest.raises(KeyboardInterrupt):
        reproduce(one, "tiny", seeds=[2], folder=folder, say=id)
    names = {path.suffix for path in folder.iterdir()}
    assert names == {".run", ".search"}
    path = reproduce(one, "tiny", seeds=[2], folder=folder, say=id)
    assert rounds == [1, 2, 3, 4]  # of four in all
    assert read_records(path, one) == whole
    assert [*folder.iterdir()] == [path]


def test_the_file_of_another_training_is_refused(tmp_path):
    one = small(VARIANTS["no search, the first row"])
    fed, model = TINY.federation(2), TINY.model()
    other, path = start(model, fed, GRID[7], seed=2), tmp_path / "small-tiny-book-0-2.run"
    tune(alone(other, 4), model, fed, 3, path=path)
    with pytest.raises(ValueError, match="allowed: a new name, or the file of this search"):
        reproduce(one, "tiny", seeds=[2], folder=tmp_path, say=id)


def test_each_variant_is_the_search_that_its_name_says(tmp_path, monkeypatch):
    begun: list[Any] = []

    def noted(search: Any, model: Any, fed: Any, *clients: int, path: Path) -> Any:
        begun.append(search)
        return search

    monkeypatch.setattr(tables, "tune", noted)
    cell, model = replace(TINY, total=60), TINY.model()
    fed = cell.federation(0)
    for v in VARIANTS.values():
        v.search(cell, model, fed, 5, tmp_path / "none")
    names = [name for name in VARIANTS if name != "no search, the first row"]
    found = dict(zip(names, begun, strict=True))
    plain = {"credit": "dummy_one", "credit_baseline": None, "buffer": "joint", "param": "logits"}
    for name, options in {
        "FedTune": {}, "FedTune, running mean": {"credit_baseline": "running_mean"},
        "FedTune, REINFORCE": {"credit": "reinforce"},
        "FedTune, shared buffer": {"buffer": "shared"}, "FedTune, rising decays": {},
    }.items():  # fmt: skip
        search = found.pop(name)
        for field, value in (plain | options | {"total": 60, "seed": 5, "lr": 10.0}).items():
            assert getattr(search, field) == value
        assert (search.table is GRID) == (name != "FedTune, rising decays")
    assert search.table[:6].weight_decay.tolist() == [0, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1]
    w0 = search.w0
    bayes = [search for search in found.values() if isinstance(search, Bayes)]
    races = found
    # stops and arms of each bracket; Bayesian optimisation begins with five random arms; brackets
    # of Hyperband take 3 * 2 + 4 and 2 * 6 rounds, until fewer than 10 of 60 are left
    wanted = {
        "random search": [((2,), 30)], "Bayesian optimisation": [((2,), 5)],
        "Hyperband": [((2, 6), 3), ((6,), 2), ((2, 6), 3), ((6,), 2), ((2, 6), 3)],
        "shared grid": [((2,), 30)],
    }  # fmt: skip
    assert set(races) == {*wanted, *(f"{name}, own weights" for name in wanted)}
    for title, one in races.items():
        name, _, own = title.partition(", ")
        assert [(b.stops, b.arms) for b in one.brackets] == wanted[name], name
        assert one.estimate == Estimate("averaged", "loss")
        for arm, run in enumerate(one.runs):
            rates = {*run.tuner.final.each(3).lr.tolist()}
            assert run.seed == seed_for(5, arm)
            assert torch.equal(run.w, start(model, fed, seed=run.seed).w if own else w0)
            assert name != "shared grid" or rates == {float(GRID[arm].lr)}
        if name != "shared grid":  # a row for each client
            assert {len(run.tuner.table) for run in one.runs} == {3}
    for one in bayes:
        assert (one.total, one.spaces) == (60, Spaces(RISING, clients=3))
        assert (one.w is None) == (one is bayes[1])


def test_without_a_search_all_have_the_largest_rate_and_no_decay(tmp_path):
    tuner, used = VARIANTS["no search, the first row"].search(
        TINY, TINY.model(), TINY.federation(0), 0, tmp_path / "none"
    )
    assert isinstance(tuner, Fixed)
    assert (float(tuner.table.lr), float(tuner.table.weight_decay), used) == (
        pytest.approx(0.1), 0, 0,
    )  # fmt: skip


@pytest.mark.parametrize("field", ["error", "rounds", "lr", "weight_decay"])
def test_a_line_without_a_field_of_its_variant_is_refused(field, tmp_path):
    path = tmp_path / "records.jsonl"
    record = {"variant": "FedTune", "seed": 0, "budget": {}, "error": 0.1, "lr": [0.1]}
    record |= {"weight_decay": [0.001], "rounds": 30}
    path.write_text(json.dumps(record) + "\n")
    assert read_records(path, small(VARIANTS["FedTune"])) == [record]
    del record[field]
    path.write_text(json.dumps(record) + "\n")
    with pytest.raises(ValueError, match=r"line 1 is .*a record of a run of small"):
        read_records(path, small(VARIANTS["FedTune"]))


def test_the_report_shows_the_papers_errors_beside_ours():
    experiment = TABLES_1_TO_5[2]
    records = [
        {"variant": name, "seed": s, "error": error + s / 100, "lr": [0.1], "budget": {}}
        for name, error in (("FedTune", 0.10), ("random search", 0.20)) for s in range(2)
    ]  # fmt: skip
    text = render(experiment, "mnist-0.1", records, "paper")
    assert "10 clients, Dirichlet(0.1); 30 rounds to search, 400 to train" in text
    assert "10.72 ±  3.33 (30)" in text  # 100 - 89.28
    assert "10.50 ±  0.71" in text
    assert "FedTune against random search: -10.00 ± 0.00; 2 better" in text
    assert "in the paper -5.99" in text  # 83.29 - 89.28


def test_the_papers_images_are_asked_for_by_their_cards_or_read_from_a_folder(
    monkeypatch, tmp_path
):
    asked: list[tuple[str, Any]] = []

    def noted(name: str, **how: Any) -> Any:
        asked.append((name, how["x"]))
        return TINY.federation(0)

    monkeypatch.setattr(papers, "hub", noted)
    papers._kept.cache_clear()
    for cell in ("cifar10", "fmnist", "mnist"):
        x, y = TABLES_1_TO_5[2].settings["paper"][f"{cell}-1"].images(0)
        assert len(x) == len(y) == 300
    TABLES_1_TO_5[2].settings["paper"]["mnist-1"].images(1, str(tmp_path))
    TABLES_1_TO_5[2].settings["paper"]["mnist-1"].images(2, str(tmp_path))  # kept
    papers._kept.cache_clear()
    assert asked == [
        ("uoft-cs/cifar10", "img"), ("zalando-datasets/fashion_mnist", "image"),
        ("ylecun/mnist", "image"), (str(tmp_path), "image"),
    ]  # fmt: skip


def test_the_grey_cell_is_mnists_with_5000_grey_images_and_half_the_training(monkeypatch):
    x = torch.zeros(6_000, 3, 28, 28, dtype=torch.uint8)
    x[:, 0], x[:, 1] = 255, torch.arange(6_000)[:, None, None] % 100  # the mean: 85 + a third
    y = torch.arange(6_000) % 10
    asked: list[dict[str, Any]] = []

    def noted(name: str, **how: Any) -> Any:
        asked.append({"name": name} | how)
        return federate(x, y, [torch.arange(6_000)], 10, (1.0, 0.0, 0.0))

    monkeypatch.setattr(papers, "hub", noted)
    papers._kept.cache_clear()
    third = TABLES_1_TO_5[2]
    grey, mnist = third.workload("cifar10-grey-0.1", "middle"), third.workload("mnist-0.1", "paper")
    images, labels = grey.images(0)
    papers._kept.cache_clear()
    assert (images.shape, images.dtype) == ((5_000, 1, 28, 28), torch.uint8)
    assert images[[0, 3, 99, 100], 0, 5, 5].tolist() == [85, 86, 118, 85]
    assert torch.equal(labels, y[:5_000])
    assert (asked[0]["name"], asked[0]["side"]) == ("uoft-cs/cifar10", 28)
    assert grey.budget == mnist.budget | {"final": 200}
    assert grey.model().shapes == mnist.model().shapes
    assert [v.name for v in third.variants if grey.fits(v)] == COMPARED


def test_the_command_refuses_data_that_are_not_there_in_one_sentence(tmp_path, capsys):
    for arguments, message in {
        ("fedtune-table2", "--dataset", "digits"): "dataset is 'digits'; allowed: one of ['digits-",
        ("fedtune-table1", "--dataset", "digits-30", "--data", "x"): "data is 'x'; allowed: none",
        ("fedtune-table3", "--scale", "paper", "--dataset", "mnist-1", "--data", "missing"):
            "data is 'missing'; allowed: a folder that holds the data set",
    }.items():  # fmt: skip
        assert main(["reproduce", *arguments, "--folder", str(tmp_path)]) == 2
        err = capsys.readouterr().err
        assert message in err
        assert len(err.strip().splitlines()) == 1


def test_the_steps_are_searches_with_that_step_size_and_those_epochs(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "tune", lambda search, *given, **how: search)
    fed, model = TINY.federation(0), TINY.model()
    of = {v.name: v for v in STEPS.variants}
    assert len(of) == len(ETAS) * len(EPOCHS) + 2 * len(EPOCHS)
    for epochs in EPOCHS:
        for eta in ETAS:
            search = of[step_name(eta, epochs)].begin(model, fed, total=30, seed=4)
            assert (search.lr, search.seed, search.total) == (eta, 4, 30)
            assert {*search.table.epochs.tolist()} == {epochs}
            assert torch.equal(search.table.weight_decay, GRID.weight_decay)
        grid = of[f"shared grid, epochs {epochs}"].begin(model, fed, total=30, seed=4)
        assert {int(run.tuner.table.epochs) for run in grid.runs} == {epochs}
        assert all(torch.equal(run.w, search.w0) for run in grid.runs)
        tuner, used = of[f"no search, epochs {epochs}"].search(TINY, model, fed, 0, tmp_path / "x")
        assert (int(tuner.table.epochs), used) == (epochs, 0)


def test_a_point_of_figure_2_is_the_error_of_what_the_search_has_found_by_then(tmp_path):
    cell = Cell(tiny, TINY.model, total=60, clients=3, final=4, alpha=1.0)
    small = replace(FIGURE_2, settings={"book": {"tiny": cell}})
    path = reproduce(small, "tiny", seeds=[2], folder=tmp_path, say=id)
    of = {record["variant"]: record["curve"] for record in read_records(path, small)}
    assert [*of] == [v.name for v in FIGURE_2.variants]
    marks = [mark for mark in MARKS if mark <= 60]
    assert [used for used, _ in of["FedTune"]] == marks
    assert [used for used, _ in of["random search"]] == [30, 60]  # 30 arms, a round each
    fed, model = cell.federation(2), cell.model()
    for used, error in of["FedTune"]:
        search = fedtune(model, fed, GRID, 60, seed=2)
        for _ in range(used):
            search = search.step(model, fed)
        run = train(start(model, fed, Fixed(GRID, search.final), seed=2), model, fed, 4, 3)
        assert error == pytest.approx(evaluate(run, model, fed).error, abs=1e-4)
    cells = FIGURE_2.settings["book"]
    assert {cell.total for cell in cells.values()} == {MARKS[-1]}
    table_2, lenet = SKEWS[2].settings["book"]["digits-1"], cells["digits-150-lenet"]
    assert replace(lenet, total=30, model=table_2.model) == table_2
    assert repr(lenet.model().net()) == repr(table_2.model().net())


def test_the_record_of_figure_5_is_what_a_search_says_round_by_round(tmp_path):
    cell = Cell(tiny, lambda: mlp(6, 10), total=6, clients=3, final=0)
    one = replace(FIGURE_5, variants=FIGURE_5.variants[1:2], settings={"book": {"tiny": cell}})
    (record,) = read_records(reproduce(one, "tiny", seeds=[3], folder=tmp_path, say=id), one)
    fed, model = cell.federation(3), cell.model()
    search = fedtune(model, fed, RATES, 6, lr=10.0, seed=3)
    for t in range(6):
        search = search.step(model, fed)
        assert record["likeliest"][t] == search.pi.argmax(1).tolist()
        assert record["credit"][t] == pytest.approx(search.history[t].credit, abs=1e-4)
        assert record["loss"][t] == pytest.approx(search.history[t].loss, abs=1e-4)
    assert "Changes of likeliest rows" in render(one, "tiny", [record])


def test_changes_are_counted_over_all_clients_from_one_round_to_the_next():
    record = {"likeliest": [[0, 0], [1, 0], [1, 2], [1, 2], [0, 1]]}
    assert changes(record, 1, 5) == 4
    assert changes(record, 2, 4) == 1
    assert changes(record, 3, 4) == 0

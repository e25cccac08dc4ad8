"""The papers' experiments: published numbers against one another, statistics against hand-computed
ones, and a record that a crash does not spoil."""

import csv
import gc
import inspect
import json
import math
import os
import re
import signal
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import product
from multiprocessing import active_children
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
import torch

from fedlab_edu import (
    Estimate,
    Federation,
    FedEx,
    FedProx,
    StopTraining,
    digits,
    evaluate,
    linear,
    personalise,
    tune,
)
from fedlab_edu.cli import main
from fedlab_edu.data import hub
from fedlab_edu.papers import experiment as papers
from fedlab_edu.papers import plan as planning
from fedlab_edu.papers import reproduce as module
from fedlab_edu.papers.curves import Watched, curves, error_at
from fedlab_edu.papers.experiment import Experiment, Published, bundled
from fedlab_edu.papers.fedex import SETTINGS, TABLE_1
from fedlab_edu.papers.plan import plan
from fedlab_edu.papers.report import difference, errors, paired, render, welch
from fedlab_edu.papers.reproduce import EXPERIMENTS, read_records, reproduce
from fedlab_edu.papers.searches import Range, Setting, Tuning, ranges
from fedlab_edu.rounds.tuner import Fixed
from fedlab_edu.search.distributions import LogUniform
from fedlab_edu.search.race import Race
from fedlab_edu.search.schedules import schedule
from fedlab_edu.search.space import SearchSpace, Spaces

CELLS = TABLE_1.published
# Khodak et al. (2021), Table 2: half the widths of 90 % intervals, for the same rows and columns
HALF = {
    "RS, global": (9.56, 13.53, 2.64, 1.98, 5.47),
    "RS + FedEx, global": (8.70, 16.75, 2.77, 2.12, 8.54),
    "RS, personalised": (8.89, 8.66, 1.63, 1.52, 6.12),
    "RS + FedEx, personalised": (9.50, 12.97, 2.19, 1.77, 8.77),
    "SHA, global": (3.24, 3.35, 0.97, 0.96, 1.45),
    "SHA + FedEx, global": (1.60, 3.16, 1.19, 0.84, 0.79),
    "SHA, personalised": (3.44, 3.54, 0.90, 0.75, 3.55),
    "SHA + FedEx, personalised": (2.45, 3.58, 0.76, 0.99, 1.64),
}
T95 = {4: 2.1318, 9: 1.8331}  # Student's t, degrees of freedom -> 0.95-quantile


def test_deviations_and_trials_give_the_intervals_that_the_paper_prints():
    for name, halves in HALF.items():
        for (data, cell), half in zip(CELLS[name].items(), halves, strict=True):
            cifar_sha = data == "cifar10-iid" and name.startswith("SHA")
            n = 10 if cifar_sha else cell.trials  # printed there as if of 10 trials, not 6
            assert T95[n - 1] * cell.sd / math.sqrt(n) == pytest.approx(half, abs=0.011)
            assert cell.trials == (6 if cifar_sha else n)


def test_each_published_number_belongs_to_a_variant_of_its_experiment():
    rows = [
        row
        for paper in ("fedex", "fedpop", "fedtune")
        for row in csv.DictReader(
            Path(module.__file__).with_name(f"{paper}.csv").read_text().splitlines()
        )
    ]
    variants = {name: {v.name for v in one.variants} for name, one in EXPERIMENTS.items()}
    assert [r for r in rows if r["variant"] not in variants.get(r["experiment"], ())] == []
    assert len(rows) > 300


def test_fedex_is_lower_in_16_of_20_published_cells_and_in_none_significantly():
    p, lower = [], 0
    for first, second in TABLE_1.against:
        for data, cell in CELLS[first].items():
            other = CELLS[second][data]
            p.append(welch(cell, other))
            lower += cell.mean < other.mean
    assert lower == 16
    assert len(p) == 20
    assert sorted(p)[:2] == pytest.approx([0.14, 0.17], abs=0.005)
    assert sorted(p)[2] > 0.225


def test_welch_is_the_test_of_two_means_in_closed_form():
    # equal deviations and trials: t = (a - b) / (sd sqrt(2/n)) with 2n - 2 degrees of freedom
    t975 = 2.10092204  # of 18
    gap = t975 * 3 * math.sqrt(2 / 10)
    assert welch(Published(5, 3, 10), Published(5 + gap, 3, 10)) == pytest.approx(0.05, abs=1e-6)


def test_paired_differences_have_students_interval():
    found = paired([1.0, 4.0, 3.0, 9.0], [2.0, 2.0, 3.0, 4.0])  # -1, 2, 0, 5
    assert found[0] == pytest.approx(1.5)
    assert found.half == pytest.approx(3.182446 * math.sqrt(7) / 2, rel=1e-6)
    assert found[2:] == (1, 1, 2)
    with pytest.raises(ValueError, match="seeds is"):
        paired([1.0], [2.0])


def test_the_budgets_are_those_of_the_paper():
    expected = {"shakespeare": (4000, 800), "cifar10-iid": (4000, 800), "femnist": (2000, 200)}
    for data, budget in expected.items():
        setting = SETTINGS["paper"][data]
        assert (setting.total, setting.cap) == budget
        assert (setting.clients, setting.k, setting.eta, setting.eliminations) == (10, 27, 3, 3)
    for setting in (one for scale in SETTINGS.values() for one in scale.values()):
        used = schedule(setting.total, setting.cap, setting.eta, setting.eliminations).used
        assert 0.9 * setting.total <= used <= setting.total


def test_every_comparison_is_of_variants_that_there_are():
    for name, experiment in EXPERIMENTS.items():
        names = [v.name for v in experiment.variants]
        assert experiment.name == name
        assert len(set(names)) == len(names)
        assert {n for pair in experiment.against for n in pair} <= set(names)


def test_an_experiment_without_a_claim_is_refused():
    with pytest.raises(ValueError, match=r"name is 'mine'; allowed: .* row .* in experiments\.csv"):
        papers.experiment("mine", (), (), {})


SPACES = Spaces(SearchSpace({"lr": LogUniform(1e-2, 1)}))
TINY = Setting(
    bundled(lambda seed: digits(clients=14, seed=seed).to("cpu", torch.float64)),
    lambda: linear(64, 10),
    SPACES, 8, 4, 2, 1, clients=3, k=3,
)  # fmt: skip
SMALL = Experiment(
    "small", "nowhere", "none",
    (
        Tuning("alone", "SHA", "global"),
        Tuning("within", "RS", "personalised", fedex={"step": "constant"}),
    ),
    (("within", "alone"),),
    {"book": {"tiny": TINY}},
)  # fmt: skip


def run(folder: Path, experiment: Experiment = SMALL, seeds: Any = range(2)) -> list[dict]:
    said: list[str] = []
    path = reproduce(experiment, "tiny", seeds=seeds, folder=folder, say=said.append)
    assert [p.name for p in folder.iterdir()] == [path.name]  # nothing half-done is left
    return read_records(path, experiment)


def test_a_record_has_each_variant_and_seed_once_and_a_second_call_adds_nothing(tmp_path):
    records = run(tmp_path)
    done = [(r["variant"], r["seed"]) for r in records]
    assert sorted(done) == sorted(product(["alone", "within"], [0, 1]))
    for r in records:
        assert 0 <= r["global"] <= 1
        assert 0 <= r["personalised"] <= 1
        assert r["rounds"] == 8
        assert (r["entropy"] is None) == (r["variant"] == "alone")
    (tmp_path / "small-tiny-book-1-0.search").touch()  # a crash just after the record was written
    assert run(tmp_path) == records
    more = run(tmp_path, seeds=[5])
    assert more[:4] == records
    assert [r["seed"] for r in more[4:]] == [5, 5]


def test_a_run_that_was_stopped_and_a_line_cut_short_come_out_as_if_nothing_had_happened(tmp_path):
    expected = run(tmp_path / "whole", seeds=[0])

    class Stop(Exception):
        pass

    def stop(text: str) -> None:
        raise Stop

    with pytest.raises(Stop):
        reproduce(SMALL, "tiny", seeds=[0], folder=tmp_path / "cut", say=stop)
    path = tmp_path / "cut" / "small-tiny-book.jsonl"
    assert len(read_records(path, SMALL)) == 1
    with path.open("a") as f:
        f.write('{"variant": "within", "se')  # a crash in the middle of a line
    assert len(read_records(path, SMALL)) == 1
    assert run(tmp_path / "cut", seeds=[0]) == expected


def test_several_workers_give_the_records_of_one(tmp_path, monkeypatch):
    alone, said = run(tmp_path / "alone", seeds=range(3)), list[str]()
    monkeypatch.setitem(EXPERIMENTS, "small", SMALL)
    monkeypatch.setattr(module, "ProcessPoolExecutor", lambda n, *_: ThreadPoolExecutor(n))
    how: dict[str, Any] = {"folder": tmp_path / "both", "say": said.append, "workers": 2}
    path = reproduce(SMALL, "tiny", seeds=range(3), **how)
    both = {(r["variant"], r["seed"]): r for r in read_records(path, SMALL)}
    assert len(said) == len(both) == len(alone) == 6
    assert [both[r["variant"], r["seed"]] for r in alone] == alone


@pytest.mark.nightly
@pytest.mark.processes
def test_a_killed_worker_is_named_and_the_same_call_resumes(tmp_path):
    one = EXPERIMENTS["fedex-figure2"]
    how: dict[str, Any] = {"seeds": range(2), "folder": tmp_path, "workers": 2}

    path = tmp_path / "fedex-figure2-digits-book.jsonl"

    def kill() -> None:
        while not path.exists():
            time.sleep(0.05)
        for process in active_children():
            process.kill()

    killer = Thread(target=kill)
    killer.start()
    with pytest.raises(ChildProcessError, match="a worker has ended; the same call resumes"):
        reproduce(one, "digits", say=id, **how)
    killer.join()
    before = read_records(path, one)
    assert 1 <= len(before) < 6
    after = read_records(reproduce(one, "digits", say=id, **how), one)
    assert after[: len(before)] == before
    done = [(r["variant"], r["seed"]) for r in after]
    assert sorted(done) == sorted(product([v.name for v in one.variants], [0, 1]))
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


STOPS = [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit)]


@pytest.mark.nightly
@pytest.mark.processes
@pytest.mark.parametrize(("number", "error"), STOPS)
def test_a_signal_ends_all_workers_which_begin_no_other_seed(number, error, tmp_path):
    """Otherwise an executor still runs what is in its queue, one more seed than it has workers."""
    one, seeds = EXPERIMENTS["fedex-figure2"], range(20)
    path = tmp_path / "fedex-figure2-digits-book.jsonl"

    def stop() -> None:
        while not path.exists():
            time.sleep(0.05)
        os.kill(os.getpid(), number)

    stopper = Thread(target=stop, daemon=True)
    stopper.start()
    with pytest.raises(error):
        reproduce(one, "digits", seeds=seeds, folder=tmp_path, say=id, workers=2)
    stopper.join()
    assert not active_children()
    begun = {int(file.stem.rpartition("-")[2]) for file in tmp_path.glob("*.search")}
    assert {record["seed"] for record in read_records(path, one)} | begun <= {0, 1}


def test_a_plan_counts_the_missing_runs_and_searches_and_stores_nothing(tmp_path):
    run(tmp_path, seeds=[0])
    before = sorted((path.name, path.read_bytes()) for path in tmp_path.iterdir())
    lines = plan(SMALL, "tiny", "book", [0, 1, 2], folder=tmp_path)
    variants = len(SMALL.variants)
    assert f"{2 * variants} of {3 * variants} runs" in lines[1]
    searches = 2 * len(SMALL.groups())
    assert re.match(rf"{searches} searches, about \d+ (seconds|minutes|hours)", lines[2])
    assert sorted((path.name, path.read_bytes()) for path in tmp_path.iterdir()) == before
    assert len(plan(SMALL, "tiny", "book", [0], folder=tmp_path)) == 2


def test_a_plan_times_a_search_with_the_tests_along_it(tmp_path, monkeypatch):
    clock = [0.0]

    def passes(seconds: float, of: Any) -> Any:
        def call(*given: Any) -> Any:
            clock[0] += seconds
            return of(*given)

        return call

    monkeypatch.setattr(planning.time, "perf_counter", lambda: clock[0])
    monkeypatch.setattr(Race, "step", passes(600, Race.step))
    monkeypatch.setattr(Tuning, "test", passes(300, Tuning.test))
    v = Tuning("alone", "RS", "global")  # 2 arms: 4 steps, of 2 rounds
    begun = TINY.begin([v], TINY.model(), TINY.load(0), 0)
    for every, minutes in ((1, 4 * (10 + 5)), (4, 4 * 10 + 2 * 5)):
        timed = planning._seconds(replace(begun, every=every), TINY.model(), TINY.load(0), 3)
        assert timed == pytest.approx(60 * minutes)
    one = replace(SMALL, variants=(v,))  # 8 * 3 clients train, so all 14 are tested once
    assert "1 searches, about 45 minutes" in plan(one, "tiny", seeds=[0], folder=tmp_path)[2]


def test_a_file_that_is_no_record_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "small-tiny-book.jsonl"
    good = {"variant": "alone", "seed": 3, "budget": {}, "global": 0.5, "personalised": 0.5}
    bad = [
        {"variant": "other"},
        {"seed": "3"},
        {"global": math.nan},
        {"global": "0.5"},
        {"personalised": 1.5},
        {"seed": 0.0},
    ]
    lacks = {name: value for name, value in good.items() if name != "global"}
    changed = [json.dumps(one) for one in (lacks, *(good | one for one in bad))]
    lines = ["hello", "[1]", '{"seed": 3}', "[" * 10**5, *changed]
    path.write_text(json.dumps(good) + "\n")
    assert read_records(path, SMALL) == [good]
    for text in (*(line + "\n" for line in lines), '{"seed": 3}'):
        path.write_text(text)
        with pytest.raises(ValueError, match=r"line 1 is .* a record of a run of small"):
            reproduce(SMALL, "tiny", folder=tmp_path)
        assert path.read_text() == text


@pytest.mark.parametrize(("end", "last"), [(b"\n", b""), (b"\r", b"\r"), (b"\r\n", b"\r\n")])
def test_records_count_and_stay_with_line_ends_of_other_systems_and_without_the_last(
    tmp_path, end, last
):
    records = run(tmp_path / "a", seeds=[0])
    path = tmp_path / "a" / "small-tiny-book.jsonl"
    path.write_bytes(end.join(path.read_bytes().splitlines()) + last)
    assert read_records(path, SMALL) == records
    assert run(tmp_path / "a", seeds=[0, 1]) == run(tmp_path / "b")


def test_records_of_two_budgets_in_one_file_are_refused(tmp_path):
    path = tmp_path / "small-tiny-book.jsonl"
    one = {"variant": "alone", "seed": 0, "budget": {"total": 8}, "global": 0, "personalised": 0}
    other = one | {"seed": 1, "budget": {"total": 10}}
    path.write_text(json.dumps(one) + "\n" + json.dumps(other) + "\n")
    with pytest.raises(ValueError, match=r"line 2 is .*; allowed: .* small, all with one budget"):
        read_records(path, SMALL)


def test_a_record_of_another_budget_is_refused_and_a_run_that_is_there_twice_counts_once(tmp_path):
    records = run(tmp_path, seeds=[0])
    path = tmp_path / "small-tiny-book.jsonl"
    text = path.read_text()
    other = replace(SMALL, settings={"book": {"tiny": replace(TINY, total=10)}})
    with pytest.raises(ValueError, match=r"budget in .* is .*'total': 8.*; allowed: .*'total': 10"):
        reproduce(other, "tiny", folder=tmp_path)
    assert path.read_text() == text
    path.write_text(text + text)  # two processes with the same seeds
    assert read_records(path, SMALL) == records
    assert run(tmp_path, seeds=[0, 0]) == records


FEDEX_ONLY = {name: one for name, one in EXPERIMENTS.items() if name.startswith("fedex")}


@pytest.mark.parametrize("experiment", FEDEX_ONLY.values(), ids=FEDEX_ONLY)
def test_each_variant_is_the_search_that_its_name_says(experiment):
    fed, model = TINY.load(0), TINY.model()
    for v in experiment.variants:
        search = v.search(TINY, model, fed, 3)
        method = FedProx() if isinstance(v, Range) else v.method
        assert all(one.replacement and one.method == method for one in search.runs)
        assert search.select == ("best_seen" if "best seen" in v.name else "survivor")
        assert type(method).__name__ == v.name.partition(":")[0] or ":" not in v.name
        if isinstance(v, Range):
            assert len(search.runs) == 3
            assert search.brackets[0].stops == (4,)
            away = search.runs[1].tuner.table.lr.log10() - search.runs[0].tuner.table.lr.log10()
            assert 0 < away.abs() <= v.eps * 2
            continue
        assert search.estimate == Estimate(v.target, gamma=v.gamma)
        assert search.brackets == (schedule(8, 4, 2, 1 if v.wrapper == "SHA" else 0),)
        assert v.target in v.name or "table1" not in experiment.name
        plain = replace(v, fedex=None).search(TINY, model, fed, 3)
        for one, alone in zip(search.runs, plain.runs, strict=True):
            assert one.seed == alone.seed  # the same clients and first weights on both sides
            assert one.b.lr == alone.b.lr
            if v.fedex is None:
                assert isinstance(one.tuner, Fixed)
                continue
            assert isinstance(one.tuner, FedEx)
            assert len(one.tuner.table) in v.fedex.get("k", [3])
            assert one.tuner.table.lr[0] == alone.tuner.table.lr
            assert one.tuner.step == v.fedex.get("step", "aggressive")
            spread, single = one.tuner.table.lr.log10(), len(one.tuner.table) == 1
            assert (spread.max() == spread.min()) == (single or v.fedex.get("eps") == 0.0)
            assert one.tuner.cutoff == (0 if "no cut-off" in v.name else 1e-4)


ONLINE = replace(
    SMALL,
    variants=(
        Tuning("alone", "SHA", "global", curve=True),
        Tuning("within", "RS", "personalised", fedex={"step": "constant"}, curve=True),
    ),
    report=curves,
)


def test_a_curve_has_the_test_error_of_the_best_arm_after_each_step(tmp_path):
    fed, model = TINY.load(2), TINY.model()
    tests = {"global": evaluate, "personalised": personalise}
    for v, record in zip(ONLINE.variants, run(tmp_path, ONLINE, [2]), strict=True):
        race = v.search(TINY, model, fed, 2)
        for used, error in record["curve"]:
            race = race.step(model, fed, 3)
            assert race.used == used
            assert error == pytest.approx(tests[v.target](race.winner, model, fed).error, abs=1e-4)
        assert race.done
        assert record["curve"][-1][1] == pytest.approx(record[v.target], abs=1e-4)


def test_a_search_has_a_point_after_the_first_step_that_reaches_each_tenth_of_its_rounds():
    model, v = TINY.model(), Tuning("alone", "RS", "global")
    fed = TINY.load(0)[[0, 1, 2]]  # few clients: tests along the search cost little
    for total, rounds in ((60, range(6, 61, 6)), (56, (6, 12, 18, 24, 30, 36, 42, 48, 54, 56))):
        setting = replace(TINY, total=total, cap=total // 2)  # 2 arms: 2 rounds a step
        done = tune(setting.begin([v], model, fed, 0), model, fed, 3)
        assert [used for used, _ in done.curve(v)] == [*rounds]


@pytest.mark.parametrize("total", [8, 20, 40, 60])
def test_tests_along_a_search_train_at_most_half_as_many_clients_as_the_search(total):
    fed, model, v = TINY.load(0), TINY.model(), Tuning("alone", "RS", "personalised")
    setting = replace(TINY, total=total, cap=total // 2, clients=len(fed) // 4)
    points = tune(setting.begin([v], model, fed, 0), model, fed, setting.clients).curve(v)
    trained = total * setting.clients
    assert len(points) == 1 or len(points) * len(fed) <= trained / 2
    assert (len(points) + 1) * len(fed) > trained / 2 or trained >= 20 * len(fed)


def test_a_search_with_a_curve_is_the_search_without_and_resumes_with_its_curve(tmp_path):
    fed, model, v = TINY.load(0), TINY.model(), ONLINE.variants[0]
    begun = v.search(TINY, model, fed, 0)
    whole = tune(Watched(begun, (v,)), model, fed, 3)
    plain = tune(begun, model, fed, 3)
    assert whole.search.traces == plain.traces
    assert all(
        torch.equal(one.w, other.w)
        for one, other in zip(whole.search.runs, plain.runs, strict=True)
        if other.w.numel()
    )

    def stop(search: Any) -> None:
        raise StopTraining

    path = tmp_path / "one.search"
    tune(Watched(begun, (v,)), model, fed, 3, path=path, callback=stop)
    again = tune(Watched(begun, (v,)), model, fed, 3, path=path)
    assert again.points == whole.points
    assert len(whole.points) == 4  # rounds of the longest arm


def test_variants_that_share_a_search_have_the_curves_that_they_have_alone(tmp_path):
    both = [Tuning(target, "RS", target) for target in ("global", "personalised")]
    every = run(tmp_path / "both", replace(SMALL, variants=tuple(both), against=()), [5])
    together = {record["variant"]: record for record in every}
    for v in both:
        (alone,) = run(tmp_path / v.name, replace(SMALL, variants=(v,), against=()), [5])
        assert alone == together[v.name]
    assert together["global"]["curve"] != together["personalised"]["curve"]


def test_a_report_of_curves_reads_them_at_parts_of_the_budget():
    curve = [[2, 0.5], [4, 0.25], [8, 0.125]]
    assert [error_at(curve, x) for x in (0, 2, 3.9, 4, 100)] == [1, 0.5, 0.5, 0.25, 0.125]
    records = [
        {"variant": name, "seed": seed, "budget": {"total": 8}, "global": 0, "personalised": 0,
         "curve": [[used, error * times] for used, error in curve]}
        for name, times in (("alone", 1.0), ("within", 0.5)) for seed in (0, 1)
    ]  # fmt: skip
    lines = curves(ONLINE, "tiny", records)
    assert lines[1].split() == ["alone", "2", "50.00", "25.00", "25.00", "12.50"]
    assert "within against alone, 50%: -12.50 ± 0.00; 2 better, 0 the same, 0 worse" in lines


def test_a_record_is_what_the_search_and_the_two_objectives_say(tmp_path):
    records = run(tmp_path, seeds=[4])
    fed, model = TINY.load(4), TINY.model()
    for v, record in zip(SMALL.variants, records, strict=True):
        done = tune(v.search(TINY, model, fed, 4), model, fed, 3)
        assert record["global"] == pytest.approx(evaluate(done.winner, model, fed).error)
        assert record["personalised"] == pytest.approx(personalise(done.winner, model, fed).error)
        assert record["global"] != record["personalised"]
        assert record["budget"] == {
            "total": 8, "cap": 4, "eta": 2, "eliminations": 1, "clients": 3, "k": 3,
        }  # fmt: skip


def test_random_search_for_two_targets_trains_its_arms_once_and_chooses_twice(
    tmp_path, monkeypatch
):
    both = tuple(Tuning(target, "RS", target) for target in ("global", "personalised"))
    spent = []

    def counted(*arguments: Any, **how: Any) -> Any:
        spent.append(arguments)
        return tune(*arguments, **how)

    monkeypatch.setattr("fedlab_edu.papers.searches.tune", counted)
    setting = replace(TINY, cap=2)  # four arms
    settings = {"book": {"tiny": setting}}
    records = run(tmp_path, replace(SMALL, variants=both, against=(), settings=settings), range(6))
    assert len(spent) == 6
    model, chosen = TINY.model(), set()
    for v, record in zip(both * 6, records, strict=True):
        data = TINY.load(record["seed"])
        done = tune(v.search(setting, model, data, record["seed"]), model, data, 3)
        assert record["global"] == pytest.approx(evaluate(done.winner, model, data).error)
        chosen.add((record["seed"], done.best))
    assert len(chosen) > 6  # at times the targets choose different arms


def test_a_search_is_kept_only_until_the_variants_that_share_it_have_their_records(
    tmp_path, monkeypatch
):
    variants = (
        Tuning("first", "RS", "global"), Tuning("other", "SHA", "global"),
        Tuning("second", "RS", "personalised"), Tuning("last", "SHA", "personalised"),
    )  # fmt: skip
    spent: list[weakref.ref[Any]] = []
    alive = []

    def noted(*arguments: Any, **how: Any) -> Any:
        gc.collect()
        alive.append([one() is not None for one in spent])
        done = tune(*arguments, **how)
        spent.append(weakref.ref(done))
        return done

    monkeypatch.setattr("fedlab_edu.papers.searches.tune", noted)
    run(tmp_path, replace(SMALL, variants=variants, against=()), [0, 1])
    # of each seed: first and second, other, last
    assert alive == [[False] * n for n in range(6)]


def test_a_report_of_an_unknown_data_set_or_scale_is_refused():
    with pytest.raises(ValueError, match="dataset is 'mnist'; allowed: one of"):
        render(SMALL, "mnist", [])
    with pytest.raises(ValueError, match="scale is 'big'; allowed: one of"):
        render(SMALL, "tiny", [], "big")


def test_the_papers_data_sets_are_asked_for_by_their_cards(monkeypatch):
    asked: list[tuple[str, dict[str, Any]]] = []

    def noted(name: str, **how: Any) -> Federation:
        asked.append((name, how))
        return digits(clients=14)

    monkeypatch.setattr(papers, "hub", noted)
    papers._kept.cache_clear()
    for setting in SETTINGS["paper"].values():
        setting.load(1)
    by = {(name, how["by"], how.get("shuffle", True)) for name, how in asked}
    assert by == {
        ("flwrlabs/shakespeare", "character_id", True),
        ("flwrlabs/shakespeare", "character_id", False),
        ("flwrlabs/femnist", "writer_id", True),
        ("flwrlabs/femnist", "writer_id", False),
        ("uoft-cs/cifar10", "iid", True),
    }
    papers._kept.cache_clear()
    for name, how in asked:  # the arguments are those of `hub`
        inspect.signature(hub).bind(name, **how)


def test_the_middle_scale_divides_mnist_or_a_folder_among_100_clients(monkeypatch, tmp_path):
    asked: list[tuple[str, dict[str, Any]]] = []

    def noted(name: str, **how: Any) -> Federation:
        asked.append((name, how))
        return digits(clients=14)

    monkeypatch.setattr(papers, "hub", noted)
    for name in ("fedex-table1", "fedpop-table1"):
        setting = EXPERIMENTS[name].workload("mnist", "middle")
        setting.load(3)
        setting.load(3, str(tmp_path))
        with pytest.raises(ValueError, match="data is 'missing'; allowed: a folder"):
            setting.load(3, "missing")
    assert [name for name, _ in asked] == ["ylecun/mnist", str(tmp_path)] * 2
    assert all(how["clients"] == 100 and how["seed"] == 3 for _, how in asked)
    with pytest.raises(ValueError, match="data is 'x'; allowed: none"):
        TINY.load(0, "x")


def test_neighbours_at_no_distance_have_the_same_error_and_far_ones_have_not(tmp_path):
    near = (Range("same", 0.0), Range("far", 1.0))
    both = replace(SMALL, variants=near, against=(), report=ranges)
    same, far = run(tmp_path, both, [0])
    assert len(same["errors"]) == len(far["errors"]) == 3
    assert max(same["errors"]) - min(same["errors"]) < 0.1  # other draws, the same configuration
    assert max(far["errors"]) > min(far["errors"])
    low, high = 100 * min(far["errors"]), 100 * max(far["errors"])
    line = render(both, "tiny", [same, far]).splitlines()[-1].split()
    assert line[:3] == ["far", "1", f"{low:.2f}"]
    assert line[-2:] == [f"{high:.2f}", f"{high - low:.2f}"]


def test_the_report_gives_means_deviations_and_paired_differences_of_the_tuned_target():
    records = [
        {"variant": name, "seed": s, "global": g, "personalised": p, "budget": {}}
        for name, s, g, p in (
            ("alone", 0, 0.10, 0.5), ("alone", 1, 0.20, 0.5), ("alone", 2, 0.60, 0.5),
            ("within", 1, 0.9, 0.10), ("within", 0, 0.9, 0.05),
        )
    ]  # fmt: skip
    of = errors(SMALL, records)
    assert of["alone"] == pytest.approx({0: 10, 1: 20, 2: 60})
    assert difference(of, "within", "alone").mean == pytest.approx(-7.5)
    text = render(SMALL, "tiny", records)
    assert "30.00 ± 26.46    20.00" in text
    assert "within against alone: -7.50 ± 31.77; 2 better, 0 the same, 0 worse" in text


@pytest.mark.parametrize("name", ["fedex-methods", "fedex-rules"])
def test_a_report_fits_in_80_columns(name):
    path = Path(__file__).parents[1] / f"book/records/{name}-digits-book.jsonl"
    text = render(EXPERIMENTS[name], "digits", read_records(path, EXPERIMENTS[name]))
    assert text.count(" better, ") == len(EXPERIMENTS[name].against)
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing"], "there is no experiment 'nothing'; there are: fedex-table1, fedex-figure2"),
        (["fedex-table1", "--dataset", "mnist"], "['digits', 'shakespeare'] at scale book"),
        (
            ["fedex-table1", "--scale", "big"],
            "scale is 'big'; allowed: one of ['book', 'middle'",
        ),
        (["fedex-table1", "--seeds", "9-3"], "--seeds is '9-3'; allowed: a number, or from-to"),
        (["fedex-table1", "--seeds", "0"], "seeds is '0 seeds'; allowed: from 1 to 10,000"),
        (["fedex-table1", "--seeds", "200000000"], "seeds is '10,001 seeds'; allowed: from 1 to"),
        (["fedex-table1", "--seeds", "many"], "--seeds is 'many'; allowed: a number, or from-to"),
        (["fedex-table1", "--device", "tpu9"], "device is 'tpu9'; allowed: 'cpu'"),
    ],
)
@pytest.mark.parametrize("planned", [[], ["--plan"]])
def test_the_command_refuses_in_one_sentence(arguments, message, planned, tmp_path, capsys):
    assert main(["reproduce", *arguments, *planned, "--folder", str(tmp_path)]) == 2
    out, err = capsys.readouterr()
    assert message in err
    assert len(err.strip().splitlines()) == 1
    assert not [*tmp_path.iterdir()]
    assert "Traceback" not in out + err


def test_without_a_name_the_command_lists_the_experiments(capsys):
    assert main(["reproduce"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(EXPERIMENTS)
    assert re.match(r"fedex-table1 +Khodak et al. \(2021\), Table 1$", lines[0])


BUDGET = {"total": 300, "cap": 60, "eta": 3, "eliminations": 3, "clients": 10, "k": 27}


def test_the_command_runs_and_prints_ours_beside_the_papers(tmp_path, capsys):
    path = tmp_path / "fedex-table1-shakespeare-book.jsonl"
    records = [
        {
            "variant": v.name,
            "seed": s,
            "global": 0.5 + 0.01 * s,
            "personalised": 0.5,
            "budget": BUDGET,
        }
        for v, s in product(TABLE_1.variants, range(2))
    ]
    path.write_text("".join(json.dumps(r) + "\n" for r in records))
    arguments = ["fedex-table1", "--dataset", "shakespeare", "--seeds", "0-1"]
    assert main(["reproduce", *arguments, "--folder", str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "46.79 ±  3.51 (5)" in text
    assert "50.50 ±  0.71" in text
    assert "in the paper -2.15, p = 0.39 (Welch)" in text  # t = 0.909, 8 d.f.

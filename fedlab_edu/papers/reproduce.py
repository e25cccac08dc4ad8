"""Run an experiment again, seed by seed, and keep what comes out as a line of a record each."""

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import islice, product
from pathlib import Path
from typing import Any

import torch

from fedlab_edu.check import require, usable_device
from fedlab_edu.data import Federation
from fedlab_edu.model import Model
from fedlab_edu.objectives import evaluate, personalise
from fedlab_edu.papers.experiment import (
    Experiment,
    Maps,
    Problem,
    Range,
    Setting,
    Task,
    Tuning,
    Variant,
)
from fedlab_edu.papers.features import BAGS, FOURIER, select
from fedlab_edu.papers.fedex import FIGURE_2, FIGURE_3, FIGURE_5, FIGURE_6, TABLE_1
from fedlab_edu.run import Run as OneRun
from fedlab_edu.tuners.fedex import FedEx
from fedlab_edu.tuners.race import Estimate, Race
from fedlab_edu.tuners.spend import spend

EXPERIMENTS = {
    one.name: one for one in (TABLE_1, FIGURE_2, FIGURE_3, FIGURE_5, FIGURE_6, FOURIER, BAGS)
}

Record = dict[str, Any]
Run = Callable[[Variant, int, Path], Record]  # with a file for what it has spent
_MOST = 10_000  # seeds


def reproduce(
    experiment: Experiment,
    dataset: str,
    scale: str = "book",
    seeds: Iterable[int] = range(10),
    device: str = "cpu",
    folder: str | Path = "results",
    data: str | None = None,
    say: Callable[[str], object] = print,
) -> Path:
    """Run what is not yet in the record; the record's path, see `read_records`.

    What a run has spent is kept in a file beside the record until it ends, see `spend`, so that a
    run that was stopped goes on. Several processes may share a folder if each has its own seeds.
    A record holds runs with one budget only.

    Args:
        data: a folder that holds the data set, in place of the Hugging Face Hub.
        say: is told what each run has come to.

    Raises:
        ValueError: an unknown scale, data set or device, no seed, or a file that is no record of
            this experiment with these budgets.
        OSError: the folder cannot be written.
    """
    scales = experiment.settings
    require(scale in scales, "scale", scale, f"one of {[*scales]}")
    require(dataset in scales[scale], "dataset", dataset, f"one of {[*scales[scale]]}")
    setting, place, folder = scales[scale][dataset], usable_device(device), Path(folder)
    seeds = list(dict.fromkeys(islice(seeds, _MOST + 1)))
    require(1 <= len(seeds) <= _MOST, "seeds", f"{len(seeds):,} seeds", f"from 1 to {_MOST:,}")
    local = isinstance(setting, Task) or data is None
    require(local, "data", data, "none: this data set comes with a package or through the Hub")
    require(
        folder.is_dir() or not folder.exists(), "folder", str(folder), "a folder, or a new name"
    )
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{experiment.name}-{dataset}-{scale}.jsonl"
    todo = _missing(path, experiment, setting, seeds)
    run = (
        _selections(setting, place, data)
        if isinstance(setting, Task)
        else _searches(setting, place)
    )
    for count, (seed, variant, state) in enumerate(todo, 1):
        began = time.perf_counter()
        record = run(variant, seed, state)
        _append(path, {"variant": variant.name, "seed": seed, "budget": setting.budget} | record)
        state.unlink(missing_ok=True)
        took = time.perf_counter() - began
        say(f"[{count}/{len(todo)}] seed {seed}, {variant.name}: {_shown(record)} ({took:.0f} s)")
    return path


def _missing(
    path: Path, experiment: Experiment, setting: Setting | Task, seeds: list[int]
) -> list[tuple[int, Variant, Path]]:
    """The runs that are not in the record, each with the file for what it has spent."""
    done, budget = set(), setting.budget
    for record in read_records(path, experiment):
        allowed = f"{budget} as now; use another folder"
        require(record["budget"] == budget, f"budget in {path}", record["budget"], allowed)
        done.add((record["variant"], record["seed"]))
    missing = []
    for seed, (number, variant) in product(seeds, enumerate(experiment.variants)):
        if isinstance(variant, Maps) and isinstance(setting, Task) and variant.n > setting.most:
            continue
        state = path.with_name(f"{path.stem}-{number}-{seed}.search")
        if (variant.name, seed) in done:
            state.unlink(missing_ok=True)  # of a process that ended between record and clean-up
        else:
            missing.append((seed, variant, state))
    return missing


def _searches(setting: Setting, place: torch.device) -> Run:
    """What spends a search and tests its winner, seed by seed."""
    model, over, feds = setting.model(), list[tuple[Variant, Race]](), dict[int, Federation]()

    def run(variant: Variant, seed: int, state: Path) -> Record:
        assert not isinstance(variant, Maps)
        if seed not in feds:
            over.clear()
            feds.clear()
            feds[seed] = setting.federation(seed).to(place)
        fed = feds[seed]
        race = variant.search(setting, model, fed, seed)
        trained = [r for other, r in over if isinstance(variant, Tuning) and variant.arms_of(other)]
        if trained:
            race = _judged(trained[0], race.estimate)
        else:
            often = max(100, 20 * len(race.runs))  # a file holds the models of all arms
            race = spend(race, model, fed, setting.clients, path=state, every=often)
        over.append((variant, race))
        return measure(variant, race, model, fed)

    return run


def _selections(task: Task, place: torch.device, data: str | None) -> Run:
    """What selects feature maps, seed by seed."""
    problems = dict[int, Problem]()

    def run(variant: Variant, seed: int, state: Path) -> Record:
        assert isinstance(variant, Maps)
        if seed not in problems:
            problems.clear()
            problems[seed] = task.problem(seed, data)
        return select(variant, task.k, problems[seed], seed, str(place))

    return run


def _judged(race: Race, estimate: Estimate) -> Race:
    """A race in which nobody was eliminated, judged otherwise."""
    traces = tuple(tuple(map(estimate.of_round, run.history)) for run in race.runs)
    return replace(race, estimate=estimate, traces=traces)


def measure(variant: Tuning | Range, race: Race, model: Model, fed: Federation) -> Record:
    """What is kept of a race that is over: test errors, and how sure FedEx has become.

    Keys:
        global, personalised: the winner's test error over all clients, weighted by their test
            examples; personalised with the configuration that its tuner settles on.
        rounds: the communication rounds spent.
        entropy: of the winner's theta, in nats; None without FedEx.
        errors: of a `Range` instead of all these: each arm's test error.
    """
    if isinstance(variant, Range):
        return {"errors": [min(1.0, personalise(run, model, fed).error) for run in race.runs]}
    run: OneRun = race.winner
    return {
        "global": min(1.0, evaluate(run, model, fed).error),  # +inf where all have diverged
        "personalised": min(1.0, personalise(run, model, fed).error),
        "rounds": race.used,
        "entropy": run.tuner.entropy if isinstance(run.tuner, FedEx) else None,
    }


def read_records(path: str | Path, experiment: Experiment) -> list[Record]:
    """The records in a file of `reproduce`, one for each variant and seed; none without a file.

    A last line that a crash cut short is left out, and so is what two processes have run twice.

    Raises:
        ValueError: a line that is no record of this experiment.
    """
    path, records = Path(path), dict[tuple[str, int], Record]()
    variants = {variant.name: variant for variant in experiment.variants}
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    for number, line in enumerate(lines, 1):
        try:
            record = json.loads(line)
            ok = _is_record(record, variants[record["variant"]])
        except (ValueError, TypeError, LookupError, RecursionError):
            ok = False
        allowed = f"a record of a run of {experiment.name}"
        require(ok, f"{path}, line {number}", line[:80], allowed)
        records.setdefault((record["variant"], record["seed"]), record)
    return [*records.values()]


def _is_record(record: Record, variant: Variant) -> bool:
    if isinstance(variant, Tuning):
        measured = [record["global"], record["personalised"]]
    else:
        measured = record["accuracy" if isinstance(variant, Maps) else "errors"]
    rates = all(isinstance(x, float | int) and 0 <= x <= 1 for x in measured)
    if isinstance(variant, Maps):
        picks, seconds = record["picks"], record["seconds"]
        rates = rates and {*picks.values()} <= {*range(len(measured))} and len(picks) > 0
        rates = rates and all(seconds[name] >= 0 for name in ("maps", "sweep", *picks))
    return (
        rates
        and len(measured) > 0
        and type(record["seed"]) is int
        and isinstance(record["budget"], dict)
    )


def _append(path: Path, record: Record) -> None:
    """Add a line; processes that share the file wait for one another, and what a crash has left of
    a last line goes first."""
    with path.open("ab+") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        f.seek(0)
        whole, newline, cut = f.read().rpartition(b"\n")
        if cut:
            f.truncate(len(whole + newline))
        f.write(json.dumps(record).encode() + b"\n")
        f.flush()
        os.fsync(f.fileno())


def _shown(record: Record) -> str:
    if "picks" in record:
        found = [f"{name} {record['accuracy'][i]:.1%}" for name, i in record["picks"].items()]
        return f"validation accuracy, sweep {max(record['accuracy']):.1%}, {', '.join(found)}"
    if "errors" in record:
        return f"test errors from {min(record['errors']):.1%} to {max(record['errors']):.1%}"
    return f"test error, global {record['global']:.1%}, personalised {record['personalised']:.1%}"

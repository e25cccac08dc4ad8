"""Reproduce an experiment seed by seed, and store each result as a line of a file."""

import fcntl
import json
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, as_completed
from itertools import islice, product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch

from fedlab_edu.papers.experiment import Experiment, Record, Variant, Workload
from fedlab_edu.papers.features import BAGS, FOURIER
from fedlab_edu.papers.fedex import EXPERIMENTS as FEDEX
from fedlab_edu.papers.fedpop import EXPERIMENTS as FEDPOP
from fedlab_edu.papers.fedtune import TABLES_1_TO_5
from fedlab_edu.papers.fedtune_figures import FIGURES
from fedlab_edu.papers.noise import NOISE
from fedlab_edu.progress import progress_bar
from fedlab_edu.tensors import usable_device
from fedlab_edu.training.threads import run_parallel
from fedlab_edu.validate import require, whole

EXPERIMENTS = {
    one.name: one for one in (*FEDEX, FOURIER, BAGS, *TABLES_1_TO_5, *FIGURES, *FEDPOP, NOISE)
}
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
    workers: int = 1,
) -> Path:
    """Run what the file of records lacks, and return its path, see `read_records`.

    A bar shows progress, see `progress_bar`. An interrupted run resumes: a file beside the records
    holds its search, see `tune`. Several processes may share a folder if each has its own seeds.

    Args:
        data: a folder that holds the data set, in place of the Hugging Face Hub.
        say: called with a line about each result.
        workers: the number of processes, each of which runs all variants of its seeds on one
            thread; the records are the same. The experiment must be one of `EXPERIMENTS`.

    Raises:
        ValueError: an unknown scale, data set or device, no seed, or a file that is no record of
            this experiment with this budget.
        OSError: the folder cannot be written, or a worker has ended.
    """
    setting = experiment.workload(dataset, scale)
    place, folder = usable_device(device), Path(folder)
    seeds = chosen(seeds)
    require(
        folder.is_dir() or not folder.exists(), "folder", str(folder), "a folder, or a new name"
    )
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{experiment.name}-{dataset}-{scale}.jsonl"
    missing = missing_runs(path, experiment, setting, seeds)
    total = sum(map(len, missing.values()))
    if (workers := min(whole("workers", workers, 1), len(missing))) > 1:
        where = (experiment.name, dataset, scale, device, path, data)
        results = _in_processes(workers, [*missing], where)
    else:
        results = (
            text
            for seed, todo in missing.items()
            for text in _run_seed(path, setting, seed, todo, place, data)
        )
    with progress_bar(total=total, unit="run", hidden=not total) as bar:
        for count, text in enumerate(results, 1):
            bar.update()
            with bar.external_write_mode():
                say(f"[{count}/{total}] {text}")
    return path


def chosen(seeds: Iterable[int]) -> list[int]:
    """Return the seeds, each once; refuse none, and too many."""
    seeds = list(dict.fromkeys(islice(seeds, _MOST + 1)))
    require(1 <= len(seeds) <= _MOST, "seeds", f"{len(seeds):,} seeds", f"from 1 to {_MOST:,}")
    return seeds


def _run_seed(
    path: Path,
    setting: Workload,
    seed: int,
    todo: list[tuple[Variant, Path]],
    place: torch.device,
    data: str | None,
) -> Iterator[str]:
    """Run variants with one seed, and store their records; yield a line about each."""
    run, variants = setting.trials(seed, place, data), [variant for variant, _ in todo]
    for i, (variant, state) in enumerate(todo, 1):
        began = time.perf_counter()
        origin = {"variant": variant.name, "seed": seed, "budget": setting.budget}
        record = run(variant, state, variants[i:])
        _append(path, origin | record)
        state.unlink(missing_ok=True)
        took = time.perf_counter() - began
        yield f"seed {seed}, {variant.name}: {variant.describe(record)} ({took:.0f} s)"


def _in_processes(workers: int, seeds: list[int], where: tuple[Any, ...]) -> Iterator[str]:
    """Run each seed in one of several processes."""
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        futures = [pool.submit(_run_seed_here, seed, *where) for seed in seeds]
        try:
            for future in as_completed(futures):
                yield from future.result()
        except BrokenExecutor as error:
            raise ChildProcessError("a worker has ended; the same call resumes") from error
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _run_seed_here(
    seed: int, name: str, dataset: str, scale: str, device: str, path: Path, data: str | None
) -> list[str]:
    """Run what is missing of a seed, on one thread of a worker; return a line for each run."""
    experiment, lines = EXPERIMENTS[name], list[str]()
    setting, place = experiment.workload(dataset, scale), usable_device(device)

    def run(todo: list[tuple[Variant, Path]]) -> list[str]:
        return list(_run_seed(path, setting, seed, todo, place, data))

    missing = missing_runs(path, experiment, setting, [seed])
    run_parallel(run, [*missing.values()], lines.extend)
    return lines


def missing_runs(
    path: Path, experiment: Experiment, setting: Workload, seeds: list[int]
) -> dict[int, list[tuple[Variant, Path]]]:
    """Return the variants without a record of each seed, each with the file for its search."""
    done, budget = set(), setting.budget
    for record in read_records(path, experiment):
        allowed = f"{budget} as now; use another folder"
        require(record["budget"] == budget, f"budget in {path}", record["budget"], allowed)
        done.add((record["variant"], record["seed"]))
    missing: dict[int, list[tuple[Variant, Path]]] = defaultdict(list)
    for seed, (number, variant) in product(seeds, enumerate(experiment.variants)):
        state = path.with_name(f"{path.stem}-{number}-{seed}.search")
        if (variant.name, seed) in done:
            state.unlink(missing_ok=True)  # left by a process that ended before clean-up
        elif setting.fits(variant):
            missing[seed].append((variant, state))
    return missing


def read_records(path: str | Path, experiment: Experiment) -> list[Record]:
    """Read a file of `reproduce`: one record per variant and seed, or none without a file.

    Duplicates and a last line that a crash cut short are left out.

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
    ok = type(record["seed"]) is int and isinstance(record["budget"], dict)
    return ok and variant.is_valid(record)


def _append(path: Path, record: Record) -> None:
    """Add a line under a lock, after removing a last line that a crash cut short."""
    with path.open("ab+") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        f.seek(0)
        whole, newline, cut = f.read().rpartition(b"\n")
        if cut:
            f.truncate(len(whole + newline))
        f.write(json.dumps(record).encode() + b"\n")
        f.flush()
        os.fsync(f.fileno())

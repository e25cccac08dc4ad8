"""Reproduce an experiment seed by seed, and store each result as a line of a file."""

import fcntl
import json
import os
import signal
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, as_completed
from itertools import islice, product
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Any

from fedlab_edu.papers.experiment import Experiment, Record
from fedlab_edu.papers.features import BAGS, FOURIER
from fedlab_edu.papers.fedex import EXPERIMENTS as FEDEX
from fedlab_edu.papers.fedpop import EXPERIMENTS as FEDPOP
from fedlab_edu.papers.fedtune import TABLES_1_TO_5
from fedlab_edu.papers.fedtune_figures import FIGURES
from fedlab_edu.papers.noise import NOISE
from fedlab_edu.progress import progress_bar
from fedlab_edu.search.tune import sigterm_exits
from fedlab_edu.tensors import usable_device
from fedlab_edu.training.threads import run_parallel
from fedlab_edu.validate import require, whole

EXPERIMENTS = {
    one.name: one for one in (*FEDEX, FOURIER, BAGS, *TABLES_1_TO_5, *FIGURES, *FEDPOP, NOISE)
}
_MOST = 10_000  # seeds
_ENDS = b"\n", b"\r"  # of lines, also from other systems
_RATES = {"global", "personalised", "error"}  # fields of records, from 0 to 1


def reproduce(
    experiment: Experiment, dataset: str, scale: str = "book", seeds: Iterable[int] = range(10),
    device: str = "cpu", folder: str | Path = "results", data: str | None = None,
    say: Callable[[str], object] = print, workers: int = 1,
) -> Path:  # fmt: skip
    """Run what the file of records lacks, and return its path, see `read_records`.

    A bar shows progress, see `progress_bar`. An interrupted run resumes: a file beside the records
    holds its search, see `tune`. Several processes may share a folder if each has its own seeds.

    Args:
        dataset, scale: a workload of the experiment, see its ``settings``.
        device: on which to train, such as "cuda".
        data: a folder that holds the data set, in place of the Hugging Face Hub.
        say: called with a line about each result.
        workers: the number of processes, each of which runs all variants of its seeds on one
            thread; the records are the same. The experiment must be one of `EXPERIMENTS`.

    Raises:
        ValueError: a file that is no record of this experiment with this budget.
        OSError: the folder cannot be written, or a worker has ended.
    """
    usable_device(device)
    folder = Path(folder)
    require(
        folder.is_dir() or not folder.exists(), "folder", str(folder), "a folder, or a new name"
    )
    where = (dataset, scale, folder)
    missing = missing_runs(experiment, *where, chosen(seeds))
    folder.mkdir(parents=True, exist_ok=True)
    total = sum(len(variants) for groups in missing.values() for variants, _ in groups)
    if (workers := min(whole("workers", workers, 1), len(missing))) > 1:
        results = _in_processes(workers, [*missing], experiment.name, *where, device, data)
    else:
        results = (
            text for seed in missing for text in _run_seed(seed, experiment, *where, device, data)
        )
    with progress_bar(total=total, unit="run", hidden=not total) as bar:
        for count, text in enumerate(results, 1):
            bar.update()
            with bar.external_write_mode():
                say(f"[{count}/{total}] {text}")
    return experiment.path(folder, dataset, scale)


def chosen(seeds: Iterable[int]) -> list[int]:
    """Return the distinct seeds, of which there must be 1 to 10,000."""
    seeds = list(dict.fromkeys(islice(seeds, _MOST + 1)))
    require(1 <= len(seeds) <= _MOST, "seeds", f"{len(seeds):,} seeds", f"from 1 to {_MOST:,}")
    return seeds


def _run_seed(
    seed: int, experiment: Experiment, dataset: str, scale: str, folder: Path, device: str,
    data: str | None,
) -> Iterator[str]:  # fmt: skip
    """Run what is missing of a seed, and store the records; yield a line about each."""
    setting = experiment.workload(dataset, scale)
    run, began = setting.trials(seed, usable_device(device), data), time.perf_counter()
    for variants, state in missing_runs(experiment, dataset, scale, folder, [seed])[seed]:
        for variant, record in zip(variants, run(variants, state), strict=True):
            origin = {"variant": variant.name, "seed": seed, "budget": setting.budget}
            _append(experiment.path(folder, dataset, scale), origin | record)
            state.unlink(missing_ok=True)
            took, began = time.perf_counter() - began, time.perf_counter()
            said = ", ".join(f"{name} {_shown(value)}" for name, value in record.items())
            yield f"seed {seed}, {variant.name}: {said} ({took:.0f} s)"


def _shown(value: object) -> str:
    if isinstance(value, list | dict):
        return f"({len(value)} values)"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _in_processes(workers: int, seeds: list[int], name: str, *where: Any) -> Iterator[str]:
    """Run each seed in one of several processes, which end with this call."""
    others = {*active_children()}
    quiet = signal.signal, (signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches them as SIGTERM
    with sigterm_exits(True), ProcessPoolExecutor(workers, get_context("spawn"), *quiet) as pool:
        try:
            futures = [pool.submit(_run_seed_here, seed, name, *where) for seed in seeds]
            for future in as_completed(futures):
                yield from future.result()
        except BaseException as error:
            # the executor would finish the seeds that have begun, and begin others
            for worker in {*active_children()} - others:
                worker.terminate()
            if not isinstance(error, BrokenExecutor):
                raise
            raise ChildProcessError("a worker has ended; the same call resumes") from error


def _run_seed_here(seed: int, name: str, *where: Any) -> list[str]:
    """Run what is missing of a seed, on one thread of a worker; return a line for each run."""
    lines = list[str]()
    try:
        run_parallel(
            lambda seed: [*_run_seed(seed, EXPERIMENTS[name], *where)], [seed], lines.extend
        )
    except SystemExit as stopped:  # by SIGTERM; the executor would go on with another seed
        os._exit(int(stopped.code or 0))
    return lines


def missing_runs(
    experiment: Experiment, dataset: str, scale: str, folder: Path, seeds: list[int]
) -> dict[int, list[tuple[list[Any], Path]]]:
    """Return the variants without a record of each seed.

    Those that share a search are together, with the file for it.
    """
    setting, path = experiment.workload(dataset, scale), experiment.path(folder, dataset, scale)
    done, budget = set(), setting.budget
    for record in read_records(path, experiment):
        allowed = f"{budget} as now; use another folder"
        require(record["budget"] == budget, f"budget in {path}", record["budget"], allowed)
        done.add((record["variant"], record["seed"]))
    missing: dict[int, list[tuple[list[Any], Path]]] = defaultdict(list)
    for seed, (number, group) in product(seeds, enumerate(experiment.groups())):
        state = path.with_name(f"{path.stem}-{number}-{seed}.search")
        todo = [v for v in group if setting.fits(v) and (v.name, seed) not in done]
        if len(todo) < len(group):
            state.unlink(missing_ok=True)  # left by a process that ended before clean-up
        if todo:
            missing[seed].append((todo, state))
    return missing


def recorded(folder: str | Path) -> Iterator[tuple[Experiment, str, str, list[Record]]]:
    """Yield each experiment, data set and scale with a record in the folder, and its records."""
    for experiment in EXPERIMENTS.values():
        for scale, settings in experiment.settings.items():
            for dataset in settings:
                path = experiment.path(folder, dataset, scale)
                if records := read_records(path, experiment):
                    yield experiment, dataset, scale, records


def read_records(path: str | Path, experiment: Experiment) -> list[Record]:
    """Read a file of `reproduce`: one record per variant and seed, or none without a file.

    Duplicates and a last line that a crash cut short are left out.

    Raises:
        ValueError: a line that is no record of this experiment: it lacks a field, or an error is no
            rate; records of several budgets.
    """
    path, records = Path(path), dict[tuple[str, int], Record]()
    variants = {variant.name: variant for variant in experiment.variants}
    lines = _lines(path.read_bytes()) if path.exists() else []
    for number, line in enumerate(lines, 1):
        try:
            record = json.loads(line)
            ok = type(record["seed"]) is int and isinstance(record["budget"], dict)
            ok = ok and record.keys() >= variants[record["variant"]].FIELDS
            rates = [record[name] for name in _RATES & record.keys()]
            ok = ok and all(isinstance(x, float | int) and 0 <= x <= 1 for x in rates)
            ok = ok and record["budget"] == next(iter(records.values()), record)["budget"]
        except (ValueError, TypeError, LookupError, RecursionError):
            ok = False
        allowed = f"a record of a run of {experiment.name}, all with one budget"
        require(ok, f"{path}, line {number}", line[:80], allowed)
        records.setdefault((record["variant"], record["seed"]), record)
    return [*records.values()]


def _lines(text: bytes) -> list[bytes]:
    """Return the lines with their ends, without a last one that a crash cut short."""
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith(_ENDS):
        try:
            json.loads(lines[-1])
        except (ValueError, RecursionError):
            lines.pop()
    return lines


def _append(path: Path, record: Record) -> None:
    """Add a line under a lock, after removing a last line that a crash cut short."""
    with path.open("ab+") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        f.seek(0)
        lines = _lines(f.read())
        f.truncate(sum(map(len, lines)))
        if lines and not lines[-1].endswith(_ENDS):
            f.write(b"\n")
        f.write(json.dumps(record).encode() + b"\n")
        f.flush()
        os.fsync(f.fileno())

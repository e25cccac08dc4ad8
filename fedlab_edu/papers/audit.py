"""An audit of records: make one run of each again, and compare."""

import time
from collections.abc import Iterator
from math import isclose, isnan
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import torch

from fedlab_edu.papers.experiment import Experiment, Record
from fedlab_edu.papers.plan import duration
from fedlab_edu.papers.reproduce import recorded

TOLERANCE = 1e-4  # below one example of any test part, above rounding
SEEDS = 3
_MEASURED = ("seconds", "peak_gib")  # differ from run to run


class Audit(NamedTuple):
    """The comparison of a record with runs made now.

    Fields:
        file: the record's name.
        runs: how many runs the record holds.
        stale: whether each run made again differs from the record; None if none could be made.
        said: the runs made again, and their differences.
        seconds: the time of a run, or None.
    """

    file: str
    runs: int
    stale: bool | None
    said: str
    seconds: float | None = None

    def __str__(self) -> str:
        """Return a line; the time to make the whole record again is rough."""
        word = {True: "STALE", False: "as recorded", None: "not tried"}[self.stale]
        said = self.said
        if self.seconds is not None:
            said = f"all take {duration(self.seconds * self.runs)}; made again: {said}"
        return f"{word:11}  {self.file}: {self.runs} runs; {said}"


def audit(folder: str | Path) -> Iterator[Audit]:
    """Make a run of each record in a folder again, and compare up to `TOLERANCE`.

    The run is the first variant of the last seed. If it differs, up to `SEEDS` seeds are tried: a
    changed algorithm changes all of them, but rounding, as on another processor, only the few whose
    training is chaotic.
    """
    for experiment, dataset, scale, records in recorded(folder):
        yield _again(experiment, dataset, scale, records)


def _again(experiment: Experiment, dataset: str, scale: str, records: list[Record]) -> Audit:
    setting, file = experiment.workload(dataset, scale), experiment.path("", dataset, scale).name
    names = {record["variant"] for record in records}
    first = next(v for v in experiment.variants if v.name in names)
    of = {record["seed"]: record for record in records if record["variant"] == first.name}
    said, began, changes = [], time.perf_counter(), list[str]()
    for seed in sorted(of, reverse=True)[:SEEDS]:
        try:
            with TemporaryDirectory() as temporary:
                run = setting.trials(seed, torch.device("cpu"), None)
                (now,) = run([first], Path(temporary) / "search")
        except (ImportError, OSError, ValueError) as error:
            return Audit(file, len(records), None, str(error).splitlines()[0])
        then, now = of[seed], {"budget": setting.budget, **now}
        changes = [
            f"{name} {then.get(name)!r:.20}, now {value!r:.20}"
            for name, value in now.items()
            if name not in _MEASURED and not _equal(then.get(name), value)
            if name in then or name != "curve"  # which old records lack
        ]
        said.append(": ".join([f"seed {seed}, {first.name}", *changes]))
        if not changes:
            break
    seconds = (time.perf_counter() - began) / len(said)
    return Audit(file, len(records), bool(changes), "; ".join(said), seconds)


def _equal(one: object, other: object) -> bool:
    if isinstance(one, float | int) and isinstance(other, float | int):
        return isclose(one, other, rel_tol=0, abs_tol=TOLERANCE) or (isnan(one) and isnan(other))
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_equal, one, other))
    return one == other

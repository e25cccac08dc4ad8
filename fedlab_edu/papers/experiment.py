"""Experiments: variants, workloads to run them on, and published numbers."""

import csv
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import torch

from fedlab_edu.data import Federation, hub
from fedlab_edu.validate import require

Record = dict[str, Any]
#: Loads a data set from a seed, and, where it is on the Hub, from a folder in its place.
Load = Callable[..., Any]
#: Yields the records of variants that share a search, given a file for the unfinished search.
Trial = Callable[[Sequence[Any], Path], Iterator[Record]]


class Workload(ABC):
    """A data set at a scale, with the code that runs a variant on it."""

    STORED: ClassVar[tuple[str, ...]]  # names of fields

    @property
    def budget(self) -> Record:
        """The settings stored in each record; a file holds records with equal budgets only."""
        return {name: getattr(self, name) for name in self.STORED}

    @property
    @abstractmethod
    def summary(self) -> str:
        """The budget in a sentence."""

    def fits(self, variant: Any) -> bool:
        """Return whether the variant runs on this workload."""
        return True

    @abstractmethod
    def trials(self, seed: int, place: torch.device, data: str | None) -> Trial:
        """Return the function that runs variants with this seed.

        Args:
            data: a folder that holds the data set, in place of the Hugging Face Hub.
        """


class Published(NamedTuple):
    """Published test errors in percent: mean, standard deviation, number of trials."""

    mean: float
    sd: float
    trials: int


def published(experiment: str) -> dict[str, dict[str, Published]]:
    """Return the published numbers of an experiment: variant -> data set -> numbers.

    A file for each paper holds them as printed: errors, or accuracies, in percent.
    """
    found: dict[str, dict[str, Published]] = defaultdict(dict)
    for row in _rows(experiment.partition("-")[0]):
        if row["experiment"] == experiment:
            error = row.get("error") or round(100 - float(row["accuracy"]), 2)
            cell = Published(float(error), float(row["sd"]), int(row["trials"]))
            found[row["variant"]][row["dataset"]] = cell
    return found


@cache
def _rows(name: str) -> list[dict[str, str]]:
    """Return the rows of a table in this folder, or none without the file."""
    path = Path(__file__).with_name(f"{name}.csv")
    return [*csv.DictReader(path.read_text().splitlines())] if path.exists() else []


def bundled(load: Callable[[int], Any]) -> Load:
    """Return the loader of a data set that comes with a package, given a function of the seed."""

    def of(seed: int, data: str | None = None) -> Any:
        require(data is None, "data", data, "none: this data set comes with a package")
        return load(seed)

    return of


def on_hub(name: str, **how: Any) -> Load:
    """Return the loader of a data set of the Hub; for the options see `hub`."""

    def of(seed: int, data: str | None = None) -> Federation:
        place = folder_or(name, data)
        return hub(place, seed=seed, **how) if how.get("shuffle", True) else _kept(place, **how)

    return of


@lru_cache(maxsize=1)  # without shuffling it is the same for each seed, and large
def _kept(place: str, **how: Any) -> Federation:
    return hub(place, **how)


def folder_or(name: str, data: str | None) -> str:
    """Return the folder that holds a data set, or without one its name on the Hub."""
    ok = data is None or Path(data).is_dir()
    require(ok, "data", data, "a folder that holds the data set")
    return data or name


@dataclass(frozen=True)
class Experiment:
    """A table or figure of a paper.

    Fields:
        claim: the paper's conclusion, in our words.
        variants: the methods or settings to compare. Each has a unique ``name``, and ``FIELDS``,
            what its records hold. Those with an equal attribute ``training`` share a search.
        against: pairs of variants' names to compare on the same seeds.
        settings: scale -> data set -> workload.
        report: makes the lines of a report from the records of a data set; the default is a table
            of test errors.
        claimed: which of each pair the paper claims to be better, "first", "second" or "none".
    """

    name: str
    source: str
    claim: str
    variants: tuple[Any, ...]
    against: tuple[tuple[str, str], ...]
    settings: Mapping[str, Mapping[str, Workload]]
    report: "Callable[[Experiment, str, Sequence[Record]], list[str]] | None" = None
    claimed: str = "first"

    @property
    def published(self) -> dict[str, dict[str, Published]]:
        """The published numbers, by variant and data set; {} for a variant without any."""
        return published(self.name)

    def workload(self, dataset: str, scale: str) -> Workload:
        """Return the workload of a data set at a scale."""
        scales = self.settings
        require(scale in scales, "scale", scale, f"one of {[*scales]}")
        allowed = f"one of {[*scales[scale]]} at scale {scale}"
        require(dataset in scales[scale], "dataset", dataset, allowed)
        return scales[scale][dataset]

    def groups(self) -> list[list[Any]]:
        """Return the variants in groups, each of which shares a search."""
        found: dict[object, list[Any]] = defaultdict(list)
        for variant in self.variants:
            found[getattr(variant, "training", variant.name)].append(variant)
        return [*found.values()]

    def path(self, folder: str | Path, dataset: str, scale: str) -> Path:
        """Return the file of the records."""
        return Path(folder) / f"{self.name}-{dataset}-{scale}.jsonl"


def experiment(
    name: str, variants: Iterable[Any], against: Iterable[tuple[str, str]], settings: Any,
    report: Any = None,
) -> Experiment:  # fmt: skip
    """Return an experiment with its row of `experiments.csv`."""
    found = [row for row in _rows("experiments") if row["name"] == name]
    require(len(found) == 1, "name", name, "one with a row of its own in experiments.csv")
    (row,) = found
    return Experiment(
        **row, variants=tuple(variants), against=tuple(against), settings=settings, report=report
    )

"""Experiments: variants, workloads to run them on, and published numbers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import torch

from fedlab_edu.validate import require

Record = dict[str, Any]
#: Runs a variant, given a seed, a file for its unfinished search, and the variants that follow with
#: the same seed.
Trial = Callable[[Any, int, Path, Sequence[Any]], Record]


@runtime_checkable
class Variant(Protocol):
    """A method or setting to run on a workload and compare with others."""

    @property
    def name(self) -> str:
        """A name that is unique in the experiment."""

    def is_valid(self, record: Record) -> bool:
        """Return whether the record is valid; any ValueError, TypeError or LookupError means no."""

    def describe(self, record: Record) -> str:
        """Describe the result in one line."""


@runtime_checkable
class Workload(Protocol):
    """A data set at a scale, with the code that runs a variant on it."""

    @property
    def budget(self) -> Record:
        """The settings stored in each record; a file holds records with equal budgets only."""

    @property
    def summary(self) -> str:
        """The budget in a sentence."""

    def fits(self, variant: Any) -> bool:
        """Return whether the variant runs on this workload."""

    def trials(self, place: torch.device, data: str | None) -> Trial:
        """Return the function that runs variants on this workload.

        Args:
            data: a folder that holds the data set, in place of the Hugging Face Hub.

        Raises:
            ValueError: a folder is given, but the data set does not come from one.
        """


class Published(NamedTuple):
    """Published test errors in percent: mean, standard deviation, number of trials."""

    mean: float
    sd: float
    trials: int


@dataclass(frozen=True)
class Experiment:
    """A table or figure of a paper.

    Fields:
        claim: the paper's conclusion, in our words.
        against: pairs of variants' names to compare on the same seeds.
        settings: scale -> data set -> workload.
        report: makes the lines of a report from the records of a data set; the default is a table
            of test errors.
    """

    name: str
    source: str
    claim: str
    variants: tuple[Any, ...]
    against: tuple[tuple[str, str], ...]
    settings: Mapping[str, Mapping[str, Workload]]
    report: "Callable[[Experiment, str, Sequence[Record]], list[str]] | None" = None

    def workload(self, dataset: str, scale: str) -> Workload:
        """Return the workload of a data set at a scale.

        Raises:
            ValueError: there is no such scale or data set.
        """
        scales = self.settings
        require(scale in scales, "scale", scale, f"one of {[*scales]}")
        require(dataset in scales[scale], "dataset", dataset, f"one of {[*scales[scale]]}")
        return scales[scale][dataset]

"""Experiments: variants, workloads to run them on, and published numbers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import torch

from fedlab_edu.validate import require

Record = dict[str, Any]
#: Of a variant, a seed, a file for what it has spent, and the variants of that seed still to come.
Trial = Callable[[Any, int, Path, Sequence[Any]], Record]


@runtime_checkable
class Variant(Protocol):
    """A method that is run on a workload and compared with others."""

    @property
    def name(self) -> str:
        """Unique in the experiment."""

    def is_valid(self, record: Record) -> bool:
        """Whether a record can be of this variant; it may raise what a wrong one makes it raise."""

    def describe(self, record: Record) -> str:
        """Describe a record in a line."""


@runtime_checkable
class Workload(Protocol):
    """A data set at a scale, and how a variant is run on it."""

    @property
    def budget(self) -> Record:
        """The settings that a record notes; runs with other settings go into another record."""

    @property
    def summary(self) -> str:
        """The same in a sentence."""

    def fits(self, variant: Any) -> bool:
        """Whether the variant is run on it."""

    def trials(self, place: torch.device, data: str | None) -> Trial:
        """Return a function that runs variants on it.

        Args:
            data: a folder that holds the data set, in place of the Hugging Face Hub.

        Raises:
            ValueError: a folder for a data set that comes otherwise.
        """


class Published(NamedTuple):
    """Test errors in percent, as a paper prints them: mean, standard deviation, trials."""

    mean: float
    sd: float
    trials: int


@dataclass(frozen=True)
class Experiment:
    """A table or figure of a paper.

    Fields:
        claim: what the paper concludes from it, in our words.
        variants: what is compared; the differences that are reported are those of ``against``.
        against: pairs of names, each variant and what it is compared with on the same seeds.
        settings: scale -> data set -> workload.
        report: the lines that say what the records of a data set come to; None is a table of the
            variants' test errors.
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

"""A tuner is a table and a rule: k configurations, who gets which, and what their scores change."""

from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from fedlab_edu.check import require
from fedlab_edu.hparams import LocalHP


@runtime_checkable
class Tuner(Protocol):
    """What a round needs of a tuner; a value, so `tell` returns the next one."""

    @property
    def table(self) -> LocalHP:
        """k configurations: columns (k,), or scalars where k = 1."""

    def ask(self, clients: int, gen: torch.Generator) -> Int[Tensor, " B"]:
        """The row of the table for each of B clients, drawn from ``gen``."""

    def tell(
        self,
        arm: Int[Tensor, " B"],
        before: Float[Tensor, " B"],
        after: Float[Tensor, " B"],
        size: Int[Tensor, " B"],
    ) -> "Tuner":
        """The tuner after a round in which client i used row ``arm[i]``.

        ``before`` and ``after`` are its scores on ``size[i]`` validation examples, of the model
        received and of the model trained from it: lower is better, +inf is a diverged model. A
        client without validation examples has size 0; it scores 0, or +inf if it has diverged, and
        0 times that is NaN.
        """


@dataclass(frozen=True, eq=False)
class Fixed:
    """The tuner of one configuration: nothing is tuned.

    Raises:
        ValueError: a table of several rows, among which it could not choose.
    """

    table: LocalHP = field(default_factory=LocalHP)

    def __post_init__(self) -> None:
        require(len(self.table) == 1, "table", f"{len(self.table)} rows", "one configuration")

    def ask(self, clients: int, gen: torch.Generator) -> Int[Tensor, " B"]:
        """Row 0 for everyone; nothing is drawn."""
        return torch.zeros(clients, dtype=torch.long)

    def tell(
        self,
        arm: Int[Tensor, " B"],
        before: Float[Tensor, " B"],
        after: Float[Tensor, " B"],
        size: Int[Tensor, " B"],
    ) -> "Fixed":
        """Itself: no score changes it."""
        return self

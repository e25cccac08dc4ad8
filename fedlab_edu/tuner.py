"""A tuner is a table and a rule: k configurations, who gets which, and what their scores change."""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

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

    @property
    def score(self) -> Literal["error", "loss"]:
        """Which scores it is told: shares of examples that are wrong, or losses."""

    @property
    def final(self) -> LocalHP:
        """What it would settle on now: one configuration for all, or one row for each client."""

    def ask(
        self, clients: int, gen: torch.Generator, *, who: Int[Tensor, " B"]
    ) -> Int[Tensor, " B"]:
        """The row of the table for each of B clients, drawn from ``gen``; ``who`` they are."""

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

    def settle(self) -> "Tuner":
        """The tuner that tries nothing any more: all train with `final`."""


@dataclass(frozen=True, eq=False)
class Fixed:
    """The tuner that tunes nothing: one configuration for all, or one for each client.

    Args:
        table: k configurations.
        row: (N,), the row of the table for each client of the federation; may be left out where the
            table has only one.

    Raises:
        ValueError: several rows, but nothing says whose they are; a row that the table lacks; rows
            that are no column of whole numbers.
    """

    score: ClassVar[Literal["error", "loss"]] = "error"
    table: LocalHP = field(default_factory=LocalHP)
    row: Int[Tensor, " N"] | None = None

    def __post_init__(self) -> None:
        k = len(self.table)
        require(k == 1 or self.row is not None, "table", f"{k} rows", "one configuration")
        if self.row is not None:
            object.__setattr__(self, "row", self._checked(self.row, k))

    @staticmethod
    def _checked(given: Any, k: int) -> Int[Tensor, " N"]:
        """Rows as whole numbers: as a mask, or as uint8, they would index otherwise."""
        try:
            row = torch.as_tensor(given)
        except (TypeError, ValueError, RuntimeError):
            row = torch.empty(0)
        inexact = row.is_floating_point() or row.is_complex() or row.dtype == torch.bool
        column = row.dim() == 1 and row.numel() > 0 and not inexact
        ok = column and 0 <= row.min() <= row.max() < k
        require(ok, "row", given, f"for each client a whole number from 0 to {k - 1}")
        return row.long()

    @property
    def final(self) -> LocalHP:
        """The configurations with which the clients train."""
        return self.table if self.row is None else self.table[self.row]

    def ask(
        self, clients: int, gen: torch.Generator, *, who: Int[Tensor, " B"]
    ) -> Int[Tensor, " B"]:
        """Each client's row; nothing is drawn."""
        return torch.zeros(clients, dtype=torch.long) if self.row is None else self.row[who]

    def tell(
        self,
        arm: Int[Tensor, " B"],
        before: Float[Tensor, " B"],
        after: Float[Tensor, " B"],
        size: Int[Tensor, " B"],
    ) -> "Fixed":
        """Itself: no score changes it."""
        return self

    def settle(self) -> "Fixed":
        """Itself."""
        return self

"""Tuners: a table of k configurations, and a rule that assigns rows and learns from scores."""

from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Int
from torch import Tensor

from fedlab_edu.rounds.result import Round
from fedlab_edu.tensors import as_indices
from fedlab_edu.training.hparams import LocalHP
from fedlab_edu.validate import require


@runtime_checkable
class Tuner(Protocol):
    """The interface of a tuner. It is a value: `tell` returns the next one.

    A tuner that gives each row in turn, and keeps the mean error of each::

        from dataclasses import dataclass, replace
        from math import inf
        from statistics import mean
        import torch
        from fedlab_edu import LocalHP

        @dataclass(frozen=True)
        class RoundRobin:
            table: LocalHP
            errors: tuple[float, ...] = ()  # one for each round

            @property
            def final(self):
                k = len(self.table)
                means = [mean(self.errors[j::k] or [inf]) for j in range(k)]
                return self.table[means.index(min(means))]

            def ask(self, who, gen):
                return torch.full((len(who),), len(self.errors) % len(self.table))

            def tell(self, result):
                if not len(result.row):  # no client could validate
                    return self
                error = float(result.after.error.mean())
                return replace(self, errors=(*self.errors, error))

        run = train(start(model, fed, RoundRobin(LocalHP(lr=[0.01, 0.1, 1.0]))), model, fed, 30)
    """

    @property
    def table(self) -> LocalHP:
        """The k configurations, as columns (k,) or, where k = 1, scalars."""

    @property
    def final(self) -> LocalHP:
        """The best configuration so far, one for all clients or one row for each.

        It is also read before the first `tell`.
        """

    def ask(self, who: Int[Tensor, " B"], gen: torch.Generator) -> Int[Tensor, " B"]:
        """Return a row of the table for each of the B clients ``who``, drawn from ``gen``."""

    def tell(self, result: Round) -> "Tuner":
        """Return the tuner after a round."""


@dataclass(frozen=True, eq=False)
class Fixed:
    """A tuner without tuning: one configuration for all clients, or one for each client.

    Args:
        row: (N,), the row of the table for each client; optional where k = 1.
    """

    table: LocalHP = field(default_factory=LocalHP)
    row: Int[Tensor, " N"] | None = None

    def __post_init__(self) -> None:
        k = len(self.table)
        allowed = "one configuration; a tuner such as FedEx(table) takes several"
        require(k == 1 or self.row is not None, "table", f"{k} rows", allowed)
        if self.row is not None:
            row = as_indices("row", self.row, k)
            require(row.dim() == 1 and len(row), "row", row, "a row of the table for each client")
            object.__setattr__(self, "row", row)

    @property
    def final(self) -> LocalHP:
        """The configurations with which the clients train."""
        return self.table if self.row is None else self.table[self.row]

    def ask(self, who: Int[Tensor, " B"], gen: torch.Generator) -> Int[Tensor, " B"]:
        """Return each client's row, without a draw."""
        return torch.zeros_like(who) if self.row is None else self.row[who]

    def tell(self, result: Round) -> "Fixed":
        """Return the same tuner."""
        return self

"""Hyperparameters as columns: local training (c) and the server's step (b).

Khodak et al. (2021), section 2, write a federated method as a local routine Loc_c and an
aggregation Agg_b. A `LocalHP` of scalars is one configuration c; with columns of length k, it is a
*table* of k rows: ``table[row]`` gives row ``row[i]`` to client i.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from fedlab_edu.validate import require, require_all, shown, updated


def _column(default: float, ok: Callable[[Tensor], Tensor], allowed: str) -> Any:
    """Return a dataclass field that stores which values it allows."""
    return field(default=default, metadata={"ok": ok, "allowed": allowed})


def _at_least_0(h: Tensor) -> Tensor:
    return (h >= 0) & h.isfinite()


def _whole(h: Tensor) -> Tensor:
    return (h >= 1) & (h == h.round()) & (h <= 2**53)


_Table = TypeVar("_Table", bound="_Columns")
# which float64 would take
_NO_NUMBERS = {bool, np.dtype(bool), torch.bool, torch.complex64, torch.complex128}


class _Columns:
    """Fields of shape (), or all of shape (k,): a scalar beside a column is repeated."""

    def __post_init__(self) -> None:
        for f in fields(self):  # type: ignore[arg-type]
            seen = getattr(self, f.name)
            array = hasattr(seen, "tolist") and not isinstance(seen, Tensor)
            given = seen.tolist() if array else seen
            several = given if isinstance(given, list | tuple) else [given]
            kinds = {getattr(one, "dtype", type(one)) for one in several}
            require(kinds.isdisjoint(_NO_NUMBERS), f.name, seen, f.metadata["allowed"])
            try:  # PyTorch does not take all arrays, and no columns of tables
                column = torch.as_tensor(given, dtype=torch.float64, device="cpu")
                column = column.to_dense().detach().clone()
            except (TypeError, ValueError, RuntimeError, OverflowError):
                require(False, f.name, seen, "a number, or one number per configuration")
            require(column.dim() <= 1 and column.numel(), f.name, seen, "a number or a column (k,)")
            require_all(f.metadata["ok"](column), f.name, seen, f.metadata["allowed"])
            column = column.long() if isinstance(f.default, int) else column
            object.__setattr__(self, f.name, column)
        lengths = {n: len(c) for n, c in self.columns.items() if c.dim()}
        require(len(set(lengths.values())) <= 1, "columns", lengths, "columns of one length")
        for name, column in self.columns.items():
            object.__setattr__(self, name, column.expand(tuple(set(lengths.values()))).clone())

    @property
    def columns(self) -> dict[str, Tensor]:
        """Scalars () or columns (k,) by name."""
        return dict(vars(self))

    def __repr__(self) -> str:
        """Return the call that makes the table; of long columns only the first eight rows."""
        columns = ", ".join(f"{name}={shown(column)}" for name, column in self.columns.items())
        return f"{type(self).__name__}({columns})"

    def __len__(self) -> int:
        """Return the number of rows k; 1 for scalar fields."""
        return max(c.numel() for c in self.columns.values())

    def __getitem__(self: _Table, rows: int | slice | list[int] | Tensor) -> _Table:
        """Select rows: an integer gives scalars, a list or tensor of B of them columns (B,)."""
        if isinstance(rows, list):  # of True and False, too
            rows = torch.tensor(rows) if rows else torch.arange(0)
        if isinstance(rows, Tensor) and rows.dtype == torch.int64:  # takes a third less time
            return updated(self, **{n: c.take(rows) for n, c in vars(self).items()})
        return updated(
            self, **{n: (c if c.dim() else c[None])[rows] for n, c in vars(self).items()}
        )

    def with_columns(self: _Table, columns: Mapping[str, Tensor]) -> _Table:
        """Return a table with some new columns of allowed values, which are not checked again."""
        return updated(self, **{n: c.to(vars(self)[n].dtype) for n, c in columns.items()})

    def each(self: _Table, B: int, name: str = "c") -> _Table:
        """Return columns (B,), one row for each of B clients; a single row is repeated."""
        k, columns = len(self), self.columns
        require(k in (1, B), name, f"{k} rows", f"one setting, or {B} rows, one for each client")
        if k == B and all(column.dim() for column in columns.values()):
            return self
        return updated(self, **{n: column.reshape(-1).expand(B) for n, column in columns.items()})

    @classmethod
    def concat(cls: type[_Table], tables: Sequence[_Table]) -> _Table:
        """Concatenate tables."""
        columns = {n: torch.hstack([vars(t)[n] for t in tables]) for n in tables[0].columns}
        return updated(tables[0], **columns)


@dataclass(frozen=True, eq=False, repr=False)
class LocalHP(_Columns):
    """c, the hyperparameters of local training: one configuration, or a table of k rows.

    Each field is a number or a column of k numbers; beside a column, a number holds for all rows:
    ``LocalHP(lr=[0.01, 0.1], batch=16)`` has ``len`` 2, and ``table[rows]`` selects rows.

    The local objective is the client's mean loss plus ``mu/2 |w - w_t|^2``, minimised by SGD with
    ``g + weight_decay w`` as the gradient and ``v <- momentum v + g``, ``w <- w - lr v``. mu is
    FedProx's mu, FedDyn's alpha, Ditto's lambda; dropout applies to the last layer's inputs.

    Source: Khodak et al. (2021), section 2 and appendix D.
    """

    lr: Any = _column(0.1, _at_least_0, "finite numbers of at least 0")
    momentum: Any = _column(0.0, lambda h: (h >= 0) & (h <= 1), "numbers from 0 to 1")
    weight_decay: Any = _column(0.0, _at_least_0, "finite numbers of at least 0")
    mu: Any = _column(0.0, _at_least_0, "finite numbers of at least 0")
    dropout: Any = _column(0.0, lambda h: (h >= 0) & (h < 1), "numbers from 0 to below 1")
    batch: Any = _column(32, _whole, "whole numbers from 1 to 2^53")
    epochs: Any = _column(1, _whole, "whole numbers from 1 to 2^53")


@dataclass(frozen=True, eq=False, repr=False)
class ServerHP(_Columns):
    """b, the hyperparameters of aggregation: rate ``lr decay^(t-1)`` in round t, and momentum.

    SCAFFOLD's control variate moves at its own rate, ``control_lr control_decay^(t-1)``.

    Source: Khodak et al. (2021), section 5 and appendix D.2; the defaults give plain averaging.
    The control variate's rate and schedule: Chen et al. (2023), section 4.5.
    """

    lr: Any = _column(1.0, _at_least_0, "finite numbers of at least 0")
    momentum: Any = _column(0.0, lambda h: (h >= 0) & (h <= 1), "numbers from 0 to 1")
    decay: Any = _column(1.0, lambda h: (h > 0) & (h <= 1), "numbers above 0, up to 1")
    control_lr: Any = _column(1.0, _at_least_0, "finite numbers of at least 0")
    control_decay: Any = _column(1.0, lambda h: (h > 0) & (h <= 1), "numbers above 0, up to 1")

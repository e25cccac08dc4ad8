"""Search spaces: a distribution for each tuned hyperparameter, and the spaces of the papers.

Khodak et al. (2021), section 3 and appendix D.2; Chen et al. (2023), section 3.4.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Generic, Literal, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor

from fedlab_edu.search.distributions import (
    Choice,
    Distribution,
    Integer,
    LogUniform,
    OneMinusLogUniform,
    PowerOfTwo,
    Uniform,
    check_distributions,
)
from fedlab_edu.seeds import check_generator
from fedlab_edu.tensors import as_float64
from fedlab_edu.training.hparams import LocalHP, ServerHP
from fedlab_edu.validate import MOST, one_of, require, require_all, require_type, share, whole

_Table = TypeVar("_Table", LocalHP, ServerHP)


@dataclass(frozen=True)
class SearchSpace(Generic[_Table]):
    """A distribution for each tuned hyperparameter; the others keep their defaults.

    Args:
        distributions: name -> distribution.
        kind: `LocalHP` for the clients' hyperparameters, `ServerHP` for the server's.
    """

    distributions: Mapping[str, Distribution]
    kind: type[_Table] = LocalHP  # type: ignore[assignment]

    def __post_init__(self) -> None:
        ok = self.kind in (LocalHP, ServerHP)
        require(ok, "kind", self.kind, "LocalHP for the clients, ServerHP for the server")
        given, names = self.distributions, list(self.kind().columns)
        require_type("distributions", given, Mapping, '{"lr": LogUniform(0.01, 1)}')
        check_distributions(given, names, "hyperparameter")
        object.__setattr__(self, "distributions", dict(given))  # later changes would be unchecked
        for name, d in given.items():
            self.kind(**{name: d.points(4)})  # includes both ends, which clipping reaches
            ok = isinstance(d, Choice) or getattr(self.kind(), name).is_floating_point()
            require(ok, name, d, "whole numbers: Integer(1, 5), PowerOfTwo(8, 128) or a Choice")

    def without(self, *names: str) -> "SearchSpace[_Table]":
        """Return the space in which these hyperparameters are not tuned."""
        rest: dict[str, Distribution] = {**self.distributions}
        for name in names:
            require(name in rest, "hyperparameter", name, f"one of {[*rest]}")
            del rest[name]
        return replace(self, distributions=rest)

    def from_unit(self, u: Tensor) -> _Table:
        """Return the configurations at points (k, h) of the unit cube, an axis per distribution."""
        u, h = as_float64(u, "u"), len(self.distributions)
        require(u.dim() == 2 and u.shape[1] == h, "shape of u", tuple(u.shape), f"(k, {h})")
        require_all(((u >= 0) & (u <= 1)).all(1), "u", u, "numbers from 0 to 1")
        return self._table(self.kind(), len(u), {n: d.from_unit(x) for n, d, x in self._axes(u)})

    def sample(self, k: int, gen: torch.Generator) -> _Table:
        """Draw k independent configurations."""
        return self.from_unit(self._draws(gen, whole("k", k, 1, MOST)))

    def perturb(self, row: _Table, eps: float, k: int, gen: torch.Generator | Tensor) -> _Table:
        """Draw k independent configurations near a given one.

        eps is half the width, as a share of the range. With 0 all equal ``row``; with 1 half of the
        draws cover the whole range, and the others are clipped to its ends. Hyperparameters that
        this space does not tune are copied. gen is a generator, or its draws (k, h) in [0, 1).
        """
        require(len(row) == 1, "row", f"{len(row)} rows", "one configuration")
        self._check(row, eps=eps)
        axes = self._axes(self._draws(gen, k := whole("k", k, 1, MOST)))
        return self._table(row, k, {n: d.perturb(getattr(row, n), eps, x) for n, d, x in axes})

    def evo(
        self, rows: _Table, eps: float, p_re: float, gen: torch.Generator | Tensor,
        coin: Literal["each", "vector"] = "each",
    ) -> _Table:  # fmt: skip
        """Evolve each of n rows: a value moves, or with probability p_re is resampled.

        Args:
            gen: a generator, or its draws (3, n, h) in [0, 1): coins, new draws, and moves.
            coin: "each" hyperparameter has a coin of its own, as printed; or a "vector" has one for
                all, the first, as in the authors' code (which resamples a client's near the base).

        Source: Chen et al. (2023), section 3.4, eq. (3).
        """
        one_of(("each", "vector"))("coin", coin)
        self._check(rows, eps=eps, p_re=p_re)
        u = self._draws(gen, 3, len(rows))
        u = torch.cat([u[:1, :, :1].expand_as(u[:1]), u[1:]]) if coin == "vector" else u
        new = rows.columns
        for name, d, drawn in self._axes(u):
            new[name] = d.evo(new[name].reshape(-1), eps, p_re, drawn, name).view_as(new[name])
        return rows.with_columns(new)

    def grid(self, points: int = 3) -> _Table:
        """Return all combinations of ``points`` values per continuous distribution and all options.

        Rows are in the order of nested loops, the last hyperparameter innermost; at most a million.
        """
        values = [d.points(points) for d in self.distributions.values()]
        rows = prod(map(len, values))
        require(rows <= MOST, "rows of the grid", rows, f"at most {MOST:,}")
        columns = self._axes(as_float64(list(product(*values))))
        return self._table(self.kind(), rows, {n: column for n, _, column in columns})

    def sizes(self, points: int = 3) -> tuple[int, ...]:
        """Return the number of values of each hyperparameter in a grid."""
        return tuple(len(d.points(points)) for d in self.distributions.values())

    def _axes(self, u: Tensor) -> Iterator[tuple[str, Distribution, Tensor]]:
        """Pair each hyperparameter with its part of u (..., h)."""
        return zip(self.distributions, self.distributions.values(), u.unbind(-1), strict=True)

    def _draws(self, gen: torch.Generator | Tensor, *shape: int) -> Tensor:
        """Return given draws, or those of a generator, for each hyperparameter: (..., h)."""
        wanted = (*shape, len(self.distributions))
        if isinstance(gen, Tensor):
            require(gen.shape == wanted, "shape of the draws", tuple(gen.shape), str(wanted))
            return gen
        check_generator(gen)
        return torch.rand(wanted, generator=gen, dtype=torch.float64)

    def _check(self, row: _Table, **shares: float) -> None:
        """Refuse arguments before anything is drawn: after an error the generator is as before."""
        for name, value in shares.items():
            share(name, value)
        for name, d in self.distributions.items():
            d.check(getattr(row, name), name)

    def _table(self, row: _Table, k: int, new: Mapping[str, Tensor]) -> _Table:
        """Repeat a row k times, with new columns."""
        return row.with_columns({**{n: c.repeat(k) for n, c in row.columns.items()}, **new})


@dataclass(frozen=True)
class Spaces:
    """The search spaces of the clients (c) and of the server (b).

    Args:
        clients: N, to find a configuration for each client of a federation, all from one space; a
            space of k points has k^N such assignments (FedTune, section 4.1.1). None: one for all.
    """

    client: SearchSpace[LocalHP]
    server: SearchSpace[ServerHP] = SearchSpace({}, ServerHP)
    clients: int | None = None

    def __post_init__(self) -> None:
        if self.clients is not None:
            object.__setattr__(self, "clients", whole("clients", self.clients, 1, MOST))
        for name, kind in (("client", LocalHP), ("server", ServerHP)):
            space = getattr(self, name)
            ok = isinstance(space, SearchSpace) and space.kind is kind
            allowed = f"a SearchSpace of {kind.__name__}: SearchSpace({{...}}, {kind.__name__})"
            require(ok, name, space, allowed)

    @property
    def distributions(self) -> list[Distribution]:
        """The distributions of the first client, of the second, ..., of the server."""
        each = list(self.client.distributions.values())
        return each * (self.clients or 1) + list(self.server.distributions.values())

    def at(self, point: Float[Tensor, " h"]) -> tuple[LocalHP, ServerHP]:
        """Return the configurations at a point of the unit cube, with an axis per distribution."""
        point, axes = as_float64(point, "point"), len(self.distributions)
        require(point.shape == (axes,), "shape of point", tuple(point.shape), f"({axes},)")
        N, h = self.clients or 1, len(self.client.distributions)
        c = self.client.from_unit(point[: N * h].view(N, h))
        return c if self.clients else c[0], self.server.from_unit(point[None, N * h :])[0]


_CLIENT: dict[str, Distribution] = {
    "lr": LogUniform(1e-4, 1),
    "momentum": Uniform(0, 1),
    "weight_decay": LogUniform(1e-5, 1e-1),
    "epochs": Integer(1, 5),
    "batch": PowerOfTwo(8, 128),
    "dropout": Uniform(0, 0.5),
    "mu": LogUniform(1e-5, 1),
}
_SERVER: dict[str, Distribution] = {
    "lr": LogUniform(0.1, 10),
    "momentum": Choice((0, 0.9)),
    "decay": OneMinusLogUniform(1e-4, 1e-2),
}

#: Khodak et al. (2021), appendix D.2, as in their code: the server's momentum is 0 or 0.9, and mu,
#: for which the paper gives no range, is FedProx's. Clipping sometimes puts a perturbed momentum at
#: 1, where clients are likely to diverge.
FEDEX = Spaces(SearchSpace(_CLIENT), SearchSpace(_SERVER, ServerHP))
#: The same for Shakespeare, with one epoch.
FEDEX_SHAKESPEARE = Spaces(SearchSpace({**_CLIENT, "epochs": Choice((1,))}), FEDEX.server)

_WORKSHOP = {**_CLIENT, "momentum": Choice((0, 0.9)), "dropout": Choice((0, 0.5))}
#: Khodak et al. (2020), appendix B.2: the server's rate is decay^(t-1); mu has no range there.
FEDEX_WORKSHOP = Spaces(
    SearchSpace(_WORKSHOP).without("epochs", "mu"),
    SearchSpace({"momentum": Choice((0, 0.9)), "decay": Choice((0.99, 0.9999))}, ServerHP),
)

#: Chen et al. (2023), section 4.1, as in their code: FedEx's ranges (and for Shakespeare as above).
FEDPOP = FEDEX
#: The same for a few large clients, as in their code: one epoch, and batches of 8 to 64.
FEDPOP_CROSS_SILO = Spaces(
    SearchSpace({**_CLIENT, "epochs": Choice((1,)), "batch": PowerOfTwo(8, 64)}), FEDEX.server
)

_CONTROL = {"control_lr": _SERVER["lr"], "control_decay": _SERVER["decay"]}
#: The same with SCAFFOLD, section 4.5: the control variate has a rate and a schedule of its own.
#: Their ranges are not given; these are those of the server's.
FEDPOP_SCAFFOLD = replace(FEDPOP, server=SearchSpace({**_SERVER, **_CONTROL}, ServerHP))

#: FedTune, section 4.1: 30 configurations for each client, in the printed order (of equally likely
#: ones FedTune takes the first); the server averages.
FEDTUNE = Spaces(SearchSpace({
    "lr": Choice((0.1, 0.05, 0.01, 0.005, 0.001)),
    "weight_decay": Choice((0, 0.1, 0.01, 0.001, 0.0001, 0.00001)),
}))  # fmt: skip

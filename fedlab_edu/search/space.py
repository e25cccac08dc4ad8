"""Search spaces: which hyperparameters are tuned, and the law of each; and the papers' own spaces.

Khodak et al. (2021), section 3 (local perturbation) and appendix D.2; Chen et al. (2023), section
3.4 (Evo).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Generic, NamedTuple, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor

from fedlab_edu.registry import storable
from fedlab_edu.search.distributions import (
    Choice,
    Distribution,
    Integer,
    LogUniform,
    OneMinusLogUniform,
    PowerOfTwo,
    Uniform,
)
from fedlab_edu.training.hparams import LocalHP, ServerHP
from fedlab_edu.validate import MOST, as_float64, check_shares, require, whole

_Table = TypeVar("_Table", LocalHP, ServerHP)


@storable
@dataclass(frozen=True)
class SearchSpace(Generic[_Table]):
    """The law of each hyperparameter that is tuned; the others keep their defaults.

    Args:
        laws: name -> law.
        kind: whose hyperparameters they are, the clients' (`LocalHP`) or the server's (`ServerHP`).

    Raises:
        ValueError: a name that ``kind`` does not have, or a law of values that it does not allow.
    """

    distributions: Mapping[str, Distribution]
    kind: type[_Table] = LocalHP  # type: ignore[assignment]

    def __post_init__(self) -> None:
        names = list(self.kind().columns)
        for name, law in self.distributions.items():
            require(name in names, "hyperparameter", name, f"one of {names}")
            require(isinstance(law, Distribution), name, law, "a law, such as Uniform(0, 1)")
            self.kind(**{name: law.points(4)})  # both ends, for clipping reaches them

    def without(self, *names: str) -> "SearchSpace[_Table]":
        """The same space, but some hyperparameters are not tuned."""
        for name in names:
            require(
                name in self.distributions,
                "hyperparameter",
                name,
                f"one of {[*self.distributions]}",
            )
        return replace(
            self, distributions={n: law for n, law in self.distributions.items() if n not in names}
        )

    def from_unit(self, u: Tensor) -> _Table:
        """The configurations at points (k, h) of the unit cube, h the number of laws."""
        columns = zip(self.distributions.items(), as_float64(u).unbind(1), strict=True)
        return self._table(self.kind(), len(u), {n: law.from_unit(c) for (n, law), c in columns})

    def sample(self, k: int, gen: torch.Generator) -> _Table:
        """k configurations, drawn independently."""
        return self.from_unit(self._draws(gen, k))

    def perturb(self, row: _Table, eps: float, k: int, gen: torch.Generator) -> _Table:
        """k configurations near a given one, drawn independently.

        Args:
            row: one configuration; what this space has no law for stays as it is there.
            eps: half the width, as a share of the range: with 0 all are equal to ``row``; with 1 a
                half of the draws is from the whole range, the other half clipped to its ends.

        Raises:
            ValueError: several rows, eps outside [0, 1], or a value that its law does not give.

        Source: Khodak et al. (2021), section 3, *Local perturbation*.
        """
        self._check(row, eps=eps)
        moves = zip(self.distributions.items(), self._draws(gen, k).unbind(1), strict=True)
        return self._table(
            row, k, {n: law.perturb(getattr(row, n), eps, u) for (n, law), u in moves}
        )

    def evo(self, row: _Table, eps: float, p_re: float, gen: torch.Generator) -> _Table:
        """A configuration that evolved from a given one: each value moves, or is drawn afresh.

        Raises:
            ValueError: several rows, eps or p_re outside [0, 1], or a value that its law does not
                give.

        Source: Chen et al. (2023), section 3.4, eq. (3).
        """
        self._check(row, eps=eps, p_re=p_re)
        moves = zip(self.distributions.items(), self._draws(gen, 3).unbind(1), strict=True)
        new = {n: law.evo(getattr(row, n), eps, p_re, u[:, None]) for (n, law), u in moves}
        return self._table(row, 1, new)[0]

    def grid(self, points: int = 3) -> _Table:
        """All combinations: of so many values of each continuous law, and of all options.

        Rows are in the order of nested loops, the last hyperparameter's the innermost.

        Raises:
            ValueError: more than a million of them.
        """
        values = [law.points(points) for law in self.distributions.values()]
        combinations = prod(len(each) for each in values)
        require(combinations <= MOST, "rows of the grid", combinations, f"at most {MOST:,}")
        rows = list(product(*values))
        columns = as_float64(rows).unbind(1) if self.distributions else ()
        return self._table(
            self.kind(), len(rows), dict(zip(self.distributions, columns, strict=True))
        )

    def sizes(self, points: int = 3) -> tuple[int, ...]:
        """How many values of each law a grid has, the last law's rows next to one another."""
        return tuple(len(law.points(points)) for law in self.distributions.values())

    def _draws(self, gen: torch.Generator, k: int) -> Tensor:
        require(k >= 1, "k", k, "at least 1")
        return torch.rand(k, len(self.distributions), generator=gen, dtype=torch.float64)

    def _check(self, row: _Table, **shares: float) -> None:
        require(len(row) == 1, "row", f"{len(row)} rows", "one configuration")
        check_shares(**shares)
        for name, law in self.distributions.items():
            law.check(getattr(row, name), name)

    def _table(self, row: _Table, k: int, new: Mapping[str, Tensor]) -> _Table:
        kept = {n: c.reshape(()).expand(k) for n, c in row.columns.items()}
        return self.kind(**{**kept, **new})


@storable
class Spaces(NamedTuple):
    """What is tuned: of the clients (c), and of the server (b)."""

    client: SearchSpace[LocalHP]
    server: SearchSpace[ServerHP] = SearchSpace({}, ServerHP)

    @property
    def distributions(self) -> list[Distribution]:
        """All of them, those of the clients first."""
        return [*self.client.distributions.values(), *self.server.distributions.values()]

    def at(self, point: Float[Tensor, " h"]) -> tuple[LocalHP, ServerHP]:
        """The configuration at a point of the unit cube, with an axis for each law."""
        of_client, of_server = point[None].split(
            [len(space.distributions) for space in self], dim=1
        )
        return self.client.from_unit(of_client)[0], self.server.from_unit(of_server)[0]


@storable
class PerClient(NamedTuple):
    """A configuration for each client of a federation, all from one space: N times its laws.

    Where the space has k points, there are k^N ways to give each client one: 30 candidates and 10
    clients make 6 * 10^14.

    Source: FedTune, section 4.1.1.
    """

    client: SearchSpace[LocalHP]
    clients: int
    server: SearchSpace[ServerHP] = SearchSpace({}, ServerHP)

    @property
    def distributions(self) -> list[Distribution]:
        """All of them: those of the first client, of the second, ..., of the server."""
        return [*self.client.distributions.values()] * self.clients + [
            *self.server.distributions.values()
        ]

    def at(self, point: Float[Tensor, " h"]) -> tuple[LocalHP, ServerHP]:
        """N rows for the clients, and one for the server, as in `Spaces.at`."""
        h = self.clients * len(self.client.distributions)
        of_clients = self.client.from_unit(point[:h].view(self.clients, -1))
        return of_clients, self.server.from_unit(point[None, h:])[0]


def check_spaces(spaces: object) -> None:
    """Refuse what is not a space of the clients and one of the server."""
    allowed = "Spaces(SearchSpace({...})), or PerClient(SearchSpace({...}), 10)"
    require(isinstance(spaces, Spaces | PerClient), "spaces", spaces, allowed)
    assert isinstance(spaces, Spaces | PerClient)
    if isinstance(spaces, PerClient):
        whole("clients", spaces.clients, 1, MOST)
        spaces = Spaces(spaces.client, spaces.server)
    for name, space, kind in zip(spaces._fields, spaces, (LocalHP, ServerHP), strict=True):
        ok = isinstance(space, SearchSpace) and space.kind is kind
        allowed = f"a SearchSpace of {kind.__name__}: SearchSpace({{...}}, {kind.__name__})"
        require(ok, name, space, allowed)


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

#: Khodak et al. (2021), appendix D.2, as their code has it: the server's momentum is 0 or 0.9, and
#: mu, for which the paper gives no range, is that of FedProx, the method of all runs. Clipping puts
#: the momentum of a perturbed configuration now and then at 1, where clients are likely to diverge.
FEDEX = Spaces(SearchSpace(_CLIENT), SearchSpace(_SERVER, ServerHP))

#: Their space for Shakespeare: one epoch.
FEDEX_SHAKESPEARE = Spaces(SearchSpace({**_CLIENT, "epochs": Choice((1,))}), FEDEX.server)

#: Khodak et al. (2020), appendix B.2: the server's rate is decay^(t-1), momentum and dropout have
#: two values each, decay and the others as above; it gives no range of mu.
FEDEX_WORKSHOP = Spaces(
    SearchSpace(
        {
            "lr": _CLIENT["lr"],
            "momentum": Choice((0, 0.9)),
            "weight_decay": _CLIENT["weight_decay"],
            "batch": _CLIENT["batch"],
            "dropout": Choice((0, 0.5)),
        }
    ),
    SearchSpace({"momentum": Choice((0, 0.9)), "decay": Choice((0.99, 0.9999))}, ServerHP),
)

#: Chen et al. (2023), section 4.1: the ranges of FedEx, as their code has them; one epoch for
#: Shakespeare as above.
FEDPOP = FEDEX

#: Their space where a few large clients take part: batches of 8 to 64.
FEDPOP_CROSS_SILO = Spaces(SearchSpace({**_CLIENT, "batch": PowerOfTwo(8, 64)}), FEDEX.server)

#: FedTune, section 4.1: 30 candidates for each client; the server averages.
FEDTUNE = Spaces(
    SearchSpace(
        {
            "lr": Choice((0.1, 0.05, 0.01, 0.005, 0.001)),
            "weight_decay": Choice((0, 0.00001, 0.0001, 0.001, 0.01, 0.1)),
        }
    )
)

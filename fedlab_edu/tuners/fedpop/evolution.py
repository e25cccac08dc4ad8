"""How FedPop changes a configuration: eqs. (3) and (4) of Chen et al. (2023), for whole tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor

from fedlab_edu.registry import storable
from fedlab_edu.search.distributions import Choice, Distribution
from fedlab_edu.search.space import SearchSpace
from fedlab_edu.tensors import as_float64
from fedlab_edu.training.hparams import LocalHP, ServerHP
from fedlab_edu.tuners.fedpop.rules import anneal, ranked
from fedlab_edu.validate import check_shares, number, require, whole

_Table = TypeVar("_Table", LocalHP, ServerHP)
_LAST = 1 - 2.0**-53  # the largest draw in [0, 1)


def evolve(
    space: SearchSpace[_Table],
    rows: _Table,
    eps: float,
    p_re: float,
    u: Float[Tensor, "3 n h"],
    coin: Literal["each", "vector"] = "each",
) -> _Table:
    """Evolve each of n rows with given draws; `Evolution.evo` draws them.

    Args:
        u: coins, new draws and moves, in [0, 1), for n rows and the h distributions of the space.
        coin: with probability p_re, draw "each" hyperparameter anew by its own coin, as printed, or
            the whole "vector" by the coin of its first, as in the authors' code (which draws a
            client's new vector near the base).

    Raises:
        ValueError: an unknown coin; eps or p_re outside [0, 1]; a value outside its distribution;
            draws of another shape.

    Source: Chen et al. (2023), eq. (3).
    """
    require(coin in ("each", "vector"), "coin", coin, "'each', 'vector'")
    shape, wanted = tuple(u.shape), (3, len(rows), len(space.distributions))
    require(shape == wanted, "shape of u", shape, str(wanted))
    check_shares(eps=eps, p_re=p_re)
    for name, distribution in space.distributions.items():
        distribution.check(getattr(rows, name), name)
    kept = {name: column.reshape(-1) for name, column in rows.columns.items()}
    return space.kind(**{**kept, **_evolved(space, rows, eps, p_re, as_float64(u), coin)})


def _evolved(
    space: SearchSpace[_Table], rows: _Table, eps: float, p_re: float, u: Tensor, coin: str
) -> dict[str, Tensor]:
    """Return the tuned columns, without checks: rows come from the space."""
    new = {}
    for j, (name, distribution) in enumerate(space.distributions.items()):
        draws = torch.stack([u[0, :, 0 if coin == "vector" else j], u[1, :, j], u[2, :, j]])
        new[name] = distribution.evolved(
            as_float64(getattr(rows, name).reshape(-1)), eps, p_re, draws
        )
    return new


def box_corners(space: SearchSpace[_Table], centre: _Table, eps: float) -> _Table:
    """Return the corners of a box, two rows: the least and the greatest `perturb` of a centre.

    They are ``(b - a) eps`` to either side in the distribution's scale, within its range. (The
    paper's ball has one radius for all hyperparameters, whatever their units.)

    Source: Chen et al. (2023), section 3.4, *FedPop-L for Intra-configuration Tuning*.
    """
    u = as_float64([0.0, _LAST])
    new = {
        name: distribution.perturb(getattr(centre, name), eps, u)
        for name, distribution in space.distributions.items()
    }
    kept = {name: column.reshape(-1)[[0, 0]] for name, column in centre.columns.items()}
    return space.kind(**{**kept, **new})


def clip_to_box(distribution: Distribution, values: Tensor, pair: Tensor) -> Tensor:
    """Clip values (n,) to a pair of `box_corners`; options, in the order of their list."""
    if not isinstance(distribution, Choice):
        return as_float64(values).clamp(pair.min(), pair.max())
    options = as_float64(distribution.options)
    first, last = (int((options == end).nonzero()[0, 0]) for end in pair)
    places = (as_float64(values)[:, None] == options).long().argmax(-1)
    return options[places.clamp(first, last)]


@storable
@dataclass(frozen=True)
class Evolution:
    """The rules that FedPop-G and FedPop-L share.

    Fields:
        R: R_c, the rounds over which eps and p_re fall to 0.
        eps: the largest first move of a value, as a share of its range.
        p_re: the first probability of a new draw.
        rho: the worst 1 / rho copy the best 1 / rho; 10/3 in the authors' code.
        gamma: gamma_g of eq. (5), which the paper does not give; 0 takes the last round alone.
        coin: see `evolve`.

    Raises:
        ValueError: a value that is not allowed.

    Source: Chen et al. (2023), eqs. (3) to (5).
    """

    R: int
    eps: float = 0.1
    p_re: float = 0.1
    rho: float = 3.0
    gamma: float = 0.9
    coin: Literal["each", "vector"] = "each"

    def __post_init__(self) -> None:
        object.__setattr__(self, "R", whole("R", self.R, 1))
        check_shares(eps=self.eps, p_re=self.p_re, gamma=self.gamma)
        ranked([0.0], self.rho)
        require(self.coin in ("each", "vector"), "coin", self.coin, "'each', 'vector'")
        for name in ("eps", "p_re", "rho", "gamma"):
            object.__setattr__(self, name, number(getattr(self, name)))

    def evo(self, space: SearchSpace[_Table], rows: _Table, r: int, gen: torch.Generator) -> _Table:
        """Evolve rows with eps and p_re of round r, and draws from ``gen``."""
        return evolve(space, rows, *self._now(r), self._draws(space, len(rows), gen), self.coin)

    def evo_in(
        self,
        corners: _Table,
        space: SearchSpace[_Table],
        table: _Table,
        pairs: Sequence[tuple[int, int]],
        r: int,
        gen: torch.Generator,
    ) -> _Table:
        """Return the table with each child of a pair replaced by `evo` of its parent, clipped.

        Rows come from the space, and are not checked again.
        """
        bottom, top = (list(places) for places in zip(*pairs, strict=True))
        source = torch.arange(len(table))
        source[bottom] = torch.tensor(top)
        columns, rows = table[source].columns, table[top]
        u = self._draws(space, len(top), gen)
        for name, values in _evolved(space, rows, *self._now(r), u, self.coin).items():
            new = clip_to_box(space.distributions[name], values, getattr(corners, name))
            columns[name][bottom] = new.to(columns[name].dtype)
        return space.kind(**columns)

    def _now(self, r: int) -> tuple[float, float]:
        """Return eps and p_re of round r."""
        return anneal(self.eps, r, self.R), anneal(self.p_re, r, self.R)

    @staticmethod
    def _draws(space: SearchSpace[_Table], n: int, gen: torch.Generator) -> Tensor:
        return torch.rand(3, n, len(space.distributions), generator=gen, dtype=torch.float64)

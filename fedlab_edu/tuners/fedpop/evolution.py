"""Evolution of configurations in FedPop: eqs. (3) and (4) of Chen et al. (2023), by tables."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor

from fedlab_edu.search.distributions import Choice, Distribution
from fedlab_edu.search.space import SearchSpace
from fedlab_edu.tensors import as_float64
from fedlab_edu.training.hparams import LocalHP, ServerHP
from fedlab_edu.tuners.fedpop.rules import anneal, at_least_1
from fedlab_edu.validate import Checked, require, share, whole

_Table = TypeVar("_Table", LocalHP, ServerHP)
_LAST = 1 - 2.0**-53  # the largest draw in [0, 1)


def evolve(
    space: SearchSpace[_Table], rows: _Table, eps: float, p_re: float, u: Float[Tensor, "3 n h"],
    coin: Literal["each", "vector"] = "each",
) -> _Table:  # fmt: skip
    """Evolve each of n rows with given draws; `Evolution.evo` draws them.

    Args:
        u: coins, new draws and moves, in [0, 1), for n rows and the h distributions of the space.
        coin: with probability p_re, draw "each" hyperparameter afresh by its own coin, as printed,
            or the whole "vector" by the coin of its first, as in the authors' code (which draws a
            client's new vector near the base).

    Source: Chen et al. (2023), eq. (3).
    """
    require(coin in ("each", "vector"), "coin", coin, "'each', 'vector'")
    shape, wanted = tuple(u.shape), (3, len(rows), len(space.distributions))
    require(shape == wanted, "shape of u", shape, str(wanted))
    share("eps", eps)
    share("p_re", p_re)
    columns = {name: column.reshape(-1) for name, column in rows.columns.items()}
    u = torch.cat([u[:1, :, :1].expand_as(u[:1]), u[1:]]) if coin == "vector" else u
    draws = zip(*(part.unbind(1) for part in u), strict=True)
    for (name, distribution), drawn in zip(space.distributions.items(), draws, strict=True):
        columns[name] = distribution.evo(columns[name], eps, p_re, drawn, name)
    return rows.with_columns(columns)


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
    kept = {name: column.repeat(2) for name, column in centre.columns.items()}
    return centre.with_columns({**kept, **new})


def clip_to_box(distribution: Distribution, values: Tensor, pair: Tensor) -> Tensor:
    """Clip values (n,) to a pair of `box_corners`; options, in the order of their list."""
    if not isinstance(distribution, Choice):
        return as_float64(values).clamp(pair.min(), pair.max())
    options, known = distribution.options, [*pair.tolist(), *values.tolist()]
    unknown = [x for x in known if x not in options]
    require(not unknown, "value", unknown, f"one of {list(options)}")
    first, last, *places = map(options.index, known)
    return as_float64([options[min(max(place, first), last)] for place in places])


@dataclass(frozen=True)
class Evolution(Checked):
    """The rules that FedPop-G and FedPop-L share.

    Fields:
        R: R_c, the rounds over which eps and p_re fall to 0.
        eps: the largest first move of a value, as a share of its range.
        p_re: the first probability of a new draw.
        rho: the worst 1 / rho copy the best 1 / rho; 10/3 in the authors' code.
        gamma: gamma_g of eq. (5), which the paper does not give; 0 takes the last round alone.
        coin: see `evolve`.
    """

    R: Annotated[int, partial(whole, least=1)]
    eps: Annotated[float, share] = 0.1
    p_re: Annotated[float, share] = 0.1
    rho: Annotated[float, at_least_1] = 3.0
    gamma: Annotated[float, share] = 0.9
    coin: Literal["each", "vector"] = "each"

    def evo(self, space: SearchSpace[_Table], rows: _Table, r: int, gen: torch.Generator) -> _Table:
        """Evolve rows with eps and p_re of round r, and draws from ``gen``."""
        u = torch.rand(3, len(rows), len(space.distributions), generator=gen, dtype=torch.float64)
        eps, p_re = (anneal(x0, r, self.R) for x0 in (self.eps, self.p_re))
        return evolve(space, rows, eps, p_re, u, self.coin)

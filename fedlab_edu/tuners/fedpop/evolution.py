"""Evolution of configurations in FedPop: eqs. (3) and (4) of Chen et al. (2023), by tables."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal, TypeVar

import torch
from torch import Tensor

from fedlab_edu.search.distributions import Choice, Distribution
from fedlab_edu.search.space import SearchSpace
from fedlab_edu.tensors import as_float64
from fedlab_edu.training.hparams import LocalHP, ServerHP
from fedlab_edu.tuners.fedpop.rules import anneal, at_least_1
from fedlab_edu.validate import Checked, share, whole

_Table = TypeVar("_Table", LocalHP, ServerHP)
_LAST = 1 - 2.0**-53  # the largest draw in [0, 1)


def box_corners(space: SearchSpace[_Table], centre: _Table, eps: float) -> _Table:
    """Return the corners of a box, two rows: the least and the greatest `perturb` of a centre.

    They are ``(b - a) eps`` to either side in the distribution's scale, within its range. (The
    paper's ball has one radius for all hyperparameters, whatever their units.)

    Source: Chen et al. (2023), section 3.4, *FedPop-L for Intra-configuration Tuning*.
    """
    ends = as_float64([[0.0], [_LAST]]).expand(2, len(space.distributions))
    return space.perturb(centre, eps, 2, ends)


def clip_to_box(distribution: Distribution, values: Tensor, pair: Tensor) -> Tensor:
    """Clip values (n,) to a pair of `box_corners`; options, in the order of their list."""
    if not isinstance(distribution, Choice):
        return as_float64(values).clamp(*sorted(pair.tolist()))
    first, last = distribution.check(pair).tolist()
    return as_float64(distribution.options)[distribution.check(values).clamp(first, last)]


@dataclass(frozen=True)
class Evolution(Checked):
    """The rules that FedPop-G and FedPop-L share.

    Fields:
        R: R_c, the rounds over which eps and p_re fall to 0.
        eps: the largest first move of a value, as a share of its range.
        p_re: the first probability of a new draw.
        rho: the worst 1 / rho copy the best 1 / rho; 10/3 in the authors' code.
        gamma: gamma_g of eq. (5), which the paper does not give; 0 takes the last round alone.
        coin: see `SearchSpace.evo`.
    """

    R: Annotated[int, partial(whole, least=1)]
    eps: Annotated[float, share] = 0.1
    p_re: Annotated[float, share] = 0.1
    rho: Annotated[float, at_least_1] = 3.0
    gamma: Annotated[float, share] = 0.9
    coin: Literal["each", "vector"] = "each"

    def evo(self, space: SearchSpace[_Table], rows: _Table, r: int, gen: torch.Generator) -> _Table:
        """Evolve rows with eps and p_re of round r, and draws from ``gen``."""
        eps, p_re = (anneal(x0, r, self.R) for x0 in (self.eps, self.p_re))
        return space.evo(rows, eps, p_re, gen, self.coin)

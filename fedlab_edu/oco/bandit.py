"""Exponentiated gradient over k arms, with bandit or full-information feedback.

The arms are step sizes, with one draw for each task. Shalev-Shwartz (2011), section 4.
"""

from math import log
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from fedlab_edu.tensors import as_float64, as_indices
from fedlab_edu.validate import not_negative, require

_HUGE = 1e300  # keeps log weights finite


class Bandit(NamedTuple):
    """Arms (..., tau), and p (..., tau, k), the probabilities with which they were drawn."""

    arms: Int[Tensor, "... tau"]
    p: Float[Tensor, "... tau k"]


def bandit_eg(loss_table: Any, eta: float, arms: Any = None, *, draws: Any = None) -> Bandit:
    """Draw one arm for each task by bandit exponentiated gradient, from a uniform p.

    ``p_a <- p_a exp(-eta loss_a / p_a)``, normalised. It is FedEx with one client a round, a
    constant step size, and lambda = 0.

    The table may be `LossTable`'s ``total``, which is never below 0, its ``regret``, or
    ``total - lambda``. A loss below 0 makes its arm likelier, and most so an unlikely arm: p may
    then jump to an arm that is not the best, and stay there.

    Args:
        loss_table: (..., tau, k), finite; only the losses of the chosen arms are read.
        eta: the step size, see `bandit_eta`.
        arms: (..., tau), the arms, none of probability 0; or
        draws: (..., tau), in [0, 1), of which arm a has a part of length p_a. Both may have more
            leading axes than the table, which is then repeated.
    """
    table = _checked(loss_table, eta)
    require((arms is None) != (draws is None), "arms, draws", (arms, draws), "one of them")
    k = table.shape[-1]
    if arms is None:
        u = check_draws(draws)
        table = fitting("draws", u, table)
        chosen = torch.empty(u.shape, dtype=torch.long)
    else:
        chosen = as_indices("arms", arms, k)
        table = fitting("arms", chosen, table)
    played = torch.empty(table.shape, dtype=table.dtype)
    z = torch.full((*table.shape[:-2], k), -log(k), dtype=table.dtype)
    for t in range(table.shape[-2]):
        played[..., t, :] = p = z.exp()
        if arms is None:
            chosen[..., t] = draw(p, u[..., t])
        z = move(z, p, chosen[..., t], table[..., t, :], eta)
    chance = played.gather(-1, chosen[..., None])
    require((chance > 0).all(), "arms", chosen, "those of probabilities above 0")
    return Bandit(chosen, played)


def hedge(loss_table: Any, eta: float) -> Float[Tensor, "... tau k"]:
    """Return p for a loss_table, both (..., tau, k): ``p_t ~ exp(-eta sum_(s < t) loss_s)``.

    It has full information. The expected loss of task t is ``<p_t, loss_t>``.

    Source: Cesa-Bianchi and Lugosi (2006), section 2.2; Khodak et al. (2021), end of section 4.
    """
    table = _checked(loss_table, eta)
    before = torch.zeros_like(table)
    before[..., 1:, :] = table[..., :-1, :].cumsum(-2)
    # subtracting the minimum changes nothing, and prevents overflow
    return (-eta * (before - before.amin(-1, keepdim=True))).softmax(-1)


def draw(p: Tensor, u: Tensor) -> Int[Tensor, "..."]:
    """Return the arm at each draw u (...) in [0, 1), given p (..., k); none of probability 0."""
    ends = p.cumsum(-1)
    # In float64 u times the sum is below the sum, so some end is above it.
    return (ends <= u[..., None] * ends[..., -1:]).sum(-1)


def move(z: Tensor, p: Tensor, arm: Tensor, losses: Tensor, eta: float) -> Float[Tensor, "... k"]:
    """Return log p (..., k) after the loss of arm (...), given z = log p, p and losses (..., k)."""
    arm = arm[..., None]
    step = (eta * losses.gather(-1, arm) / p.gather(-1, arm)).clamp(-_HUGE, _HUGE)
    return z.scatter_add(-1, arm, -step).log_softmax(-1)


def check_draws(draws: Any) -> Float[Tensor, "..."]:
    """Return the draws as float64; refuse numbers outside [0, 1)."""
    u = as_float64(draws, "draws")
    require(((u >= 0) & (u < 1)).all(), "draws", u, "from 0 to below 1")
    return u


def fitting(name: str, chosen: Tensor, table: Tensor) -> Float[Tensor, "... tau k"]:
    """Return the table (..., tau, k), repeated to match ``chosen`` (..., tau)."""
    seen, tasks = tuple(chosen.shape), tuple(table.shape[:-1])
    try:
        ok = torch.broadcast_shapes(seen, tasks) == seen and seen[-1] == tasks[-1]
    except RuntimeError:
        ok = False
    require(ok, f"shape of {name}", seen, f"(..., {', '.join(map(str, tasks))})")
    return table.expand(*seen, table.shape[-1])


def _checked(loss_table: Any, eta: float) -> Tensor:
    table = as_float64(loss_table, "loss_table")
    shape = tuple(table.shape)
    require(len(shape) >= 2 and table.numel(), "shape of loss_table", shape, "(..., tau, k)")
    require(table.abs().sum(-2).isfinite().all(), "loss_table", table, "numbers of finite sums")
    not_negative("eta", eta)
    return table

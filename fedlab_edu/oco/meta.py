"""A sequence of tasks, with a learnt start and a learnt step size.

The start is the mean of the optima seen so far. A task tries one step size, and bandit
exponentiated gradient learns from its losses; with full information it tries all.
Khodak et al. (2021), section 4 and appendix A.
"""

from math import log
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from fedlab_edu.oco.bandit import Bandit, check_draws, draw, fitting, move
from fedlab_edu.oco.losses import Losses
from fedlab_edu.oco.ogd import ogd, project
from fedlab_edu.oco.optimum import best_fixed
from fedlab_edu.tensors import as_float64, as_indices
from fedlab_edu.validate import not_negative, require

_CHUNK = 25_000  # coordinates of points processed at once, which fit in the cache


class LossTable(NamedTuple):
    """The losses of each of k step sizes on each of tau tasks.

    Fields:
        total: (..., tau, k), the sum of the m losses.
        start: (..., tau, d), the points w_t from which the tasks start.
        optimum: (..., tau, d), the best fixed points w_t*.
        least: (..., tau), the sum of the losses at w_t*.
    """

    total: Float[Tensor, "... tau k"]
    start: Float[Tensor, "... tau d"]
    optimum: Float[Tensor, "... tau d"]
    least: Float[Tensor, "... tau"]

    @property
    def regret(self) -> Float[Tensor, "... tau k"]:
        """``total - least``; it may be below 0, because descent moves and w_t* does not."""
        return self.total - self.least[..., None]


class Practice(NamedTuple):
    """The result of `last_iterates`.

    Fields:
        total: (..., tau), the sums of the losses.
        start: (..., tau, d), the points from which the tasks started.
        bandit: the step sizes used.
    """

    total: Float[Tensor, "... tau"]
    start: Float[Tensor, "... tau d"]
    bandit: Bandit


def starts(optima: Any, w1: Any) -> Float[Tensor, "... tau d"]:
    """Return w1 and ``w_(t+1) = (1 - 1/t) w_t + w_t* / t``, the mean of w_1*, ..., w_t*.

    Args:
        optima: (..., tau, d), the best fixed points w_t*.
        w1: (d,) or (..., d).

    Source: Khodak et al. (2021), Theorem 4.1.
    """
    optima, w1 = as_float64(optima, "optima"), as_float64(w1, "w1")
    ok = optima.ndim >= 2 and optima.numel()
    require(ok, "shape of optima", tuple(optima.shape), "(..., tau, d), none of them 0")
    tau, d = optima.shape[-2:]
    count = torch.arange(1, tau, dtype=optima.dtype)[:, None]
    require(w1.shape[-1:] == (d,), "shape of w1", tuple(w1.shape), f"(..., {d})")
    first = w1.expand(*optima.shape[:-2], d)[..., None, :]
    return torch.cat([first, optima[..., :-1, :].cumsum(-2) / count], -2)


def loss_table(losses: Losses, w1: Any, steps: Any, radius: float) -> LossTable:
    """Run all tasks with all step sizes at once.

    This is possible, and deterministic, because starts do not depend on the step sizes tried.

    Args:
        losses: z (..., tau, m, d).
        w1: (d,), the start of the first task, projected onto the ball.
        steps: (k,).
        radius: of the ball.
    """
    first, steps = _checked(losses, w1, steps, radius)
    *batch, tau, m, d = losses.z.shape
    z = losses.z.reshape(-1, m, d)
    rows = max(1, _CHUNK // (len(steps) * d))
    parts = [Losses(losses.kind, part) for part in z.split(rows)]
    found = [best_fixed(part, radius) for part in parts]
    optimum = torch.cat([x.w for x in found]).view(*batch, tau, d)
    least = torch.cat([x.value for x in found]).view(*batch, tau)
    start = starts(optimum, first)
    total = [
        ogd(Losses(part.kind, part.z[:, None]), w[:, None], steps, radius, keep=False).total
        for part, w in zip(parts, start.reshape(-1, d).split(rows), strict=True)
    ]
    return LossTable(torch.cat(total).view(*batch, tau, -1), start, optimum, least)


def last_iterates(
    losses: Losses, w1: Any, steps: Any, radius: float, eta: float, draws: Any
) -> Practice:
    """Run the tasks like Reptile and FedEx, with ``w_(t+1) = (1 - 1/t) w_t + last_t / t``.

    It uses the last iterates and needs no optimum. Starts depend on the arms, so the theorem does
    not cover it, and tasks run one after the other; repetitions run at once.

    Args:
        losses, w1, steps, radius: see `loss_table`.
        eta: the step size of the bandit, which sees the sum of a task's losses.
        draws: (..., tau), see `bandit_eg`.
    """
    first, steps = _checked(losses, w1, steps, radius)
    not_negative("eta", eta)
    *batch, tau, _, d = losses.z.shape
    u = check_draws(draws)
    require(u.shape == (*batch, tau), "shape of draws", tuple(u.shape), str((*batch, tau)))
    w = first.expand(*batch, d)
    z = torch.full((*batch, len(steps)), -log(len(steps)), dtype=w.dtype)
    seen: list[tuple[Tensor, ...]] = []
    for t in range(tau):
        p = z.exp()
        arm = draw(p, u[..., t])
        task = Losses(losses.kind, losses.z[..., t, :, :])
        done = ogd(task, w, steps[arm], radius, keep=False)
        z = move(z, p, arm, done.total[..., None].expand_as(p), eta)
        seen.append((done.total, w, arm, p))
        w = w + (done.last - w) / (t + 1)
    total, start, arms, played = zip(*seen, strict=True)
    bandit = Bandit(torch.stack(arms, -1), torch.stack(played, -2))
    return Practice(torch.stack(total, -1), torch.stack(start, -2), bandit)


def task_averaged_regret(table: LossTable, arms: Any) -> Float[Tensor, "..."]:
    """Return ``1/tau sum_t (total_t[arm_t] - least_t)`` for arms (..., tau).

    Source: Khodak et al. (2021), eq. (8).
    """
    arms = as_indices("arms", arms, table.total.shape[-1])
    return fitting("arms", arms, table.regret).gather(-1, arms[..., None])[..., 0].mean(-1)


def _checked(losses: Losses, w1: Any, steps: Any, radius: float) -> tuple[Tensor, Tensor]:
    """Return the first start, projected onto the ball, and the step sizes."""
    shape, w1, steps = tuple(losses.z.shape), as_float64(w1, "w1"), as_float64(steps, "steps")
    require(len(shape) >= 3, "shape of z", shape, "(..., tau, m, d)")
    require(w1.shape == shape[-1:], "shape of w1", tuple(w1.shape), str(shape[-1:]))
    require(steps.ndim == 1 and len(steps), "shape of steps", tuple(steps.shape), "(k,), not 0")
    return project(w1, radius), steps

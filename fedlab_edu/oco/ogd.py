"""Projected online gradient descent: play, suffer, step, project.

It equals one epoch of SGD with minibatches of one example. Zinkevich (2003); Shalev-Shwartz (2011),
section 2.
"""

from math import inf
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from fedlab_edu.oco.losses import Losses
from fedlab_edu.tensors import as_float64
from fedlab_edu.validate import positive, require


class Played(NamedTuple):
    """The result of online gradient descent on each task of a batch.

    Fields:
        total: (...), the sum of the losses suffered.
        last: (..., d), the point after the last step, which is not played.
        trajectory: (..., m, d), the points played; None if they were not kept.
    """

    total: Float[Tensor, "..."]
    last: Float[Tensor, "... d"]
    trajectory: Float[Tensor, "... m d"] | None


def project(w: Any, radius: float) -> Float[Tensor, "... d"]:
    """Return the nearest point of the ball around 0, ``w min(1, radius / |w|)``, for w (..., d)."""
    w, radius = as_float64(w, "w"), positive("radius", radius)
    require(w.numel(), "shape of w", tuple(w.shape), "(..., d), none of them 0")
    square = w.square().sum(-1, keepdim=True)
    longest = float(square.max())
    if longest <= radius * radius:  # ** raises where it overflows
        return w  # all are inside, as is common
    require(longest < inf, "largest |w|^2", longest, "a finite number: take smaller steps")
    return w * (radius / square.sqrt()).clamp(max=1)  # radius / 0 is +inf, and becomes 1


def ogd(losses: Losses, w0: Any, step: Any, radius: float, *, keep: bool = True) -> Played:
    """Run ``w_(i+1) = Proj(w_i - c g_i)``, where g_i is a subgradient of the loss i at w_i.

    Leading axes of tasks, starts and step sizes are broadcast: k step sizes on each of T tasks are
    z (T, 1, m, d), w0 (T, 1, d) and step (k,).

    Args:
        losses: z (..., m, d).
        w0: (..., d), the first points, projected onto the ball.
        step: (...), the step sizes c.
        radius: of the ball around 0.
        keep: whether to return the trajectory, which takes most of the memory.
    """
    require(isinstance(losses, Losses), "losses", type(losses).__name__, "Losses(kind, z)")
    r, w0, c = positive("radius", radius), as_float64(w0, "w0"), as_float64(step, "step")
    m, d = losses.z.shape[-2:]
    require(w0.isfinite().all(), "w0", w0, "finite numbers")
    require(w0.shape[-1:] == (d,), "shape of w0", tuple(w0.shape), f"(..., {d})")
    require(((c > 0) & c.isfinite()).all(), "step", c, "finite numbers above 0")
    shapes = losses.z.shape[:-2], w0.shape[:-1], c.shape
    try:
        batch = torch.broadcast_shapes(*shapes)
    except RuntimeError:
        batch = None
    require(batch is not None, "leading axes of z, w0, step", shapes, "that can be broadcast")
    # With the batch last in memory, sums over few coordinates are fast.
    z = losses.z.movedim((-2, -1), (0, 1)).contiguous().movedim(1, -1)
    w = w0.expand(*batch, d).movedim(-1, 0).contiguous().movedim(0, -1)
    w, c = project(w, r), c[..., None]
    total, trajectory = torch.zeros(w.shape[:-1], dtype=w.dtype), []
    for i in range(m):
        if keep:
            trajectory.append(w)
        value, g = losses.loss(w, z[i])  # play and suffer
        total += value
        w = project(w - c * g, r)  # step and project
    return Played(total, w, torch.stack(trajectory, -2) if keep else None)

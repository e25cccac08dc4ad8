"""The best fixed point of a task, with which regret compares: in closed form, or with a proof.

For hinge and logistic losses there is no formula. They are minimised by Newton's method, with a
barrier that keeps w inside the ball, and a bound from below says how far the result can be from the
minimum. Boyd and Vandenberghe (2004), chapter 11.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from fedlab_edu.oco.losses import Losses, check_radius
from fedlab_edu.oco.ogd import project

GAP = 1e-9  # by which a sum of m losses may miss its minimum
_STEPS = 500


class Optimum(NamedTuple):
    """For each task of a batch.

    Fields:
        w: (..., d), a minimiser of the sum of its m losses over the ball.
        value: (...), that sum at w.
        gap: (...), no less than the distance of the value from the minimum; 0 for closed forms.
    """

    w: Float[Tensor, "... d"]
    value: Float[Tensor, "..."]
    gap: Float[Tensor, "..."]


def best_fixed(losses: Losses, radius: float) -> Optimum:
    """The best single point in hindsight, for each task: ``argmin_w sum_i loss_i(w)`` in the ball.

    - quadratic: the mean of z, projected
    - absolute: the lower median of z, projected; of equal minimisers it is the smallest
    - hinge, logistic: a minimiser up to a gap of 1e-9, see `certificate`

    Raises:
        ValueError: a radius that is not above 0.
        ArithmeticError: a gap of 1e-9 was not reached: sums of losses are too large for it.
    """
    check_radius(radius)
    if losses.kind == "quadratic":
        w = project(losses.z.mean(-2), radius)
    elif losses.kind == "absolute":
        w = project(losses.z.median(-2).values, radius)
    else:
        return _solved(losses, radius)
    value = losses.total(w)
    return Optimum(w, value, torch.zeros_like(value))


def certificate(losses: Losses, w: Tensor, a: Tensor, radius: float) -> Float[Tensor, "..."]:
    """How far ``sum_i loss_i(w)`` can be above its minimum over the ball, by weak duality.

    ``max(0, 1 - s) >= a (1 - s)`` and ``ln(1 + exp(-s)) >= H(a) - a s`` for every a from 0 to 1,
    with the entropy ``H(a) = -a ln a - (1 - a) ln(1 - a)``; and ``<v, z> <= radius |z|``. So no
    point of the ball has a sum below

    - hinge: ``sum_i a_i - radius |sum_i a_i z_i|``
    - logistic: ``sum_i H(a_i) - radius |sum_i a_i z_i|``

    Args:
        losses: hinge or logistic, z (..., m, d).
        w: (..., d), in the ball.
        a: (..., m), from 0 to 1.

    Source: Boyd and Vandenberghe (2004), section 5.1.
    """
    gain = a if losses.kind == "hinge" else -torch.xlogy(a, a) - torch.xlogy(1 - a, 1 - a)
    pull = (a[..., None] * losses.z).sum(-2).square().sum(-1).sqrt()
    return losses.total(w) - (gain.sum(-1) - radius * pull)


def _solved(losses: Losses, radius: float) -> Optimum:
    """Newton's method on ``sum_i loss_i(w) - mu ln(radius^2 - |w|^2)`` for ever smaller mu."""
    z = losses.z.flatten(0, -3) if losses.z.ndim > 2 else losses.z[None]
    tasks, m, d = z.shape
    flat = Losses(losses.kind, z)
    w, gap = torch.zeros(tasks, d, dtype=z.dtype), torch.full((tasks,), torch.inf, dtype=z.dtype)
    best, mu = w.clone(), torch.ones(tasks, 1, dtype=z.dtype)
    for _ in range(_STEPS):
        todo = (gap > GAP).nonzero()[:, 0]
        if not len(todo):
            break
        some = Losses(losses.kind, z[todo])
        w[todo], a, near = _newton(some, w[todo], mu[todo], radius)
        found = certificate(some, w[todo], a, radius)
        better = todo[found < gap[todo]]
        best[better], gap[better] = w[better], found[found < gap[todo]]
        # near the minimum for this mu; smaller ones than that for the gap are of no use
        floor = GAP / (8 * m + 8)
        mu[todo] = torch.where(near, (0.1 * mu[todo]).clamp(min=floor), mu[todo])
    if (gap > GAP).any():
        raise ArithmeticError(f"the best fixed point is known up to {gap.max():.1e} only")
    shape = losses.z.shape[:-2]
    return Optimum(best.view(*shape, d), flat.total(best).view(shape), gap.view(shape))


def _newton(losses: Losses, w: Tensor, mu: Tensor, radius: float) -> tuple[Tensor, Tensor, Tensor]:
    """One damped step; the new w (T, d), the a (T, m) of `certificate` there, and whether w was
    near the minimum for mu (T, 1)."""
    z, d = losses.z, w.shape[-1]
    a, curvature = _slopes(losses, w, mu)
    room = radius**2 - w.square().sum(-1, keepdim=True)
    g = 2 * mu * w / room - (a[..., None] * z).sum(-2)
    ball = 2 * torch.eye(d, dtype=w.dtype) / room[..., None]
    ball = ball + 4 * w[:, :, None] * w[:, None, :] / room[..., None] ** 2
    hessian = mu[..., None] * ball + z.mT @ (curvature[..., None] * z)
    # In directions in which no loss bends, rounding errors would be divided by almost 0.
    ridge = 1e-15 * hessian.diagonal(dim1=1, dim2=2).amax(-1)[:, None, None]
    hessian = hessian + ridge * torch.eye(d, dtype=w.dtype)
    move = torch.linalg.solve_ex(hessian, -g[..., None])[0][..., 0]
    along = (z @ move[..., None])[..., 0]
    # These lengths say how far the curvatures may be trusted, and so which part of the step is
    # sure to lead down: for self-concordant functions, and for those like the logistic loss.
    inside = torch.einsum("ti,tij,tj->t", move, ball, move).clamp(min=0).sqrt()
    if losses.kind == "hinge":
        reach = ((curvature * along.square()).sum(-1) / mu[:, 0]).sqrt()
    else:
        reach = along.abs().amax(-1)
    length = (inside + reach)[:, None]
    # Not the slopes at the new w: those of a hinge change from 0 to 1 within some mu, and s is not
    # known that well. These add up to what the ball's barrier balances.
    a = (a - curvature * along).clamp(0, 1)
    return w + move / (1 + length), a, length < 0.3


def _slopes(losses: Losses, w: Tensor, mu: Tensor) -> tuple[Tensor, Tensor]:
    """For each example a, minus the derivative of its loss by the margin <w, z>, and the second.

    The hinge is rounded off by two barriers of weight mu: with ``s = 1 - <w, z>`` it is the minimum
    of ``p - mu ln p - mu ln(p - s)`` over p.
    """
    margin = (losses.z @ w[..., None])[..., 0]
    if losses.kind == "logistic":
        a = torch.sigmoid(-margin)
        return a, a * torch.sigmoid(margin)
    s = 1 - margin
    root = torch.hypot(s, 2 * mu)
    return 0.5 + s / (2 * (root + 2 * mu)), mu / (root * (root + 2 * mu))

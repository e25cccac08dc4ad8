"""The best fixed point of a task, for its regret: in closed form, or with a certificate.

Newton's method minimises hinge and logistic losses, with a barrier that keeps w inside the ball. A
lower bound certifies the distance to the minimum. Boyd and Vandenberghe (2004), chapter 11.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from fedlab_edu.oco.losses import Losses
from fedlab_edu.oco.ogd import project
from fedlab_edu.validate import positive

GAP = 1e-9  # the largest allowed error of a minimum
_STEPS = 500


class Optimum(NamedTuple):
    """The best fixed point of each task of a batch.

    Fields:
        w: (..., d), a minimiser of the sum of its m losses over the ball.
        value: (...), that sum at w.
        gap: (...), an upper bound on value minus minimum; 0 for closed forms.
    """

    w: Float[Tensor, "... d"]
    value: Float[Tensor, "..."]
    gap: Float[Tensor, "..."]


def best_fixed(losses: Losses, radius: float) -> Optimum:
    """Return the best point of each task in hindsight: ``argmin_w sum_i loss_i(w)`` in the ball.

    - quadratic: the mean of z, projected
    - absolute: the lower median of z, projected, which is the smallest minimiser
    - hinge, logistic: a minimiser up to a gap of 1e-9, see `certificate`

    Raises:
        ArithmeticError: the sums of losses are too large for a gap of 1e-9.
    """
    positive("radius", radius)
    if losses.kind == "quadratic":
        w = project(losses.z.mean(-2), radius)
    elif losses.kind == "absolute":
        w = project(losses.z.median(-2).values, radius)
    else:
        return _solved(losses, radius)
    value = losses.total(w)
    return Optimum(w, value, torch.zeros_like(value))


def certificate(losses: Losses, w: Tensor, a: Tensor, radius: float) -> Float[Tensor, "..."]:
    """Bound how far ``sum_i loss_i(w)`` is above its minimum over the ball, by weak duality.

    ``max(0, 1 - s) >= a (1 - s)`` and ``ln(1 + exp(-s)) >= H(a) - a s`` for every a from 0 to 1,
    with the entropy ``H(a) = -a ln a - (1 - a) ln(1 - a)``; and ``<v, z> <= radius |z|``. So, for
    z (..., m, d), w (..., d) in the ball and any a (..., m), the minimum is at least

    - hinge: ``sum_i a_i - radius |sum_i a_i z_i|``
    - logistic: ``sum_i H(a_i) - radius |sum_i a_i z_i|``

    Source: Boyd and Vandenberghe (2004), section 5.1.
    """
    gain = a if losses.kind == "hinge" else -torch.xlogy(a, a) - torch.xlogy(1 - a, 1 - a)
    pull = (a[..., None] * losses.z).sum(-2).square().sum(-1).sqrt()
    return losses.total(w) - (gain.sum(-1) - radius * pull)


def _solved(losses: Losses, radius: float) -> Optimum:
    """Minimise ``sum_i loss_i(w) - mu ln(radius^2 - |w|^2)`` for falling mu by Newton's method."""
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
        # shrink mu once w is near its minimum, but no further than the gap needs
        floor = GAP / (8 * m + 8)
        mu[todo] = torch.where(near, (0.1 * mu[todo]).clamp(min=floor), mu[todo])
    if (gap > GAP).any():
        raise ArithmeticError(f"the best fixed point is known up to {gap.max():.1e} only")
    shape = losses.z.shape[:-2]
    return Optimum(best.view(*shape, d), flat.total(best).view(shape), gap.view(shape))


def _newton(losses: Losses, w: Tensor, mu: Tensor, radius: float) -> tuple[Tensor, Tensor, Tensor]:
    """Take one damped step: return w (T, d), a (T, m) there, and which w were near the minimum."""
    z, d = losses.z, w.shape[-1]
    a, curvature = _slopes(losses, w, mu)
    room = radius**2 - w.square().sum(-1, keepdim=True)
    g = 2 * mu * w / room - (a[..., None] * z).sum(-2)
    ball = 2 * torch.eye(d, dtype=w.dtype) / room[..., None]
    ball = ball + 4 * w[:, :, None] * w[:, None, :] / room[..., None] ** 2
    hessian = mu[..., None] * ball + z.mT @ (curvature[..., None] * z)
    # In directions without curvature, rounding errors would be divided by almost 0.
    ridge = 1e-15 * hessian.diagonal(dim1=1, dim2=2).amax(-1)[:, None, None]
    hessian = hessian + ridge * torch.eye(d, dtype=w.dtype)
    move = torch.linalg.solve_ex(hessian, -g[..., None])[0][..., 0]
    along = (z @ move[..., None])[..., 0]
    # These lengths tell how far to trust the curvatures, and so how long a step surely decreases
    # the sum: for self-concordant functions, and for functions like the logistic loss.
    inside = torch.einsum("ti,tij,tj->t", move, ball, move).clamp(min=0).sqrt()
    if losses.kind == "hinge":
        reach = ((curvature * along.square()).sum(-1) / mu[:, 0]).sqrt()
    else:
        reach = along.abs().amax(-1)
    length = (inside + reach)[:, None]
    # Not the slopes at the new w: those of a hinge change from 0 to 1 within some mu, and s is less
    # exact. The sum of these balances the ball's barrier.
    a = (a - curvature * along).clamp(0, 1)
    return w + move / (1 + length), a, length < 0.3


def _slopes(losses: Losses, w: Tensor, mu: Tensor) -> tuple[Tensor, Tensor]:
    """Return a, minus the derivative of each loss by the margin <w, z>, and the second derivative.

    Two barriers of weight mu smooth the hinge: with ``s = 1 - <w, z>`` it is the minimum of
    ``p - mu ln p - mu ln(p - s)`` over p.
    """
    margin = (losses.z @ w[..., None])[..., 0]
    if losses.kind == "logistic":
        a = torch.sigmoid(-margin)
        return a, a * torch.sigmoid(margin)
    s = 1 - margin
    root = torch.hypot(s, 2 * mu)
    return 0.5 + s / (2 * (root + 2 * mu)), mu / (root * (root + 2 * mu))

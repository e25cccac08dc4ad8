"""Convex losses of one example z, and their constants for the theorem.

A task is a sequence of m examples. Many tasks or repetitions are one tensor z (..., m, d), whose
leading axes are a batch.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import exp, isfinite, log1p
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from fedlab_edu.tensors import as_float64
from fedlab_edu.validate import positive, require

# From w (..., d) and z (..., d) to the values of a loss and its subgradients by w.
Loss = Callable[[Tensor, Tensor], tuple[Float[Tensor, "..."], Float[Tensor, "... d"]]]


def quadratic(w: Tensor, z: Tensor) -> tuple[Float[Tensor, "..."], Float[Tensor, "... d"]]:
    """Return ``1/2 |w - z|^2`` and its gradient ``w - z``."""
    away = w - z
    return away.square().sum(-1) / 2, away


def absolute(w: Tensor, z: Tensor) -> tuple[Float[Tensor, "..."], Float[Tensor, "... d"]]:
    """Return ``|w - z|`` in one dimension and its subgradient ``sign(w - z)``, 0 at the kink."""
    away = w - z
    return away.abs().sum(-1), away.sign()


def hinge(w: Tensor, z: Tensor) -> tuple[Float[Tensor, "..."], Float[Tensor, "... d"]]:
    """Return ``max(0, 1 - <w, z>)`` with z = y x, y = 1 or -1; its subgradient, -z if above 0."""
    short = 1 - (w * z).sum(-1)
    return short.clamp(min=0), -z * (short > 0).to(z.dtype)[..., None]


def logistic(w: Tensor, z: Tensor) -> tuple[Float[Tensor, "..."], Float[Tensor, "... d"]]:
    """Return ``ln(1 + exp(-<w, z>))`` with z = y x, and its gradient ``-z / (1 + exp(<w, z>))``."""
    margin = (w * z).sum(-1)
    value = torch.logaddexp(-margin, torch.zeros_like(margin))
    return value, -z * torch.sigmoid(-margin)[..., None]


KINDS: dict[str, Loss] = {f.__name__: f for f in (quadratic, absolute, hinge, logistic)}


@dataclass(frozen=True, eq=False)
class Losses:
    """The losses of a task, or of a batch of tasks, in order.

    Args:
        kind: "quadratic", "absolute", "hinge" or "logistic"; see the functions of these names.
            Absolute losses have d = 1.
        z: (..., m, d), kept in float64. Repeated tasks are (repetitions, tasks, m, d).
    """

    kind: str
    z: Any

    def __post_init__(self) -> None:
        require(self.kind in [*KINDS], "kind", self.kind, f"one of {tuple(KINDS)}")
        z = as_float64(self.z, "z")
        allowed = "(..., m, d), none of them 0" + ", d = 1" * (self.kind == "absolute")
        ok = z.ndim >= 2 and z.numel() > 0 and (self.kind != "absolute" or z.shape[-1] == 1)
        require(ok, "shape of z", tuple(z.shape), allowed)
        require(all(isfinite(x) for x in z.aminmax()), "z", z.flatten(), "finite numbers")
        object.__setattr__(self, "z", z)

    @property
    def loss(self) -> Loss:
        """The function from w and z to the values and subgradients."""
        return KINDS[self.kind]

    def total(self, w: Any) -> Float[Tensor, "..."]:
        """Return the sum over the m examples at one point w (..., d) for each task."""
        return self.loss(as_float64(w, "w")[..., None, :], self.z)[0].sum(-1)


class Constants(NamedTuple):
    """The diameter D of the ball, the Lipschitz constant G, and the range [0, b] of the losses."""

    D: float
    G: float
    b: float


def constants(losses: Losses, radius: float) -> Constants:
    """Return the smallest D, G and b for all w in the ball and all z as far from 0 as these.

    With r the radius and R the largest ``|z|``, D is 2 r, and G and b are

    - quadratic: ``r + R`` and ``(r + R)^2 / 2``
    - absolute: 1 and ``r + R``
    - hinge: ``R`` and ``1 + r R``
    - logistic: ``R / (1 + exp(-r R))`` and ``ln(1 + exp(r R))``
    """
    r = positive("radius", radius)
    R = torch.linalg.vector_norm(losses.z, dim=-1).max().item()
    G, b = {
        "quadratic": (r + R, (r + R) ** 2 / 2),
        "absolute": (1.0, r + R),
        "hinge": (R, 1 + r * R),
        "logistic": (R / (1 + exp(-r * R)), r * R + log1p(exp(-r * R))),
    }[losses.kind]
    return Constants(2 * r, G, b)

"""Perturb and Evo for one value: functions of numbers, for any Python, a browser's too.

Khodak et al. (2021), section 3, *Local perturbation*; Chen et al. (2023), eq. (3). `Uniform` and
`Choice` do the same for tensors of values.
"""

import math
from typing import NamedTuple

from fedlab_edu.validate import share

_TOL = 1e-9  # rounding may move (n - 1) eps off a whole number


class Support(NamedTuple):
    """The distribution of a perturbed number: uniform, in its scale, on [low, high], plus atoms.

    Clipping puts the probabilities ``p_low`` and ``p_high`` on the ends.
    """

    low: float
    high: float
    p_low: float
    p_high: float


def perturb(x: float, low: float, high: float, eps: float, u: float) -> float:
    """Draw from ``[x - (high - low) eps, x + (high - low) eps]`` at u in [0, 1), then clip.

    x, low and high are in the distribution's scale: of a learning rate, log10.
    """
    return min(max(x + (high - low) * eps * (2 * u - 1), low), high)


def evo(
    x: float, low: float, high: float, eps: float, p_re: float, u: tuple[float, float, float]
) -> float:
    """Draw from the whole range with probability p_re, else `perturb`; u: coin, draw, move."""
    coin, draw, move = u
    return low + (high - low) * draw if coin < p_re else perturb(x, low, high, eps, move)


def window(n: int, eps: float, as_printed: bool) -> range:
    """Return the moves of `Choice.perturb` among n options, in places."""
    share("eps", eps)
    delta = (n - 1) * eps
    up = math.ceil(delta - _TOL)
    return range(-math.floor(delta + _TOL) if as_printed else -up, up + 1)


def stride(n: int, eps: float, as_printed: bool) -> int:
    """Return the number of places by which `Choice.evo` moves among n options."""
    share("eps", eps)
    s = math.floor((n - 1) * eps + 0.5 + _TOL)
    return s if as_printed else max(1, s)

"""The constants of Theorem 4.1 of Khodak et al. (2021), FedEx, and valid bounds in its setting.

tau tasks of m convex losses each, with Lipschitz constant G and values in [0, b], in a ball of
diameter D. Task t starts from w_t, the mean of the optima of the tasks before. Bandit exponentiated
gradient picks a step size for each task. V is the `similarity` of the optima. The theorem's rate
holds, but its printed proof ends in lines that do not follow, see `printed_bounds`; the bounds here
have other constants. kappa is 1/2 for `ogd`, and 1 in the paper.
"""

from math import ceil, inf, log, sqrt
from typing import Any

from jaxtyping import Float
from torch import Tensor

from fedlab_edu.oco.rules import bandit_bound, bandit_eta
from fedlab_edu.tensors import as_float64
from fedlab_edu.validate import number, one_of, positive, require, whole


def step_grid(D: float, G: float, m: int, k: int, grid: str = "harmonic") -> Float[Tensor, " n"]:
    """Return step sizes for k arms, downwards from ``D / (G sqrt(m))``, the best for a single task.

    - "harmonic", as printed: ``c_j = D / (G j sqrt(m))``, j = 1, ..., k
    - "geometric": ``1 + ceil(log2 k)`` of them, each half of the one before. `tight_bound` only
      needs neighbours within a factor of 2, so these do the work of k.
    """
    _check(D=D, G=G)
    m, k = whole("m", m, 1), whole("k", k, 1)
    one_of(("harmonic", "geometric"))("grid", grid)
    halvings = (k - 1).bit_length()  # ceil(log2 k)
    parts = range(1, k + 1) if grid == "harmonic" else [2**i for i in range(halvings + 1)]
    return D / (G * sqrt(m) * as_float64([*parts]))


def grid_size(D: float, G: float, b: float, m: int, tau: int) -> int:
    """Return ``k = ceil(((D G / b) sqrt(tau / (2 m)))^(2/3))``, which the paper does not round."""
    _check(D=D, G=G, b=b, m=m, tau=tau)
    k = (D * G / b * sqrt(tau / (2 * m))) ** (2 / 3)
    require(k < inf, "D, G, b", (D, G, b), "numbers for which k is finite")
    return max(1, ceil(k))


def ogd_bound(distance: Any, c: Any, G: float, m: int, kappa: float = 0.5) -> Float[Tensor, "..."]:
    """Bound the regret of `ogd` against w* by ``distance^2 / (2 c) + kappa c m G^2``.

    distance (...) is from the first point to w*, any point of the ball; c (...) is constant.

    Source: Zinkevich (2003), Theorem 1.
    """
    distance, c = as_float64(distance, "distance"), as_float64(c, "c")
    return distance**2 / (2 * c) + kappa * c * m * G**2


def start_bound(D: float, V: float, tau: int) -> float:
    """Bound ``sum_t |w_t - w_t*|^2`` for the `starts` w_t by ``V^2 tau + D^2 (1 + ln tau)``.

    They follow the leader on ``1/2 |w - w_t*|^2``, whose gradients have length at most D.

    Source: Khodak et al. (2021), appendix A; Bartlett, Hazan and Rakhlin (2007), Theorem 2.1.
    """
    _check(tau=tau)
    return V**2 * tau + D**2 * (1 + log(tau))


def step_bound(
    c: Any, D: float, G: float, m: int, tau: int, V: float, kappa: float = 0.5
) -> Float[Tensor, "..."]:
    """Bound the task-averaged regret with one step size for all tasks, for each c (...).

    ``(V^2 + D^2 (1 + ln tau) / tau) / (2 c) + kappa c m G^2``.

    Source: Khodak et al. (2021), appendix A, fifth line.
    """
    return ogd_bound(sqrt(start_bound(D, V, tau) / tau), c, G, m, kappa)


def bound(
    D: float, G: float, b: float, m: int, tau: int, V: float, steps: Any, kappa: float = 0.5
) -> float:
    """Bound the expected task-averaged regret for any step sizes (k,).

    ``bandit_bound / tau + min_j step_bound(c_j)``, with the eta of `bandit_eta`.

    Source: Khodak et al. (2021), appendix A, fifth line, with 1/2 in place of 1 in front of eta.
    """
    steps = as_float64(steps, "steps")
    require(steps.dim() == 1, "shape of steps", tuple(steps.shape), "(k,)")
    k, eta = len(steps), bandit_eta(b, m, tau, len(steps))
    _check_similarity(D, V, kappa)
    _check(D=D, G=G, steps=steps.min())
    found: float = step_bound(steps, D, G, m, tau, V, kappa).min().item()
    return bandit_bound(m * b, tau, k, eta) / tau + found


def tight_bound(
    D: float, G: float, b: float, m: int, tau: int, V: float, k: int, kappa: float = 0.5
) -> float:
    """Return an upper bound on `bound` for the harmonic grid, with the exact error of the grid.

    With ``rho^2 = (1 + ln tau) / tau`` and ``best = sqrt(2 kappa m) G sqrt(V^2 + D^2 rho^2)``, the
    cost of the best step size, it is
    ``2 m b sqrt(k ln k / tau) + max(3 / (2 sqrt(2)) best, 2 kappa D G sqrt(m) / k)``. A step size x
    times too large or too small costs ``(x + 1/x) / 2`` times as much as the best one. The grid has
    an x of at most sqrt(2), unless all are too large; the last then costs at most twice
    ``kappa c_k m G^2``.
    """
    _check_similarity(D, V, kappa)
    _check(D=D, G=G, b=b, m=m, tau=tau, k=k)
    bandit = 2 * m * b * sqrt(k * log(k) / tau)  # its factor 3/2 is rounded up to 2
    best = sqrt(2 * kappa * m) * G * sqrt(start_bound(D, V, tau) / tau)
    return bandit + max(3 / sqrt(8) * best, 2 * kappa * D * G * sqrt(m) / k)


def printed_bounds(
    D: float, G: float, b: float, m: int, tau: int, V: float, k: int
) -> tuple[float, float]:
    """Return the last two lines of the printed proof, divided by tau; they are not valid bounds.

    - ``2 m b sqrt(k ln k / tau) + 4 D sqrt((1 + ln tau) / (2 tau)) + (2 V + D / k) G sqrt(m / 2)``.
      The second term lacks ``G sqrt(m)``, so it does not scale with the losses. The proof takes the
      grid's distances as ``D / (k G sqrt(m))``, but the largest two differ by half the largest.
    - ``m b sqrt(2 ln tau / tau) + 4 D sqrt((1 + ln tau) / (2 tau)) + (D G / tau + 2 G V)
      sqrt(m / 2)``: that is for `hedge` with tau arms, and does not follow.

    Source: Khodak et al. (2021), appendix A, seventh and eighth line.
    """
    _check(D=D, G=G, b=b, m=m, tau=tau, k=k)
    start = 4 * D * sqrt((1 + log(tau)) / (2 * tau))
    bandit = 2 * m * b * sqrt(k * log(k) / tau)
    seventh = bandit + start + (2 * V + D / k) * G * sqrt(m / 2)
    full = m * b * sqrt(2 * log(tau) / tau)
    return seventh, full + start + (D * G / tau + 2 * G * V) * sqrt(m / 2)


def _check(**given: Any) -> None:
    for name, value in given.items():
        if name in ("m", "tau", "k"):
            whole(name, value, 1)
        else:
            positive(name, value)


def _check_similarity(D: float, V: float, kappa: float) -> None:
    require(0 <= number(V) <= number(D), "V", V, f"from 0 to D = {D}")
    require(0.5 <= number(kappa) < inf, "kappa", kappa, "from 1/2 on")

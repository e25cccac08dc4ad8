"""A step size learned from the distances to the optima, without a bandit: the rate tau^(-1/4).

Khodak et al. (2021), eq. (9), compare Theorem 4.1 with this rate. Task t starts at w_t, the mean of
the optima before, at distance ``d_t = |w_t - w_t*|`` from its own. `ogd` with the step size
``v / (G sqrt(m))`` has a regret of at most ``G sqrt(m) / 2 (d_t^2 / v + v)``. Follow the leader
on these functions of v, with eps^2 added to each d_t^2, so that v does not become too small.
"""

from math import log, sqrt
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from fedlab_edu.oco.bounds import start_bound
from fedlab_edu.tensors import as_float64
from fedlab_edu.validate import not_negative, positive, require, whole


def leader_eps(D: float, tau: int) -> float:
    """Return ``eps = D tau^(-1/4)``, which balances the two prices in `leader_bound`."""
    return positive("D", D) / whole("tau", tau, 1) ** 0.25


def leader_steps(
    distances: Any, D: float, G: float, m: int, eps: float
) -> Float[Tensor, "... tau"]:
    """Return the step sizes ``c_t = v_t / (G sqrt(m))``; v_t is the leader after t - 1 tasks.

    ``v_1 = sqrt(D^2 + eps^2)``, and ``v_t^2 = eps^2 + mean_(s < t) d_s^2`` minimises
    ``sum_(s < t) (d_s^2 + eps^2) / v + v``.

    Args:
        distances: (..., tau), the d_t, at most D.
        D, G, m: see `step_grid`.
        eps: at most D.
    """
    d, G, m = as_float64(distances, "distances"), positive("G", G), whole("m", m, 1)
    _check_eps(D, eps)
    inside = ((d >= 0) & (d <= D * (1 + 1e-9))).all()
    ok = d.ndim >= 1 and d.numel() and inside
    require(ok, "distances", d, f"(..., tau), at least one, from 0 to D = {D}")
    count = torch.arange(1, d.shape[-1], dtype=d.dtype)
    square = torch.full_like(d, D**2)
    square[..., 1:] = d.square().cumsum(-1)[..., :-1] / count
    return (square + eps**2).sqrt() / (G * sqrt(m))


def leader_bound(D: float, G: float, m: int, tau: int, V: float, eps: float | None = None) -> float:
    """Bound the task-averaged regret with `leader_steps` by G sqrt(m) times the sum of

    - ``sqrt(V^2 + D^2 (1 + ln tau) / tau + eps^2)``, the cost of the best fixed v;
    - ``E (1 + E / eps r (1 + ln(1 + tau / r))) / (2 tau)``, the regret of the leader, with
      ``E^2 = D^2 + eps^2`` and ``r = E^2 / (2 eps^2)``.

    With the eps of `leader_eps`, the default, it falls like ``V + tau^(-1/4)``, up to a logarithm.
    """
    D, G, m, tau = positive("D", D), positive("G", G), whole("m", m, 1), whole("tau", tau, 1)
    require(0 <= not_negative("V", V) <= D, "V", V, f"from 0 to D = {D}")
    eps = leader_eps(D, tau) if eps is None else eps
    _check_eps(D, eps)
    fixed = sqrt(start_bound(D, V, tau) / tau + eps**2)
    E = sqrt(D**2 + eps**2)
    r = E**2 / (2 * eps**2)
    leader = E * (1 + E / eps * r * (1 + log(1 + tau / r))) / (2 * tau)
    return G * sqrt(m) * (fixed + leader)


def _check_eps(D: float, eps: float) -> None:
    require(0 < positive("eps", eps) <= positive("D", D), "eps", eps, f"up to D = {D}")

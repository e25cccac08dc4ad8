"""The bandit of the theorem for one run: functions of numbers and lists, a browser's too.

Shalev-Shwartz (2011), section 4; Khodak et al. (2021), Algorithm 2. `bandit` has the same for many
runs at once.
"""

from math import exp, inf, log, sqrt

from fedlab_edu.validate import positive, whole


def bandit_eta(b: float, m: int, tau: int, k: int) -> float:
    """Return ``eta = sqrt(ln k / (k tau)) / (m b)``; 0 for a single arm."""
    m, tau, k = whole("m", m, 1), whole("tau", tau, 1), whole("k", k, 1)
    return sqrt(log(k) / (k * tau)) / (m * positive("b", b))


def bandit_bound(U: float, tau: int, k: int, eta: float, factor: float = 0.5) -> float:
    """Bound the expected regret of `bandit_eg` against the best arm, for losses in [0, U].

    ``ln k / eta + factor eta k tau U^2``, where the paper has factor = 1; 0 for a single arm. With
    factor = 1 / (8 k) it bounds the regret of `hedge`.

    Source: Shalev-Shwartz (2011), Corollary 4.2; Cesa-Bianchi and Lugosi (2006), Theorem 2.2.
    """
    return 0.0 if k == 1 else (log(k) / eta if eta else inf) + factor * eta * k * tau * U**2


def estimate(loss: float, arm: int, p: list[float]) -> list[float]:
    """Return an unbiased estimate of all arms' losses, given the loss of the arm drawn from p."""
    found = [0.0] * len(p)
    found[arm] = loss / p[arm]
    return found


def bandit_eg(losses: list[list[float]], eta: float, u: list[float]) -> list[int]:
    """Return the arm of each round; only its loss is seen: ``p_a <- p_a exp(-eta estimate_a)``.

    Args:
        losses: (tau, k).
        u: (tau,), draws in [0, 1), in which arm a has a part of length p_a.
    """
    k = len(losses[0])
    z, arms = [-log(k)] * k, []
    for row, draw in zip(losses, u, strict=True):
        p = [exp(z_a) for z_a in z]
        ends = [sum(p[: a + 1]) for a in range(k)]
        arm = next(a for a in range(k) if draw * ends[-1] < ends[a])
        z = [z_a - eta * x for z_a, x in zip(z, estimate(row[arm], arm, p), strict=True)]
        top = max(z)
        norm = top + log(sum(exp(z_a - top) for z_a in z))
        z = [z_a - norm for z_a in z]
        arms.append(arm)
    return arms

"""FedEx's rules: functions of numbers and lists, for any Python, a browser's too.

Khodak et al. (2021), Algorithm 2 and appendix F.
"""

from math import exp, inf, log, sqrt

RULES = ("aggressive", "adaptive", "constant", "auto", "scale")
ROUNDING = 1e-10  # a smaller relative difference is the rounding of up to a million rounds


def gradient(
    theta: list[float],
    row: list[int],
    score: list[float],
    size: list[float],
    baseline: float,
    scale: list[float] | None = None,
) -> list[float]:
    """Return g (k,), ``g_j = sum_(i: row_i = j) size_i (score_i - baseline) / (theta_j sum size)``.

    Over the draws of the rows its expectation is ``sum_i size_i L_i(c_j) / sum_i size_i -
    baseline``: the derivative of the expected score by theta_j, minus a constant that makes no
    difference to a distribution.

    Args:
        theta: (k,), the distribution from which the rows were drawn: above 0 for each of them.
        row, score, size: (B,), each client's row of the table, its score, and its number of
            validation examples, not all 0.
        scale: (B,), how large the numbers are from which ``score - baseline`` was computed. An
            entry of g that is 0 up to their rounding is 0, because an aggressive step would scale
            it up to a full step. The default is the larger of ``|score|`` and ``|baseline|``.

    Source: Khodak et al. (2021), Algorithm 2 and appendix C.1.
    """
    total = sum(size)
    if not total > 0:
        allowed = "numbers of examples, not all 0"
        raise ValueError(f"size is {size[:8]}; allowed: {allowed}")
    if scale is None:
        scale = [max(abs(s), abs(baseline)) for s in score]
    g, noise = [0.0] * len(theta), [0.0] * len(theta)
    for j, s, n, size_of_s in zip(row, score, size, scale, strict=True):
        if not theta[j] > 0:
            allowed = "above 0 for each row that was drawn"
            raise ValueError(f"theta is {theta[:8]}; allowed: {allowed}")
        g[j] += n * (s - baseline) / (theta[j] * total)
        noise[j] += ROUNDING * n * size_of_s / (theta[j] * total)
    return [0.0 if abs(g_j) <= noise_j else g_j for g_j, noise_j in zip(g, noise, strict=True)]


def step_size(rule: str, norms: list[float], k: int, eta0: float | None = None) -> float:
    """Return the step size eta_t; 0 where a rule divides by 0.

    - "constant": ``eta0``
    - "adaptive": ``eta0 / sqrt(sum_(s <= t) |g_s|^2)``
    - "aggressive": ``eta0 / |g_t|``
    - "auto": ``eta0 / sqrt(t)``
    - "scale": ``eta0 sqrt(2 ln k)``

    Args:
        rule: one of RULES.
        norms: (t,), the largest entries ``|g_s|`` of the gradients g_1, ..., g_t; t at least 1.
        k: the number of rows.
        eta0: the default is ``sqrt(2 ln k)``.

    Source: Khodak et al. (2021), appendix F; "auto" and "scale" are in their code only.
    """
    if rule not in RULES:
        raise ValueError(f"step is {rule!r}; allowed: one of {RULES}")
    if not norms:
        raise ValueError("norms is []; allowed: at least one")
    usual = sqrt(2 * log(k))
    eta = usual if eta0 is None else eta0
    if rule == "scale":
        return eta * usual
    by = 1.0
    if rule == "aggressive":
        by = norms[-1]
    elif rule == "adaptive":
        by = sqrt(sum(norm * norm for norm in norms))
    elif rule == "auto":
        by = sqrt(len(norms))
    return eta / by if by > 0 else 0.0


def exponentiate(z: list[float], gradient: list[float], eta: float) -> list[float]:
    """Return log theta (k,) for ``theta exp(-eta gradient)``, normalised; z (k,) is log theta.

    A probability may become so small that theta is 0. Its row is then never drawn.
    """
    z = [z_j - eta * g_j for z_j, g_j in zip(z, gradient, strict=True)]
    largest = max(z)
    total = largest + log(sum(exp(z_j - largest) for z_j in z))
    return [z_j - total for z_j in z]


def draw_row(theta: list[float], u: float) -> int:
    """Return the row at a draw u in [0, 1), in which row j has a share of length theta_j."""
    ends, end = [], 0.0
    for p in theta:
        end += p
        ends.append(end)
    for j, here in enumerate(ends):
        if u * end < here:
            return j
    return ends.index(end)  # u times the sum was rounded up to the sum


def entropy(z: list[float]) -> float:
    """Return ``- sum_j theta_j ln theta_j``, in nats; ln k for equal probabilities."""
    return -sum(exp(z_j) * z_j for z_j in z if z_j > -inf)

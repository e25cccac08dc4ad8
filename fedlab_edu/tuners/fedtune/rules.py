"""FedTune's step for one client: functions of numbers and lists, for any Python, a browser's too.

*FedTune: Differentiable hyperparameter optimization for personalized federated learning*
(anonymous, under review), eq. (11).
"""

from math import exp, inf, isfinite

LEAST = 1e-6  # the least probability that `project` leaves


def softmax(logits: list[float]) -> list[float]:
    """Return the distribution ``pi_h = exp(a_h) / sum_k exp(a_k)``."""
    largest = max(logits)
    weights = [exp(a - largest) for a in logits]
    total = sum(weights)
    return [weight / total for weight in weights]


def step(logits: list[float], z: int, d: float, lr: float) -> list[float]:
    """Return logits (H,) after ``a <- a - lr (onehot(z) - softmax(a)) d``; they may be -inf.

    z is the row that the client has drawn, d the derivative of the loss by its dummy one, see
    `credit`. If d is not finite, the client has diverged: its logit z becomes -inf, so that it
    never draws that row again, unless all its other logits are -inf.

    Source: FedTune, eq. (11), taken by logits.
    """
    if not isfinite(d):
        others = any(a > -inf for h, a in enumerate(logits) if h != z)
        return [-inf if h == z and others else a for h, a in enumerate(logits)]
    return [
        a - lr * ((h == z) - pi) * d
        for h, (a, pi) in enumerate(zip(logits, softmax(logits), strict=True))
    ]


def step_raw(pi: list[float], z: int, d: float, lr: float) -> list[float]:
    """Return ``pi - lr (onehot(z) / pi[z] - 1 / sum_k pi[k]) d``, the step as printed.

    The result need not be a distribution, and may be below 0: see `project`. If d is not finite,
    pi[z] becomes 0.

    Source: FedTune, eq. (11), with p(z) = pi[z] / sum_k pi[k].
    """
    if not isfinite(d):
        return [0.0 if h == z else p for h, p in enumerate(pi)]
    total = sum(pi)
    if not (pi[z] > 0 and total > 0):
        raise ValueError(f"pi is {pi[:8]}; allowed: above 0 for the row that was drawn, and in sum")
    return [p - lr * ((1 / p if h == z else 0.0) - 1 / total) * d for h, p in enumerate(pi)]


def project(pi: list[float]) -> list[float]:
    """Return ``max(pi, 1e-6)``, divided by its sum: a distribution again.

    The paper has no such step; without it, log pi is undefined.
    """
    pi = [max(p, LEAST) for p in pi]
    total = sum(pi)
    return [p / total for p in pi]

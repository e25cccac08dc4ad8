"""One small function before each exercise, for the reader to write in the page."""

from math import exp  # noqa: F401 - for the reader's eg_step


def weighted_average(models: list[list[float]], n: list[float]) -> list[float]:
    """Average the clients' models, weighted by their numbers of examples n."""
    raise NotImplementedError("write the function here")


def proximal(g: float, u: float, w: float, mu: float) -> float:
    """Return the slope at u of FedProx's loss, L(u) + mu/2 (u - w)^2; g is that of L."""
    raise NotImplementedError("write the function here")


def rounds_used(stops: list[int], arms: int, eta: int) -> int:
    """Add up all arms' rounds up to the last stop; at each stop arms // eta go on, at least one."""
    raise NotImplementedError("write the function here")


def eg_step(theta: list[float], g: list[float], eta: float) -> list[float]:
    """Multiply each theta_j by exp(-eta g_j), and divide by the sum."""
    raise NotImplementedError("write the function here")


def best_half(scores: list[float], alive: list[int]) -> list[int]:
    """Return the better half of the places alive, rounded up, in order."""
    raise NotImplementedError("write the function here")


def ogd_step(w: float, g: float, c: float, radius: float) -> float:
    """Step from w against g with step size c; stay in [-radius, radius]."""
    raise NotImplementedError("write the function here")


def score(pi: list[float], z: int) -> list[float]:
    """Return the gradient of log pi[z] by the logits, pi being their softmax."""
    raise NotImplementedError("write the function here")


def child(h: float, a: float, b: float, eps: float, u: float) -> float:
    """Move h by eps (b - a): down for u = 0, up for u = 1, evenly between; stay in [a, b]."""
    raise NotImplementedError("write the function here")


def answered(seconds: list[float], deadline: float) -> list[int]:
    """Return the places of the answers that took at most the deadline, the quickest first."""
    raise NotImplementedError("write the function here")


def bonferroni(p: list[float]) -> list[float]:
    """Multiply each p-value by the number of p-values, up to 1."""
    raise NotImplementedError("write the function here")

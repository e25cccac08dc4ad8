"""One small function before each exercise, for the reader to write in the page."""


def weighted_average(models: list[list[float]], n: list[float]) -> list[float]:
    """Average the clients' models, weighted by their numbers of examples n."""
    raise NotImplementedError("write the function here")


def corrected(g: list[float], c_i: list[float], c: list[float]) -> list[float]:
    """Return SCAFFOLD's direction: g without what is typical of client i."""
    raise NotImplementedError("write the function here")


def survivors(scores: list[float], eta: int) -> list[int]:
    """Return the places of the n // eta lowest scores, at least one, in order."""
    raise NotImplementedError("write the function here")


def gradient(
    theta: list[float], row: list[int], score: list[float], size: list[int], baseline: float
) -> list[float]:
    """Return FedEx's g: one number for each row of the table."""
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


def anneal(x0: float, r: int, R: int) -> float:
    """Lead x0 in round 0 along half a cosine to 0 in round R."""
    raise NotImplementedError("write the function here")

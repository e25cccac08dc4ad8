"""FedAvg of two clients in the plane: local steps, averages, and drift."""

from fedlab_edu.live import valleys
from fedlab_edu.live.draw import BLUE, GREEN, ORANGE
from fedlab_edu.live.valleys import Point


def average(models: list[list[float]], n: list[float]) -> list[float]:
    """Average the clients' models, weighted by their numbers of examples."""
    total = sum(n)
    w = [0.0] * len(models[0])
    for model, n_i in zip(models, n, strict=True):
        w = [w_j + n_i / total * x for w_j, x in zip(w, model, strict=True)]
    return w


def local_step(w: list[float], g: list[float], lr: float) -> list[float]:
    """Take one local step of a client, whose loss has the slope g at w."""
    return [w_j - lr * g_j for w_j, g_j in zip(w, g, strict=True)]


def replay(
    lr: float, epochs: int, rounds: int, n: list[float]
) -> tuple[list[Point], list[list[list[Point]]]]:
    """Return the server's models, and both clients' paths in each round."""
    servers, paths = [valleys.START], []
    for _ in range(rounds):
        paths.append(valleys.walks(servers[-1], epochs, lambda _, w, g: local_step(w, g, lr)))
        servers.append(average([path[-1] for path in paths[-1]], n))
    return servers, paths


def drift(lr: float, epochs: int, rounds: int, share: float) -> str:
    """Draw the rounds: each client's path, and the averages; share is that of client 1."""
    n = [share, 1 - share]
    servers, paths = replay(lr, epochs, rounds, n)
    chart = valleys.plane(n, f"{rounds} rounds of {epochs} local steps")
    for t, both in enumerate(paths):
        for path, colour in zip(both, (BLUE, ORANGE), strict=True):
            valleys.trail(chart, path, colour, 2 if t == rounds - 1 else 1)
    for w in servers:
        chart.dot(w[0], w[1], GREEN)
    chart.label(1.5, "the server", GREEN)
    gap = valleys.apart(servers[-1], valleys.best(n))
    one, two = [path[-1] for path in paths[-1]]
    print(f"distance from the last average to the best point: {gap:.3f}")
    print(f"distance between the clients before it: {valleys.apart(one, two):.3f}")
    return chart.svg(
        f"The server's model after {rounds} rounds of {epochs} local steps is {gap:.2f} away from "
        "the point that is best for both clients."
    )

"""SCAFFOLD's correction for two clients in the plane."""

from fedlab_edu.live import averaging, valleys
from fedlab_edu.live.draw import BLUE, GREEN, GREY, ORANGE
from fedlab_edu.live.valleys import Point


def local_step(
    w: list[float], g: list[float], c_i: list[float], c: list[float], lr: float
) -> list[float]:
    """Take one local step of SCAFFOLD."""
    step = [g_j - own + mean for g_j, own, mean in zip(g, c_i, c, strict=True)]
    return [w_j - lr * s for w_j, s in zip(w, step, strict=True)]


def replay(
    lr: float, epochs: int, rounds: int, correct: bool
) -> tuple[list[Point], list[list[Point]]]:
    """Return the server's models, and both clients' paths in the last round.

    Without correction all control variates stay 0: the steps are those of FedAvg.
    """
    servers, c, own = [valleys.START], [0.0, 0.0], [[0.0, 0.0], [0.0, 0.0]]
    paths: list[list[Point]] = []

    def step(i: int, y: Point, g: Point) -> Point:
        return local_step(y, g, own[i], c, lr)

    for _ in range(rounds):
        w = servers[-1]
        paths = valleys.walks(w, epochs, step)
        ends = [path[-1] for path in paths]
        servers.append(averaging.average(ends, [1.0, 1.0]))
        if correct:  # c_i <- c_i - c + (x - y_i) / (K lr)
            own = [
                [a - b + (x - y) / (epochs * lr) for a, b, x, y in zip(c_i, c, w, end, strict=True)]
                for c_i, end in zip(own, ends, strict=True)
            ]
            c = averaging.average(own, [1.0, 1.0])
    return servers, paths


def drift(lr: float, epochs: int, rounds: int) -> str:
    """Draw the server's models with the correction, the last local paths, and FedAvg's models."""
    n = [0.5, 0.5]
    chart = valleys.plane(n, f"{rounds} rounds of {epochs} local steps")
    plain, _ = replay(lr, epochs, rounds, False)
    servers, paths = replay(lr, epochs, rounds, True)
    valleys.trail(chart, plain, GREY)
    for path, colour in zip(paths, (BLUE, ORANGE), strict=True):
        valleys.trail(chart, path, colour, 1)
    valleys.trail(chart, servers, GREEN)
    chart.label(1.5, "corrected", GREEN)
    chart.label(1.3, "c and c_i at 0", GREY)
    gaps = [valleys.apart(one[-1], valleys.best(n)) for one in (servers, plain)]
    print(f"corrected: {gaps[0]:.4f} from the best point\nwithout:   {gaps[1]:.4f}")
    return chart.svg(
        f"After {rounds} rounds the corrected model is {gaps[0]:.2f} away from the best point, "
        f"and FedAvg's is {gaps[1]:.2f} away."
    )

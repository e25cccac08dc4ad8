"""Two clients, each with a valley of its own in the plane, whose models a server averages.

Client i's loss is ``1/2 (w - z_i)' A_i (w - z_i)`` with a diagonal A_i: the first is steep in one
direction, and the second in the other.
"""

from collections.abc import Callable
from math import cos, pi, sin, sqrt
from typing import TypeAlias

from fedlab_edu.live.draw import BLUE, GREY, INK, ORANGE, Chart

Point: TypeAlias = "list[float]"
Step: TypeAlias = "Callable[[int, Point, Point], Point]"

BOTTOMS = ((-1.0, 1.2), (1.4, -0.8))
SHAPES = ((1.0, 0.15), (0.2, 1.2))
START = [1.9, 1.6]


def slope(client: int, w: Point) -> Point:
    """Return the gradient of the client's loss."""
    return [a * (x - z) for a, x, z in zip(SHAPES[client], w, BOTTOMS[client], strict=True)]


def best(n: list[float]) -> Point:
    """Return the lowest point of the losses' mean, weighted by the numbers of examples."""
    up = [sum([n[i] * SHAPES[i][j] * BOTTOMS[i][j] for i in (0, 1)]) for j in (0, 1)]
    down = [sum([n[i] * SHAPES[i][j] for i in (0, 1)]) for j in (0, 1)]
    return [a / b for a, b in zip(up, down, strict=True)]


def walks(w: Point, steps: int, step: Step) -> list[list[Point]]:
    """Return both clients' models, from w on."""
    return [walk(client, w, steps, step) for client in (0, 1)]


def walk(client: int, w: Point, steps: int, step: Step) -> list[Point]:
    """Return the client's models, from w on."""
    path = [w]
    for _ in range(steps):
        path.append(step(client, path[-1], slope(client, path[-1])))
    return path


def apart(a: Point, b: Point) -> float:
    """Return the distance of two points; no more than a million, where steps diverge."""
    return min(sqrt(sum([(x - y) ** 2 for x, y in zip(a, b, strict=True)])), 1e6)


def plane(n: list[float], title: str) -> Chart:
    """Return a picture of the plane: heights of the common loss, its lowest point, the bottoms."""
    chart = Chart((-2.4, 2.4), (-2, 2), "first weight", title, right=150, height=340)
    lowest, total = best(n), sum(n)
    across = [sum([n[i] * SHAPES[i][j] for i in (0, 1)]) / total for j in (0, 1)]
    for height in (0.05, 0.2, 0.45, 0.8):
        reach = [sqrt(2 * height / a) for a in across]
        turn = [2 * pi * i / 48 for i in range(49)]
        chart.line([lowest[0] + reach[0] * cos(t) for t in turn],
                   [lowest[1] + reach[1] * sin(t) for t in turn], GREY, 0.6, "", 0.7)  # fmt: skip
    for (x, y), colour in zip(BOTTOMS, (BLUE, ORANGE), strict=True):
        a, b = chart.x(x), chart.y(y)
        chart.path([(a - 6, b + 5), (a + 6, b + 5), (a, b - 6), (a - 6, b + 5)], colour)
    a, b = chart.x(lowest[0]), chart.y(lowest[1])
    for down in (6, -6):
        chart.path([(a - 6, b - down), (a + 6, b + down)], INK)
    chart.note(a + 10, b + 4, "best for both")
    chart.label(1.9, "client 1", BLUE)
    chart.label(1.7, "client 2", ORANGE)
    return chart


def trail(chart: Chart, points: list[Point], colour: str, width: float = 2) -> None:
    """Draw a path, with a dot at its end."""
    chart.line([w[0] for w in points], [w[1] for w in points], colour, width)
    chart.dot(points[-1][0], points[-1][1], colour, 3)

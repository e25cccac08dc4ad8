"""Halving over feature maps whose errors at every width are recorded."""

from math import log2, sqrt
from typing import Any

from fedlab_edu.features import halving
from fedlab_edu.live.draw import BLUE, GREEN, GREY, Chart
from fedlab_edu.live.draws import normal, uniforms


def replay(data: Any, first: int, images: float, seed: int) -> list[list[int]]:
    """Return the maps alive after each round; a round is at twice the width of the one before.

    Args:
        data: see `records.features`.
        first: the width of the first round; the last width comes again until one map is left.
        images: an error is measured on so many images, and scatters accordingly.
    """
    u, at = uniforms(seed), data["widths"].index(first)
    alive = [list(range(len(data["wrong"][0])))]
    while len(alive[-1]) > 1 and len(alive) < 12:
        scores = []
        for wrong in data["wrong"][at]:
            p = wrong / data["size"]
            scores.append(p + normal(u) * sqrt(p * (1 - p) / images))
        alive.append(halving.best_half(scores, alive[-1]))
        at = min(at + 1, len(data["widths"]) - 1)
    return alive


def race(data: Any, first: int, images: float, seed: int) -> str:
    """Draw each map's recorded error over the widths, up to the one at which it is eliminated."""
    alive, widths, n = replay(data, first, images, seed), data["widths"], data["size"]
    errors = [[row[i] / n for row in data["wrong"]] for i in range(len(data["wrong"][0]))]
    start, final = widths.index(first), [row[-1] for row in errors]
    chart = Chart(
        (log2(widths[0]), log2(widths[-1])), (0, 1), "log2 of the number of features",
        "error of each map, until it is eliminated",
    )  # fmt: skip
    cost = 0
    for t, maps in enumerate(alive[:-1]):
        cost += len(maps) * widths[min(start + t, len(widths) - 1)]
    for i, row in enumerate(errors):
        rounds = sum([i in maps for maps in alive])
        end = min(start + rounds, len(widths))
        x = [log2(width) for width in widths[start:end]]
        chart.line(x, row[start:end], GREY, 0.8, "", 0.7)
    best, picked = min(range(len(final)), key=lambda i: final[i]), alive[-1]
    every = [log2(width) for width in widths]
    for i, colour, name in ((best, GREEN, "best"), (picked[0], BLUE, "picked")):
        if name == "best" or i != best:
            chart.line(every, errors[i], colour)
            chart.label(final[i], f"{name}: {final[i]:.3f}", colour)
    rank = 1 + sum([e < final[picked[0]] for e in final])
    print(f"maps left after each round: {[len(maps) for maps in alive[1:]]}")
    print(f"features fitted: {cost:,}; a sweep at {widths[-1]} fits {len(final) * widths[-1]:,}")
    print(f"the map picked is number {rank} of {len(final)} at {widths[-1]} features")
    return chart.svg(
        f"Halving from {first} features on picks a map with an error of {final[picked[0]]:.3f} at "
        f"{widths[-1]} features; the best has {final[best]:.3f}."
    )

"""Halving over feature maps whose errors at every width are recorded."""

from math import log2
from typing import Any

from fedlab_edu.features import rules
from fedlab_edu.live.draw import BLUE, GREEN, GREY, Chart
from fedlab_edu.live.draws import measured, uniforms


def replay(
    data: Any, first: int, growth: float, images: float, seed: int
) -> tuple[list[list[int]], list[int]]:
    """Return the maps alive after each round, and the round's place in ``data["widths"]``.

    Args:
        data: see `records.features`.
        first: the width of the first round; see `rules.next_width` for the others.
        growth: of the width from round to round. The record's largest width below is used.
        images: an error is measured on so many images, and scatters accordingly.
    """
    u, n, widths, width = uniforms(seed), data["size"], data["widths"], first
    alive: list[list[int]] = [list(range(len(data["wrong"][0])))]
    places: list[int] = []
    while len(alive[-1]) > 1 and len(alive) < 12:
        places.append(max([i for i, n in enumerate(widths) if n <= max(width, widths[0])]))
        scores = [measured(wrong / n, images, u) for wrong in data["wrong"][places[-1]]]
        alive.append(rules.best_half(scores, alive[-1]))
        width = rules.next_width(width, growth, widths[-1])
    return alive, places


def race(data: Any, first: int, growth: float, images: float, seed: int) -> str:
    """Draw each map's recorded error over the widths, up to the one at which it is eliminated."""
    alive, places = replay(data, first, growth, images, seed)
    widths, n = data["widths"], data["size"]
    errors = [[row[i] / n for row in data["wrong"]] for i in range(len(data["wrong"][0]))]
    final = [row[-1] for row in errors]
    chart = Chart(
        (log2(widths[0]), log2(widths[-1])), (0, 1), "log2 of the number of features",
        "error of each map, until it is eliminated",
    )  # fmt: skip
    cost = sum([len(maps) * widths[at] for maps, at in zip(alive[:-1], places, strict=True)])
    for i, row in enumerate(errors):
        seen = [at for maps, at in zip(alive[:-1], places, strict=True) if i in maps]
        chart.line([log2(widths[at]) for at in seen], [row[at] for at in seen], GREY, 0.8, "", 0.7)
    best, picked = final.index(min(final)), alive[-1]
    every = [log2(width) for width in widths]
    for i, colour, name in ((best, GREEN, "best"), (picked[0], BLUE, "picked")):
        if name == "best" or i != best:
            chart.line(every, errors[i], colour, name=f"{name}: {final[i]:.3f}")
    rank = 1 + sum([e < final[picked[0]] for e in final])
    print(f"features in each round: {[widths[at] for at in places]}")
    print(f"maps left after it: {[len(maps) for maps in alive[1:]]}")
    print(f"features fitted: {cost:,}; a sweep at {widths[-1]} fits {len(final) * widths[-1]:,}")
    print(f"the map picked is number {rank} of {len(final)} at {widths[-1]} features")
    return chart.svg(
        f"Halving from {first} features on picks a map with an error of {final[picked[0]]:.3f} at "
        f"{widths[-1]} features; the best has {final[best]:.3f}."
    )

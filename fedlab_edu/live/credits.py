"""FedTune's step of one client on the simplex, with recorded credits."""

from math import sqrt
from typing import Any

from fedlab_edu.live.draw import COLOURS, GREY, INK, Chart
from fedlab_edu.live.draws import uniforms
from fedlab_edu.tuners.fedex.rules import draw_row
from fedlab_edu.tuners.fedtune import rules

CORNERS = ((0.0, 0.0), (1.0, 0.0), (0.5, sqrt(3) / 2))
SEEDS = 12


def replay(
    data: Any, client: int, lr: float, shift: float, baseline: bool, seed: int
) -> list[list[float]]:
    """Return the client's distribution before each round and after the last.

    Args:
        data: see `records.credits`.
        shift: is added to each credit.
        baseline: subtract the mean of the client's earlier credits.
    """
    logits, u = [0.0] * len(data["lr"]), uniforms(seed)
    past: list[float] = []
    path = [rules.softmax(logits)]
    for credits in data["credit"]:
        z = draw_row(path[-1], next(u))
        d = -(credits[client - 1][z] / 1000 + shift)
        mean = sum(past) / len(past) if past else d
        past.append(d)
        logits = rules.step(logits, z, d - mean if baseline else d, lr)
        path.append(rules.softmax(logits))
    return path


def simplex(data: Any, client: int, lr: float, shift: float, baseline: str, seed: int) -> str:
    """Draw twelve paths of the client's distribution in the triangle of three step sizes."""
    chart = Chart((-0.25, 1.25), (-0.12, 0.98), "", "pi of one client, 12 seeds", right=140,
                  height=330, axes=False)  # fmt: skip
    around = [CORNERS[j % 3] for j in range(4)]
    chart.line([x for x, _ in around], [y for _, y in around], GREY, 1)
    ends = [0] * len(CORNERS)
    for s in range(SEEDS):
        path = replay(data, client, lr, shift, baseline == "mean so far", 1000 * seed + s)
        places = [place(pi) for pi in path]
        favourite = path[-1].index(max(path[-1]))  # of equal ones the first
        ends[favourite] += 1
        chart.line([x for x, _ in places], [y for _, y in places], COLOURS[favourite], 1.2, "", 0.8)
        chart.dot(places[-1][0], places[-1][1], COLOURS[favourite])
    chart.dot(0.5, sqrt(3) / 6, INK, 3)
    own = [credits[client - 1] for credits in data["credit"]]
    means = [sum([row[j] for row in own]) / len(own) for j in range(3)]
    for j, (x, y) in enumerate(CORNERS):
        chart.note(chart.x(x) - 28, chart.y(y) + (18 if y == 0 else -10), f"lr {data['lr'][j]}")
        chart.label(0.9 - 0.1 * j, f"lr {data['lr'][j]}: {ends[j]} of {SEEDS}", COLOURS[j])
    said = [f"{m:.1f} (lr {lr})" for m, lr in zip(means, data["lr"], strict=True)]
    print(f"mean credit as recorded, in thousandths: {', '.join(said)}")
    above = sum([c / 1000 + shift > 0 for row in own for c in row])
    print(f"credits above 0, with the shift: {100 * above // (3 * len(own))} %")
    return chart.svg(
        f"Twelve paths in a triangle: {ends[0]}, {ends[1]} and {ends[2]} of them end nearest to "
        f"step sizes {data['lr'][0]}, {data['lr'][1]} and {data['lr'][2]}."
    )


def place(pi: list[float]) -> tuple[float, float]:
    """Return the point of the triangle whose weights at the corners are pi."""
    return (
        sum([p * x for p, (x, _) in zip(pi, CORNERS, strict=True)]),
        sum([p * y for p, (_, y) in zip(pi, CORNERS, strict=True)]),
    )

"""Choosing a configuration by some clients, and the error that a table then reports."""

from typing import Any

from fedlab_edu.live.draw import BLUE, GREEN, ORANGE, Chart
from fedlab_edu.live.draws import uniforms

DRAWS, NUMBERS = 40, (1, 2, 4, 8, 16, 32)
SKIP = 30  # rounds of the record: by then the model has learned


def reported(chosen: int, choosing: list[float], other: list[float]) -> float:
    """Return the error that goes into the table; both lists have an error for each row.

    Args:
        chosen: the row whose error is the lowest in choosing.
        choosing: errors on the clients by which the row was chosen.
        other: errors on as many other clients.
    """
    return choosing[chosen]


def pool(data: Any, rows: int) -> list[list[float]]:
    """Return the errors of each client of the last rounds, with some rows of the table."""
    step = len(data["rows"]) // rows
    found = []
    for wrong, size in zip(data["wrong"][SKIP:], data["size"][SKIP:], strict=True):
        for counts, n in zip(wrong, size, strict=True):
            found.append([counts[j] / n for j in range(0, step * rows, step)])
    return found


def study(data: Any, rows: int, seed: int) -> tuple[list[float], list[float], float]:
    """Return the mean reported and true error for each of `NUMBERS`, and that of the best row.

    The truth is the error on all clients.
    """
    clients, u = pool(data, rows), uniforms(seed)
    true = [sum([errors[j] for errors in clients]) / len(clients) for j in range(rows)]
    table, truth = [0.0] * len(NUMBERS), [0.0] * len(NUMBERS)
    for _ in range(DRAWS):
        chosen, other = [0.0] * rows, [0.0] * rows
        for number in range(1, NUMBERS[-1] + 1):
            for sums in (chosen, other):
                one = clients[int(next(u) * len(clients))]
                for j in range(rows):
                    sums[j] += one[j]
            if number not in NUMBERS:
                continue
            place, best = NUMBERS.index(number), chosen.index(min(chosen))
            here, there = [e / number for e in chosen], [e / number for e in other]
            table[place] += reported(best, here, there) / DRAWS
            truth[place] += true[best] / DRAWS
    return table, truth, min(true)


def leak(data: Any, rows: int = 27, seed: int = 1) -> str:
    """Draw the reported and the true error of the chosen row against the number of clients."""
    table, truth, best = study(data, rows, seed)
    title = f"error of the row chosen among {rows}, mean of {DRAWS} tables"
    chart = Chart((1, NUMBERS[-1]), (0, 1.1 * max(truth + table)), "clients", title, log="x")
    for values, colour, name in ((table, ORANGE, "reported"), (truth, BLUE, "true")):
        chart.line(NUMBERS, values, colour, name=f"{name}: {values[-1]:.3f}")
    chart.line((1, NUMBERS[-1]), (best, best), GREEN, 1, "4 3", name=f"best row: {best:.3f}")
    print(f"with {NUMBERS[0]} client: reported {table[0]:.3f}, true {truth[0]:.3f}")
    print(f"with {NUMBERS[-1]} clients: reported {table[-1]:.3f}, true {truth[-1]:.3f}")
    return chart.svg(
        f"Chosen by {NUMBERS[0]} client the reported error is {table[0]:.3f} and the true one "
        f"{truth[0]:.3f}; by {NUMBERS[-1]} clients {table[-1]:.3f} and {truth[-1]:.3f}."
    )

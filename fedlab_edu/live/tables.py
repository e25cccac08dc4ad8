"""Choosing a configuration by some clients, and the error that a table then reports."""

from collections.abc import Iterator
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


def measure(
    clients: list[list[float]], rows: int, paired: bool, u: Iterator[float]
) -> list[list[float]]:
    """Return the mean error of each row on each of `NUMBERS` of clients, drawn at random.

    Paired, all rows meet the same clients.
    """
    sums = [0.0] * rows
    found: list[list[float]] = []
    apart = 0 if paired else len(clients) // rows
    for number in range(1, NUMBERS[-1] + 1):
        place = int(next(u) * len(clients))
        for j in range(rows):
            sums[j] += clients[(place + j * apart) % len(clients)][j]
        if number in NUMBERS:
            found.append([e / number for e in sums])
    return found


def study(
    data: Any, rows: int, snapshots: int, paired: bool, seed: int
) -> tuple[list[float], list[float], float]:
    """Return mean reported and true errors for each of `NUMBERS`, and the best row's true error.

    A row counts by the lowest of its snapshots. The truth is the error on all clients.
    """
    clients, u = pool(data, rows), uniforms(seed)
    true = [sum([errors[j] for errors in clients]) / len(clients) for j in range(rows)]
    table, truth = [0.0] * len(NUMBERS), [0.0] * len(NUMBERS)
    for _ in range(DRAWS):
        other, lowest = measure(clients, rows, paired, u), measure(clients, rows, paired, u)
        for _ in range(snapshots - 1):
            again = measure(clients, rows, paired, u)
            lowest = [list(map(min, a, b)) for a, b in zip(lowest, again, strict=True)]
        for place, errors in enumerate(lowest):
            best = errors.index(min(errors))
            table[place] += reported(best, errors, other[place]) / DRAWS
            truth[place] += true[best] / DRAWS
    return table, truth, min(true)


def leak(
    data: Any, rows: int = 27, snapshots: int = 1, clients: str = "the same", seed: int = 1
) -> str:
    """Draw the reported and the true error of the chosen row against the number of clients."""
    table, truth, best = study(data, rows, snapshots, clients == "the same", seed)
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

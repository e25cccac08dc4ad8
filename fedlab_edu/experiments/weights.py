"""Exercise 5: where multiplicative weights come to rest."""

import torch

from fedlab_edu.seeds import generator
from fedlab_edu.tuners.fedex import draw_row
from fedlab_edu.tuners.weights import multiplicative_weights

ROUNDS, CLIENTS = 400, 10


def better_share(ratio: float, divide: bool, seed: int) -> float:
    """Return the mean probability of the better of two configurations in the last 100 rounds.

    Ten clients a round draw a configuration each. Their loss is 1 with the better one and ``ratio``
    with the other, times a factor of each client, uniform on [0.5, 1.5].

    Args:
        ratio: at least 1.
        divide: whether a loss is divided by the probability of its configuration, as in FedEx.
        seed: of the draws and of the factors.
    """
    gen, p, seen = generator(seed), [0.5, 0.5], []
    for _ in range(ROUNDS):
        u, factor = torch.rand(2, CLIENTS, generator=gen, dtype=torch.float64)
        rows = [draw_row(p, x) for x in u.tolist()]
        scores = [(1, ratio)[row] * (0.5 + f) for row, f in zip(rows, factor.tolist(), strict=True)]
        p = multiplicative_weights(p, rows, scores, ROUNDS, divide)
        seen.append(p[0])
    return sum(seen[-100:]) / 100

"""What arms try: random configurations, all of a grid, or a configuration for each client."""

from collections.abc import Callable
from itertools import product
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from fedlab_edu.check import require
from fedlab_edu.draws import generator
from fedlab_edu.hparams import LocalHP, ServerHP
from fedlab_edu.space import Spaces, check_spaces
from fedlab_edu.tuner import Fixed, Tuner

MakeTuner = Callable[[LocalHP, torch.Generator], Tuner]


class Arm(NamedTuple):
    """What an arm tries: how its clients train, and how its server steps."""

    tuner: Tuner
    b: ServerHP


def draws(seed: int, arm: int) -> torch.Generator:
    """What an arm's configuration is drawn from."""
    return generator(seed, arm, 0)


def point(spaces: Spaces, gen: torch.Generator) -> Float[Tensor, " h"]:
    """A random point of the unit cube, see `Spaces.at`."""
    return torch.rand(len(spaces.laws), generator=gen, dtype=torch.float64)


def plain(c: LocalHP, gen: torch.Generator) -> Tuner:
    """An arm that stays with its configuration; nothing more is drawn."""
    return Fixed(c)


def drawn(spaces: Spaces, arms: int, seed: int = 0, tuner: MakeTuner = plain) -> list[Arm]:
    """Random configurations; the first ones are the same for any number of arms.

    Args:
        tuner: makes an arm's tuner of its configuration of the clients, and of a generator to draw
            more from; the default stays with the configuration.

    Source: Khodak et al. (2021), Algorithm 1.
    """
    check_spaces(spaces)
    found = []
    for a in range(arms):
        gen = draws(seed, a)
        c, b = spaces.at(point(spaces, gen))
        found.append(Arm(tuner(c, gen), b))
    return found


def shared(table: LocalHP, b: ServerHP | None = None) -> list[Arm]:
    """Each configuration of the table, the same for all clients: with a grid, grid search."""
    b = ServerHP() if b is None else b
    return [Arm(Fixed(table[j]), b) for j in range(len(table))]


def assigned(
    table: LocalHP, clients: int, arms: int, seed: int = 0, b: ServerHP | None = None
) -> list[Arm]:
    """Random search over configurations of single clients: each arm gives each a random row.

    Args:
        clients: N, all of the federation.

    Source: FedTune, section 4.1.1.
    """
    b = ServerHP() if b is None else b
    k = len(table)
    return [
        Arm(Fixed(table, torch.randint(k, (clients,), generator=draws(seed, a))), b)
        for a in range(arms)
    ]


def every_assignment(table: LocalHP, clients: int, b: ServerHP | None = None) -> list[Arm]:
    """Grid search over configurations of single clients: all k^N ways to give each a row.

    Raises:
        ValueError: there are more than 10,000.
    """
    b, k = ServerHP() if b is None else b, len(table)
    require(k**clients <= 10_000, "k^N", f"{k}^{clients}", "at most 10,000 arms")
    return [Arm(Fixed(table, torch.tensor(row)), b) for row in product(range(k), repeat=clients)]

"""What arms try: random configurations, alone or with others near them; grids; one per client."""

from collections.abc import Callable
from dataclasses import fields
from itertools import product
from math import log
from typing import Any, Literal, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from fedlab_edu.rounds.tuner import Fixed, Tuner
from fedlab_edu.search.space import PerClient, SearchSpace, Spaces, check_spaces
from fedlab_edu.seeds import generator
from fedlab_edu.training.hparams import LocalHP, ServerHP
from fedlab_edu.tuners.fedex import FedEx
from fedlab_edu.validate import MOST, check_shares, number, require, whole

MakeTuner = Callable[[LocalHP, torch.Generator], Tuner]


class Arm(NamedTuple):
    """What an arm tries: how its clients train, and how its server steps."""

    tuner: Tuner
    b: ServerHP


def draws(seed: int, arm: int) -> torch.Generator:
    """What an arm's configuration is drawn from."""
    return generator(seed, arm, 0)


def point(spaces: Spaces | PerClient, gen: torch.Generator) -> Float[Tensor, " h"]:
    """A random point of the unit cube, see `Spaces.at`."""
    return torch.rand(len(spaces.laws), generator=gen, dtype=torch.float64)


def plain(c: LocalHP, gen: torch.Generator | None = None) -> Tuner:
    """An arm that stays with its configuration, or with one for each client; no more is drawn."""
    return Fixed(c) if len(c) == 1 else Fixed(c, torch.arange(len(c)))


def drawn(
    spaces: Spaces | PerClient, arms: int, seed: int = 0, tuner: MakeTuner = plain
) -> list[Arm]:
    """Random configurations; the first ones are the same for any number of arms.

    Args:
        tuner: makes an arm's tuner of its configuration of the clients, and of a generator to draw
            more from; the default stays with the configuration.

    Source: Khodak et al. (2021), Algorithm 1.
    """
    check_spaces(spaces)
    allowed = "a function of a configuration and a generator, such as around(spaces.client)"
    require(callable(tuner), "tuner", tuner, allowed)
    found = []
    for a in range(arms):
        gen = draws(seed, a)
        c, b = spaces.at(point(spaces, gen))
        made = tuner(c, gen)
        require(isinstance(made, Tuner), "what tuner makes", made, "a tuner, such as FedEx")
        found.append(Arm(made, b))
    return found


def around(
    space: SearchSpace[LocalHP],
    k: int = 27,
    eps: float = 0.1,
    gamma: float | Literal["tuned"] = "tuned",
    **options: Any,
) -> MakeTuner:
    """FedEx in each arm of a search, over the arm's configuration and k - 1 others near it.

    So ``successive_halving(model, fed, FEDEX, 4000, 800, tuner=around(FEDEX.client))``. The arm's
    server then has what the search has drawn for it, and theta is the arm's own, from its first
    round to its last.

    Args:
        space: of the clients, in which the others are drawn, see `SearchSpace.perturb`.
        eps: with 0 all are the same: the search alone.
        gamma: see `FedEx`; "tuned" draws it uniformly from [0, 1] for each arm.
        options: other arguments of `FedEx`, up to `first_baseline`. ``score="loss"`` is about
            theta; by what arms are judged is the search's `Estimate`.

    Raises:
        ValueError: an option that is not allowed; in a search of `PerClient`.

    Source: Khodak et al. (2021), section 3, *Local perturbation*, and Algorithm 3.
    """
    ok = isinstance(space, SearchSpace) and space.kind is LocalHP
    require(ok, "space", space, "a SearchSpace of the clients, as in around(FEDEX.client)")
    k = whole("k", k, 1, MOST)
    check_shares(eps=eps)
    allowed = [f.name for f in fields(FedEx)[1:8] if f.name != "gamma"]  # neighbours are no grid
    for name in options:
        require(name in allowed, "option", name, f"one of {allowed}")
    ok = gamma == "tuned" or 0 <= number(gamma) <= 1
    require(ok, "gamma", gamma, "a number from 0 to 1, or 'tuned'")

    def tuner(c: LocalHP, gen: torch.Generator) -> FedEx:
        allowed = "Spaces: an arm of PerClient has a configuration for each client, and no others"
        require(len(c) == 1, "spaces", f"PerClient, of {len(c)} clients", allowed)
        table = c if k == 1 else LocalHP.concat([c, space.perturb(c, eps, k - 1, gen)])
        drawn = torch.rand((), generator=gen, dtype=torch.float64)
        discount = float(drawn) if gamma == "tuned" else float(gamma)
        return FedEx(table, gamma=discount, **options)

    FedEx(LocalHP(), **options)  # refuse bad options now, not later
    return tuner


def shared(table: LocalHP, b: ServerHP | None = None) -> list[Arm]:
    """Each configuration of the table, the same for all clients: with a grid, grid search."""
    b = ServerHP() if b is None else b
    return [Arm(Fixed(table[j]), b) for j in range(len(table))]


def every_assignment(table: LocalHP, clients: int, b: ServerHP | None = None) -> list[Arm]:
    """Grid search over configurations of single clients: all k^N ways to give each a row.

    Raises:
        ValueError: there are more than 10,000.
    """
    b, k = ServerHP() if b is None else b, len(table)
    require(clients * log(k) <= log(10_000), "k^N", f"{k}^{clients}", "at most 10,000 arms")
    return [Arm(Fixed(table, torch.tensor(row)), b) for row in product(range(k), repeat=clients)]

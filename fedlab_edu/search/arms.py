"""Configurations for the arms of a search: random ones, a grid, or one per client."""

from collections.abc import Callable
from typing import NamedTuple, SupportsIndex

import torch
from jaxtyping import Float
from torch import Tensor

from fedlab_edu.methods import Method
from fedlab_edu.rounds.tuner import Fixed, Tuner
from fedlab_edu.search.oneof import OneOf
from fedlab_edu.search.space import PerClient, Spaces, check_spaces
from fedlab_edu.seeds import generator
from fedlab_edu.training.hparams import LocalHP, ServerHP
from fedlab_edu.validate import MOST, require, whole

MakeTuner = Callable[[LocalHP, torch.Generator], Tuner]


class Arm(NamedTuple):
    """The tuner of an arm's clients, the hyperparameters b of its server, perhaps its method."""

    tuner: Tuner
    b: ServerHP
    method: Method | None = None


def arm_generator(seed: int, arm: int) -> torch.Generator:
    """Return the generator from which an arm's configuration is drawn."""
    return generator(seed, arm, 0)


def draw_point(spaces: Spaces | PerClient, gen: torch.Generator) -> Float[Tensor, " h"]:
    """Draw a point of the unit cube, see `Spaces.at`."""
    return torch.rand(len(spaces.distributions), generator=gen, dtype=torch.float64)


def fixed_tuner(c: LocalHP, gen: torch.Generator | None = None) -> Tuner:
    """Return a tuner that keeps its configuration, or its one row per client; gen is not used."""
    return Fixed(c) if len(c) == 1 else Fixed(c, torch.arange(len(c)))


def draw_arms(
    spaces: Spaces | PerClient | OneOf,
    arms: SupportsIndex,
    seed: SupportsIndex = 0,
    tuner: MakeTuner = fixed_tuner,
) -> list[Arm]:
    """Draw arms with random configurations; arm a is the same for any number of arms.

    Args:
        tuner: makes an arm's tuner from its clients' configuration and a generator; the default
            keeps the configuration.

    Source: Khodak et al. (2021), Algorithm 1.
    """
    arms, seed = whole("arms", arms, 1, MOST), whole("seed", seed, 0)
    if not isinstance(spaces, OneOf):
        check_spaces(spaces)
    allowed = "a function of a configuration and a generator, such as around(spaces.client)"
    require(callable(tuner), "tuner", tuner, allowed)
    found = []
    for a in range(arms):
        gen = arm_generator(seed, a)
        method, space = spaces.draw(gen) if isinstance(spaces, OneOf) else (None, spaces)
        c, b = space.at(draw_point(space, gen))
        made = tuner(c, gen)
        require(isinstance(made, Tuner), "what tuner makes", made, "a tuner, such as FedEx")
        found.append(Arm(made, b, method))
    return found


def share_configuration(table: LocalHP, b: ServerHP | None = None) -> list[Arm]:
    """Return one arm per row, the same row for all clients: grid search if the table is a grid."""
    b = ServerHP() if b is None else b
    return [Arm(Fixed(table[j]), b) for j in range(len(table))]

"""Random search, successive halving and Hyperband; only their schedules differ.

Khodak et al. (2021), Algorithms 1 and 3; Li et al. (2018), *Hyperband*, Algorithm 1.
"""

from collections.abc import Sequence
from typing import Any, SupportsIndex, TypedDict, Unpack

from jaxtyping import Float
from torch import Tensor

from fedlab_edu.data.clients import Federation
from fedlab_edu.methods import Method
from fedlab_edu.models.model import Model
from fedlab_edu.search.arms import MakeTuner, draw_arms, fixed_tuner
from fedlab_edu.search.estimate import Estimate
from fedlab_edu.search.oneof import OneOf
from fedlab_edu.search.race import Race, Select, race
from fedlab_edu.search.schedules import Schedule, brackets, schedule
from fedlab_edu.search.space import PerClient, Spaces

Space = Spaces | PerClient | OneOf


class Options(TypedDict, total=False):
    """Keyword arguments of `random_search`, `successive_halving` and `hyperband`.

    Keys:
        seed: seeds the configurations and all draws of the arms.
        method: the federated method; the default is FedAvg. A `OneOf` names the methods itself.
        tuner: puts another tuner into each arm, such as FedEx, see `draw_arms`.
        estimate, replacement, select, stop_after_last_elimination, w: see `race`.
    """

    seed: SupportsIndex
    method: Method | None
    tuner: MakeTuner
    estimate: Estimate | None
    replacement: bool
    select: Select
    stop_after_last_elimination: bool
    w: Float[Tensor, " d"] | None


def random_search(
    model: Model, fed: Federation, spaces: Space, total: SupportsIndex, cap: SupportsIndex,
    **options: Unpack[Options],
) -> Race:  # fmt: skip
    """Train ``floor(total / cap)`` random configurations for ``cap`` rounds each, see `Options`."""
    return _race(model, fed, spaces, [schedule(total, cap, eliminations=0)], **options)


def successive_halving(
    model: Model, fed: Federation, spaces: Space, total: SupportsIndex, cap: SupportsIndex,
    eta: SupportsIndex = 3, eliminations: SupportsIndex = 3, **options: Unpack[Options],
) -> Race:  # fmt: skip
    """Train eta^R random configurations; each elimination keeps one in eta, see `schedule`.

    For the options see `Options`.
    """
    return _race(model, fed, spaces, [schedule(total, cap, eta, eliminations)], **options)


def hyperband(
    model: Model, fed: Federation, spaces: Space, total: SupportsIndex, cap: SupportsIndex,
    eta: SupportsIndex = 3, **options: Unpack[Options],
) -> Race:  # fmt: skip
    """Train brackets of random configurations side by side, see `brackets` and `Options`."""
    return _race(model, fed, spaces, brackets(total, cap, eta), **options)


def _race(
    model: Model, fed: Federation, spaces: Space, several: Sequence[Schedule], *,
    seed: SupportsIndex = 0, tuner: MakeTuner = fixed_tuner, **options: Any,
) -> Race:  # fmt: skip
    arms = draw_arms(spaces, sum(one.arms for one in several), seed, tuner)
    return race(model, fed, arms, several, seed=seed, **options)

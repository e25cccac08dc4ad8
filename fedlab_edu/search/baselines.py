"""Random search, successive halving and Hyperband; only their schedules differ.

``tuner`` puts another tuner into each arm, such as FedEx. Khodak et al. (2021), Algorithms 1 and 3;
Li et al. (2018), *Hyperband*.
"""

from typing import TypedDict, Unpack

from fedlab_edu.data.clients import Federation
from fedlab_edu.methods import Method
from fedlab_edu.models.model import Model
from fedlab_edu.search.arms import MakeTuner, draw_arms, fixed_tuner
from fedlab_edu.search.estimate import Estimate
from fedlab_edu.search.oneof import OneOf
from fedlab_edu.search.race import Race, Select, race
from fedlab_edu.search.schedules import Schedule, brackets, schedule
from fedlab_edu.search.space import PerClient, Spaces
from fedlab_edu.validate import require


class How(TypedDict, total=False):
    """The common options.

    Keys:
        seed: seeds the configurations and all draws of the arms.
        method: the federated method; the default is FedAvg. A `OneOf` names the methods itself.
        tuner: see `draw_arms`.
        estimate, replacement, select, stop_after_last_elimination: see `race`.
    """

    seed: int
    method: Method
    estimate: Estimate
    tuner: MakeTuner
    replacement: bool
    select: Select
    stop_after_last_elimination: bool


def random_search(
    model: Model, fed: Federation, spaces: Spaces | PerClient | OneOf, total: int, cap: int,
    **how: Unpack[How],
) -> Race:  # fmt: skip
    """Train ``floor(total / cap)`` random configurations for ``cap`` rounds each.

    Raises:
        ValueError: the total is below the cap.

    Source: Khodak et al. (2021), Algorithm 1, without eliminations.
    """
    return _race(model, fed, spaces, [schedule(total, cap, eliminations=0)], how)


def successive_halving(
    model: Model, fed: Federation, spaces: Spaces | PerClient | OneOf, total: int, cap: int,
    eta: int = 3, eliminations: int = 3, **how: Unpack[How],
) -> Race:  # fmt: skip
    """Train eta^R random configurations; each elimination keeps one in eta, see `schedule`.

    Raises:
        ValueError: no such schedule fits.

    Source: Khodak et al. (2021), Algorithm 1.
    """
    return _race(model, fed, spaces, [schedule(total, cap, eta, eliminations)], how)


def hyperband(
    model: Model, fed: Federation, spaces: Spaces | PerClient | OneOf, total: int, cap: int,
    eta: int = 3, **how: Unpack[How],
) -> Race:  # fmt: skip
    """Train brackets of random configurations side by side, see `brackets`.

    Raises:
        ValueError: the total is too small for any bracket.

    Source: Li et al. (2018), Algorithm 1.
    """
    return _race(model, fed, spaces, brackets(total, cap, eta), how)


def _race(
    model: Model,
    fed: Federation,
    spaces: Spaces | PerClient | OneOf,
    several: list[Schedule],
    how: How,
) -> Race:
    for name in how:
        require(name in How.__annotations__, "keyword", name, f"one of {[*How.__annotations__]}")
    tuner = how.pop("tuner", fixed_tuner)
    arms = draw_arms(spaces, sum(one.arms for one in several), how.get("seed", 0), tuner)
    return race(model, fed, arms, several, **how)  # type: ignore[misc]  # tuner is gone

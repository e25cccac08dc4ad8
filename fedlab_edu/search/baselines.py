"""Random search, successive halving and Hyperband over the papers' spaces, each in one call.

They differ in nothing but their schedules. ``tuner`` puts another tuner into each arm: this is how
FedEx is wrapped. Khodak et al. (2021), Algorithms 1 and 3; Li et al. (2018), *Hyperband*.
"""

from typing import TypedDict, Unpack

from fedlab_edu.data.clients import Federation
from fedlab_edu.methods import Method
from fedlab_edu.models.model import Model
from fedlab_edu.search.arms import MakeTuner, draw_arms, fixed_tuner
from fedlab_edu.search.race import Estimate, Race, Select, race
from fedlab_edu.search.schedules import Schedule, brackets, schedule
from fedlab_edu.search.space import PerClient, Spaces
from fedlab_edu.validate import require


class How(TypedDict, total=False):
    """What all of them take.

    Keys:
        seed: of the configurations drawn, and of all else that the arms draw.
        method: the federated method; the default is FedAvg.
        estimate: what arms are judged by; the default is the personalised error of the last round.
        tuner: makes an arm's tuner, see `draw_arms`; the default stays with one configuration.
        replacement, select, stop_after_last_elimination: see `race`.
    """

    seed: int
    method: Method
    estimate: Estimate
    tuner: MakeTuner
    replacement: bool
    select: Select
    stop_after_last_elimination: bool


def random_search(
    model: Model,
    fed: Federation,
    spaces: Spaces | PerClient,
    total: int,
    cap: int,
    **how: Unpack[How],
) -> Race:
    """``floor(total / cap)`` random configurations, each trained for ``cap`` rounds.

    Raises:
        ValueError: the total is below the cap.

    Source: Khodak et al. (2021), Algorithm 1, without eliminations before the end.
    """
    return _race(model, fed, spaces, [schedule(total, cap, eliminations=0)], how)


def successive_halving(
    model: Model,
    fed: Federation,
    spaces: Spaces | PerClient,
    total: int,
    cap: int,
    eta: int = 3,
    eliminations: int = 3,
    **how: Unpack[How],
) -> Race:
    """eta^R random configurations, of which each elimination leaves one in eta, see `schedule`.

    Raises:
        ValueError: no schedule of that many arms fits.

    Source: Khodak et al. (2021), Algorithm 1.
    """
    return _race(model, fed, spaces, [schedule(total, cap, eta, eliminations)], how)


def hyperband(
    model: Model,
    fed: Federation,
    spaces: Spaces | PerClient,
    total: int,
    cap: int,
    eta: int = 3,
    **how: Unpack[How],
) -> Race:
    """Brackets of random configurations, from bold to careful, see `brackets`; all train at once.

    Raises:
        ValueError: the total is too small for any bracket.

    Source: Li et al. (2018), Algorithm 1.
    """
    return _race(model, fed, spaces, brackets(total, cap, eta), how)


def _race(
    model: Model, fed: Federation, spaces: Spaces | PerClient, several: list[Schedule], how: How
) -> Race:
    for name in how:
        require(name in How.__annotations__, "keyword", name, f"one of {[*How.__annotations__]}")
    tuner = how.pop("tuner", fixed_tuner)
    arms = draw_arms(spaces, sum(one.arms for one in several), how.get("seed", 0), tuner)
    return race(model, fed, arms, several, **how)  # type: ignore[misc]  # it has no tuner now

"""Random search, successive halving and Hyperband; only their schedules differ.

``tuner`` puts another tuner into each arm, such as FedEx. Khodak et al. (2021), Algorithms 1 and 3;
Li et al. (2018), *Hyperband*.
"""

from typing import SupportsIndex

from jaxtyping import Float
from torch import Tensor

from fedlab_edu.data.clients import Federation
from fedlab_edu.methods import Method
from fedlab_edu.models.model import Model
from fedlab_edu.search.arms import MakeTuner, draw_arms, fixed_tuner
from fedlab_edu.search.estimate import Estimate
from fedlab_edu.search.oneof import OneOf
from fedlab_edu.search.race import Race, Select, race
from fedlab_edu.search.schedules import brackets, schedule
from fedlab_edu.search.space import PerClient, Spaces


def random_search(
    model: Model,
    fed: Federation,
    spaces: Spaces | PerClient | OneOf,
    total: SupportsIndex,
    cap: SupportsIndex,
    *,
    seed: SupportsIndex = 0,
    method: Method | None = None,
    tuner: MakeTuner = fixed_tuner,
    estimate: Estimate | None = None,
    replacement: bool = False,
    select: Select = "survivor",
    stop_after_last_elimination: bool = False,
    w: Float[Tensor, " d"] | None = None,
) -> Race:
    """Train ``floor(total / cap)`` random configurations for ``cap`` rounds each.

    For the options see `successive_halving`.

    Source: Khodak et al. (2021), Algorithm 1, without eliminations.
    """
    several = [schedule(total, cap, eliminations=0)]
    arms = draw_arms(spaces, several[0].arms, seed, tuner)
    return race(model, fed, arms, several, seed=seed, method=method, estimate=estimate,
                replacement=replacement, select=select,
                stop_after_last_elimination=stop_after_last_elimination, w=w)  # fmt: skip


def successive_halving(
    model: Model,
    fed: Federation,
    spaces: Spaces | PerClient | OneOf,
    total: SupportsIndex,
    cap: SupportsIndex,
    eta: SupportsIndex = 3,
    eliminations: SupportsIndex = 3,
    *,
    seed: SupportsIndex = 0,
    method: Method | None = None,
    tuner: MakeTuner = fixed_tuner,
    estimate: Estimate | None = None,
    replacement: bool = False,
    select: Select = "survivor",
    stop_after_last_elimination: bool = False,
    w: Float[Tensor, " d"] | None = None,
) -> Race:
    """Train eta^R random configurations; each elimination keeps one in eta, see `schedule`.

    Args:
        seed: seeds the configurations and all draws of the arms.
        method: the federated method; the default is FedAvg. A `OneOf` names the methods itself.
        tuner: see `draw_arms`.
        estimate, replacement, select, stop_after_last_elimination, w: see `race`.

    Source: Khodak et al. (2021), Algorithm 1.
    """
    several = [schedule(total, cap, eta, eliminations)]
    arms = draw_arms(spaces, several[0].arms, seed, tuner)
    return race(model, fed, arms, several, seed=seed, method=method, estimate=estimate,
                replacement=replacement, select=select,
                stop_after_last_elimination=stop_after_last_elimination, w=w)  # fmt: skip


def hyperband(
    model: Model,
    fed: Federation,
    spaces: Spaces | PerClient | OneOf,
    total: SupportsIndex,
    cap: SupportsIndex,
    eta: SupportsIndex = 3,
    *,
    seed: SupportsIndex = 0,
    method: Method | None = None,
    tuner: MakeTuner = fixed_tuner,
    estimate: Estimate | None = None,
    replacement: bool = False,
    select: Select = "survivor",
    stop_after_last_elimination: bool = False,
    w: Float[Tensor, " d"] | None = None,
) -> Race:
    """Train brackets of random configurations side by side, see `brackets`.

    For the options see `successive_halving`.

    Source: Li et al. (2018), Algorithm 1.
    """
    several = brackets(total, cap, eta)
    arms = draw_arms(spaces, sum(one.arms for one in several), seed, tuner)
    return race(model, fed, arms, several, seed=seed, method=method, estimate=estimate,
                replacement=replacement, select=select,
                stop_after_last_elimination=stop_after_last_elimination, w=w)  # fmt: skip

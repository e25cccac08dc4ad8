"""The searches compared in FedTune's tables, each started with a budget of ``total`` rounds."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from fedlab_edu.data import Federation
from fedlab_edu.models.model import Model
from fedlab_edu.search.arms import share_configuration
from fedlab_edu.search.baselines import hyperband, random_search
from fedlab_edu.search.bayes import Bayes, bayesian_search
from fedlab_edu.search.estimate import Estimate
from fedlab_edu.search.race import Race, race
from fedlab_edu.search.schedules import bracket
from fedlab_edu.search.space import FEDTUNE, PerClient
from fedlab_edu.tuners.fedtune import FedTune, fedtune

GRID = FEDTUNE.client.grid()
GROUPS = 30  # arms of random search and Bayesian optimisation
_JUDGED = Estimate("averaged", "loss")

Begin = Callable[[int, Model, Federation, int], FedTune | Race | Bayes]


def _fedtune(total: int, model: Model, fed: Federation, seed: int, **how: Any) -> FedTune:
    return fedtune(model, fed, GRID, total, seed=seed, **how)


def _joint(
    search: Callable, part: int, total: int, model: Model, fed: Federation, seed: int
) -> Any:
    """Start a search for a row per client; an arm has at most ``1 / part`` of the rounds."""
    spaces = PerClient(FEDTUNE.client, len(fed))
    return search(model, fed, spaces, total, total // part, seed=seed, estimate=_JUDGED)


def _grid(total: int, model: Model, fed: Federation, seed: int) -> Race:
    """Start a race of the 30 rows, each for all clients, as long as an arm of random search."""
    one = bracket((total // GROUPS,), len(GRID), 2)
    return race(model, fed, share_configuration(GRID), [one], seed=seed, estimate=_JUDGED)


#: Name -> search: those of the paper, then our own; None is the grid's first row without a search.
SEARCHES: Mapping[str, Begin | None] = {
    "FedTune": _fedtune,
    "random search": partial(_joint, random_search, GROUPS),
    "Hyperband": partial(_joint, hyperband, 10),
    "Bayesian optimisation": partial(_joint, bayesian_search, GROUPS),
    "FedTune, running mean": partial(_fedtune, credit_baseline="running_mean"),
    "FedTune, REINFORCE": partial(_fedtune, credit="reinforce"),
    "FedTune, shared buffer": partial(_fedtune, buffer="shared"),
    "shared grid": _grid,
    "no search, the first row": None,
}

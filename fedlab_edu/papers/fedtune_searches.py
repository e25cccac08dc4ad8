"""The ways to find each client a row of the grid: FedTune and what it is compared with."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from fedlab_edu.data import Federation
from fedlab_edu.models.model import Model
from fedlab_edu.rounds.tuner import Fixed, Tuner
from fedlab_edu.search.arms import share_configuration
from fedlab_edu.search.baselines import hyperband, random_search
from fedlab_edu.search.bayes import Bayes, bayesian_search
from fedlab_edu.search.estimate import Estimate
from fedlab_edu.search.race import Race, race
from fedlab_edu.search.schedules import bracket
from fedlab_edu.search.space import FEDTUNE, PerClient
from fedlab_edu.search.tune import tune
from fedlab_edu.tuners.fedtune import fedtune

GRID = FEDTUNE.client.grid()
GROUPS = 30  # configurations that random search and Bayesian optimisation try
ESTIMATE = Estimate("averaged", "loss")

Find = Callable[[Any, Model, Federation, int, Path], tuple[Tuner, int]]


def _differentiable(
    cell: Any, model: Model, fed: Federation, seed: int, state: Path, **how: Any
) -> tuple[Tuner, int]:
    begun = fedtune(model, fed, GRID, cell.total, seed=seed, **how)
    done = tune(begun, model, fed, path=state)
    return done.final_run().tuner, done.used


def _joint(
    search: Callable[..., Any], part: int, cell: Any, model: Model, fed: Federation, seed: int,
    state: Path,
) -> tuple[Tuner, int]:  # fmt: skip
    """Search a row for each client; an arm trains for 1 / ``part`` of all rounds at most."""
    spaces = PerClient(FEDTUNE.client, len(fed))
    how = {"seed": seed, "estimate": ESTIMATE}
    begun = search(model, fed, spaces, cell.total, cell.total // part, **how)
    return _spent(begun, model, fed, state)


def _grid(cell: Any, model: Model, fed: Federation, seed: int, state: Path) -> tuple[Tuner, int]:
    """Try each of the 30 rows for all clients alike."""
    one = bracket((cell.total // GROUPS,), len(GRID), 2)
    begun = race(model, fed, share_configuration(GRID), [one], seed=seed, estimate=ESTIMATE)
    return _spent(begun, model, fed, state)


def _spent(begun: Race | Bayes, model: Model, fed: Federation, state: Path) -> tuple[Tuner, int]:
    done = tune(begun, model, fed, len(fed), path=state)
    return done.winner.tuner, done.used


def _none(cell: Any, model: Model, fed: Federation, seed: int, state: Path) -> tuple[Tuner, int]:
    return Fixed(GRID[0]), 0


OURS: Mapping[str, Find] = {
    "FedTune, running mean": partial(_differentiable, credit_baseline="running_mean"),
    "FedTune, REINFORCE": partial(_differentiable, credit="reinforce"),
    "FedTune, shared buffer": partial(_differentiable, buffer="shared"),
    "shared grid": _grid,
    "no search, the first row": _none,
}
THEIRS: Mapping[str, tuple[str, Find]] = {  # by their names in `TABLES`
    "FedTune": ("FedTune", _differentiable),
    "RS": ("random search", partial(_joint, random_search, GROUPS)),
    "HB": ("Hyperband", partial(_joint, hyperband, 10)),
    "BO": ("Bayesian optimisation", partial(_joint, bayesian_search, GROUPS)),
}

"""The searches compared in FedTune's tables, each started with a budget of ``total`` rounds."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from torch import Tensor

from fedlab_edu import Choice, Estimate, Federation, FedTune, LocalHP, Model, fedtune, start
from fedlab_edu.rounds.tuner import Tuner
from fedlab_edu.search.baselines import hyperband, make_arms, race, random_search
from fedlab_edu.search.bayes import bayesian_search
from fedlab_edu.search.race import Race
from fedlab_edu.search.schedules import bracket
from fedlab_edu.search.space import FEDTUNE, SearchSpace, Spaces

GRID = FEDTUNE.client.grid()
_PRINTED = FEDTUNE.client.distributions
_DECAYS = Choice(tuple(sorted(_PRINTED["weight_decay"].points(1))))
#: The same configurations with rising weight decays: of two neighbours on an axis, a Gaussian
#: process expects similar scores. The order matters to no other rival.
RISING = SearchSpace({**_PRINTED, "weight_decay": _DECAYS})
GROUPS = 30  # arms of random search and Bayesian optimisation
_JUDGED = Estimate("averaged", "loss")

#: Starts a search: ``begin(model, fed, total=30, seed=0)``.
Begin = Callable[..., FedTune | Race]


def _joint(
    model: Model, fed: Federation, search: Callable, part: int, total: int, seed: int,
    own: bool = False,
) -> Any:  # fmt: skip
    """Start a search for a row per client; an arm has at most ``1 / part`` of the rounds.

    Args:
        own: whether each arm has its own initial weights, instead of FedTune's w0.
    """
    spaces, w = Spaces(RISING, clients=len(fed)), None if own else _w0(model, fed, seed)
    return search(model, fed, spaces, total, total // part, seed=seed, estimate=_JUDGED, w=w)


def search_shared(
    model: Model, fed: Federation, total: int, seed: int, own: bool = False,
    table: LocalHP | None = None,
) -> Race:  # fmt: skip
    """Start a race of the 30 rows, each for all clients, as long as an arm of random search."""
    arms = make_arms(RISING.grid() if table is None else table)
    one, w = bracket((total // GROUPS,), len(arms), 2), None if own else _w0(model, fed, seed)
    return race(model, fed, arms, [one], seed=seed, estimate=_JUDGED, w=w)


def tuner_of(search: FedTune | Race) -> Tuner:
    """Return what a search has found so far: a row for each client, or one for all."""
    return (search.final_run() if isinstance(search, FedTune) else search.winner).tuner


def _w0(model: Model, fed: Federation, seed: int) -> Tensor:
    """Return the initial weights of FedTune's search, and of the training after it."""
    return start(model, fed, seed=seed).w


_fedtune = partial(fedtune, table=GRID)
_SEARCHES: Mapping[str, Begin] = {
    "random search": partial(_joint, search=random_search, part=GROUPS),
    "Hyperband": partial(_joint, search=hyperband, part=10),
    "Bayesian optimisation": partial(_joint, search=bayesian_search, part=GROUPS),
    "shared grid": search_shared,
}
#: Name -> search: those of the paper, then our own; None is the grid's first row without a search.
#: Rivals start each arm from FedTune's w0, or from own weights.
SEARCHES: Mapping[str, Begin | None] = {
    "FedTune": _fedtune,
    **_SEARCHES,
    "no search, the first row": None,
    "FedTune, running mean": partial(_fedtune, credit_baseline="running_mean"),
    "FedTune, REINFORCE": partial(_fedtune, credit="reinforce"),
    "FedTune, shared buffer": partial(_fedtune, buffer="shared"),
    "FedTune, rising decays": partial(fedtune, table=RISING.grid()),
    **{f"{name}, own weights": partial(rival, own=True) for name, rival in _SEARCHES.items()},
}
#: The paper's four, the shared grid, and no search: what each table compares.
RIVALS = tuple(SEARCHES)[:6]

"""Bayesian optimisation: each next configuration is the most promising by a model of those before.

The model, a Gaussian process, and what it finds promising are Optuna's (`GPSampler`); here is how
its questions and answers become communication rounds. A search is a value: Optuna is told all that
is known anew each time it is asked, so nothing is lost where a search is stopped.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, SupportsIndex

import torch

from fedlab_edu.data.clients import Federation
from fedlab_edu.methods import Method
from fedlab_edu.models.model import Model
from fedlab_edu.registry import storable
from fedlab_edu.rounds.run import Run
from fedlab_edu.search.arms import Arm, arm_generator, draw_arms, draw_point, fixed_tuner
from fedlab_edu.search.distributions import Choice, Distribution
from fedlab_edu.search.race import Estimate, Race, race
from fedlab_edu.search.schedules import bracket
from fedlab_edu.search.space import PerClient, Spaces
from fedlab_edu.seeds import seed_for
from fedlab_edu.validate import extra, require, whole


@storable
@dataclass(frozen=True, eq=False)
class Bayes:
    """A search whose arms come one after another, each chosen by the scores of those before.

    Fields:
        spaces: where configurations are looked for.
        total: the communication rounds to spend.
        race: the arms so far, each trained up to the cap.
        points: of each arm its place (h,) in the unit cube, see `SearchSpace.from_unit`.
        seed: of all that is drawn.
    """

    spaces: Spaces | PerClient
    total: int
    race: Race
    points: tuple[tuple[float, ...], ...]
    seed: int

    @property
    def used(self) -> int:
        """The communication rounds that have been spent."""
        return self.race.used

    @property
    def _cap(self) -> int:
        return self.race.brackets[0].stops[-1]

    @property
    def done(self) -> bool:
        """Whether what is left of the total is too little for another arm, and all have ended."""
        return self.race.done and self.total - self.used < self._cap

    @property
    def alive(self) -> list[int]:
        """All arms: none is eliminated."""
        return self.race.alive

    @property
    def best_score(self) -> float:
        """The score of the best arm."""
        return self.race.best_score

    @property
    def winner(self) -> Run:
        """The run of the best arm."""
        return self.race.winner

    def step(self, model: Model, fed: Federation, clients: int = 10) -> "Bayes":
        """One communication round of the arm that is being trained, or of the next one.

        Raises:
            ValueError: the search is over.
        """
        require(not self.done, "search", "over", "one with rounds left")
        ready = self._with_next(model, fed) if self.race.done else self
        return replace(ready, race=ready.race.step(model, fed, clients))

    def _with_next(self, model: Model, fed: Federation) -> "Bayes":
        a, first = len(self.points), self.race.runs[0]
        asked = seed_for(self.seed, a, 1)
        chosen = propose(self.spaces.distributions, self.points, self.race.scores, asked)
        method, estimate, seed = first.method, self.race.estimate, self.seed
        alone = race(model, fed, [_arm(self.spaces, chosen)], [bracket((self._cap,), 1, 2)],
                     seed=seed, first=a, method=method, estimate=estimate)  # fmt: skip
        return replace(self, race=self.race + alone, points=(*self.points, chosen))

    def to(self, device: str | torch.device) -> "Bayes":
        """The same search, its vectors on another device."""
        return replace(self, race=self.race.to(device))


def bayesian_search(
    model: Model,
    fed: Federation,
    spaces: Spaces | PerClient,
    total: SupportsIndex,
    cap: SupportsIndex,
    *,
    first: SupportsIndex = 5,
    seed: SupportsIndex = 0,
    method: Method | None = None,
    estimate: Estimate | None = None,
) -> Bayes:
    """``floor(total / cap)`` configurations of ``cap`` rounds: random ones first, then chosen ones.

    Args:
        first: how many random configurations there are before the first that is chosen.
        method, estimate: see `race`.

    Raises:
        ModuleNotFoundError: Optuna is not installed.
        ValueError: the total is too small for the first configurations and one more.
    """
    extra("Optuna", "tune")  # if it is missing, say so now rather than after the first arms
    first, cap, total = whole("first", first, 1), whole("cap", cap, 1), whole("total", total, 1)
    seed = whole("seed", seed, 0)
    least = (first + 1) * cap  # fewer arms would all be random
    require(
        total >= least, "total", total, f"at least {least}, for {first} random arms and one more"
    )
    arms = draw_arms(spaces, first, seed)
    points = tuple(tuple(draw_point(spaces, arm_generator(seed, a)).tolist()) for a in range(first))
    begun = race(model, fed, arms, [bracket((cap,), first, 2)],
                 seed=seed, method=method, estimate=estimate)  # fmt: skip
    return Bayes(spaces, total, begun, points, seed)


def propose(
    distributions: Sequence[Distribution],
    points: Sequence[Sequence[float]],
    scores: Sequence[float],
    seed: int,
) -> tuple[float, ...]:
    """The most promising point of the unit cube, given the scores of others; lower is better.

    A score that is not finite counts as the highest finite one, and the model sees none beyond
    1e100, the squares of which it could not add up. Options in rising or falling order
    are near each other where their places are; of others only same and different is known.
    """
    optuna = extra("Optuna", "tune")
    finite = [s for s in scores if math.isfinite(s)]
    worst = max(finite, default=1.0)
    axes = {str(j): _axis(law) for j, law in enumerate(distributions)}
    loud = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        sampler = optuna.samplers.GPSampler(seed=seed % 2**32, n_startup_trials=1)
        study = optuna.create_study(sampler=sampler)
        for at, score in zip(points, scores, strict=True):
            params = {
                str(j): _to_axis(law, u)
                for j, (law, u) in enumerate(zip(distributions, at, strict=True))
            }
            value = max(-1e100, min(score if math.isfinite(score) else worst, 1e100))
            study.add_trial(
                optuna.trial.create_trial(params=params, distributions=axes, value=value)
            )
        asked = study.ask(axes).params
    finally:
        optuna.logging.set_verbosity(loud)
    return tuple(_from_axis(law, asked[str(j)]) for j, law in enumerate(distributions))


def _arm(spaces: Spaces | PerClient, at: Sequence[float]) -> Arm:
    c, b = spaces.at(torch.tensor(at, dtype=torch.float64))
    return Arm(fixed_tuner(c), b)


def _axis(law: Distribution) -> Any:
    """Optuna's name for an axis of the unit cube."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if not isinstance(law, Choice):
        return FloatDistribution(0, 1)
    places = range(len(law.options))
    ordered = list(law.options) in (sorted(law.options), sorted(law.options, reverse=True))
    return IntDistribution(0, places[-1]) if ordered else CategoricalDistribution(tuple(places))


def _to_axis(law: Distribution, u: float) -> float | int:
    """From the unit cube to the axis."""
    return int(u * len(law.options)) if isinstance(law, Choice) else u


def _from_axis(law: Distribution, x: float | int) -> float:
    """And back: to the middle of an option's part."""
    return (x + 0.5) / len(law.options) if isinstance(law, Choice) else float(x)

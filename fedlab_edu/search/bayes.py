"""Bayesian optimisation: a model of all scores so far proposes the next configuration.

The model is a Gaussian process, Optuna's `GPSampler`, fitted to all scores for each proposal.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, SupportsIndex, cast

import torch
from jaxtyping import Float
from torch import Tensor

from fedlab_edu.data.clients import Federation
from fedlab_edu.methods import Method
from fedlab_edu.models.model import Model
from fedlab_edu.rounds.run import check_types, start
from fedlab_edu.search.baselines import draw_arms, fixed_tuner, race
from fedlab_edu.search.distributions import Choice, Distribution
from fedlab_edu.search.estimate import Estimate
from fedlab_edu.search.race import Race
from fedlab_edu.search.schedules import bracket
from fedlab_edu.search.space import Spaces
from fedlab_edu.seeds import seed_for
from fedlab_edu.validate import extra, require, require_type, whole


@dataclass(frozen=True, eq=False, repr=False)
class Bayes(Race):
    """A race of arms one after another, each chosen by all earlier scores.

    Fields:
        limit: communication rounds to spend.
        points: the place (h,) of each arm in the unit cube, see `SearchSpace.from_unit`.
        w: the initial weights of all arms, or None for each arm's own.
    """

    spaces: Spaces = field(kw_only=True)
    limit: int = field(kw_only=True)
    points: tuple[tuple[float, ...], ...] = field(kw_only=True)
    seed: int = field(kw_only=True)
    w: Float[Tensor, " d"] | None = field(kw_only=True)
    budget: ClassVar = ("limit",)

    @property
    def total(self) -> int:
        return self.limit

    @property
    def done(self) -> bool:
        """Whether all arms have ended and too few rounds are left for another."""
        return self._idle and self.limit - self.used < self.brackets[0].stops[-1]

    @property
    def _idle(self) -> bool:
        return self.used == super().total

    def prepare(self, model: Model, fed: Federation, clients: int) -> "Bayes":
        """Return the search with the next arm, if all others have ended.

        Only the first, random arms train side by side.
        """
        if not self._idle:
            return self
        a, cap, distributions = len(self.points), self.brackets[0].stops, self.spaces.distributions
        point = propose(distributions, self.points, self.scores, seed_for(self.seed, a, 1))
        c, b = self.spaces.at(torch.tensor(point, dtype=torch.float64))
        run = start(model, fed, fixed_tuner(c), b, seed_for(self.seed, a), self.runs[0].method,
                    w=self.w)  # fmt: skip
        return replace(self, runs=(*self.runs, run), traces=(*self.traces, ()),
                       out=(*self.out, None), points=(*self.points, point),
                       brackets=(*self.brackets, bracket(cap, 1, 2)))  # fmt: skip

    def extend(self, done: Any) -> "Bayes":
        """Return a search that has begun, with this one's total, which must not be smaller."""
        require(self.limit >= done.limit, "total", self.limit, f"at least {done.limit}, as before")
        return cast(Bayes, replace(done, limit=self.limit))

    def to(self, device: str | torch.device) -> "Bayes":
        w = None if self.w is None else self.w.to(device)
        return replace(super().to(device), w=w)


def bayesian_search(
    model: Model, fed: Federation, spaces: Spaces, total: SupportsIndex, cap: SupportsIndex, *,
    first: SupportsIndex = 5, seed: SupportsIndex = 0, method: Method | None = None,
    estimate: Estimate | None = None, w: Float[Tensor, " d"] | None = None,
) -> Bayes:  # fmt: skip
    """Start a search of ``floor(total / cap)`` arms, each trained for ``cap`` rounds; needs Optuna.

    Args:
        spaces: in which to look, as for `random_search`; not a `OneOf`.
        first: the number of random arms before the first proposal; the total must allow one more.
        method, estimate, w: see `race`.
    """
    extra("Optuna", "tune")  # fail before the first arms are trained
    check_types(model, fed)
    require_type("spaces", spaces, Spaces, "Spaces(SearchSpace({...}))")
    first, cap, total = whole("first", first, 1), whole("cap", cap, 1), whole("total", total, 1)
    seed = whole("seed", seed, 0)
    least = (first + 1) * cap  # fewer arms would all be random
    allowed = f"at least {least}, for {first} random arms and one more"
    require(total >= least, "total", total, allowed)
    require(fed.val.n.any(), "validation examples", 0, "at least 1, to choose an arm by")
    arms = draw_arms(spaces, first, seed)
    begun = race(model, fed, arms, [bracket((cap,), first, 2)],
                 seed=seed, method=method, estimate=estimate, w=w)  # fmt: skip
    points = tuple(arm.point for arm in arms)
    return Bayes(**vars(begun), spaces=spaces, limit=total, points=points, seed=seed, w=w)


def propose(
    distributions: Sequence[Distribution], points: Sequence[Sequence[float]],
    scores: Sequence[float], seed: int,
) -> tuple[float, ...]:  # fmt: skip
    """Return the most promising point of the unit cube, given other points and their scores.

    Lower scores are better. A score that is not finite counts as the highest finite one; scores are
    clipped at 1e100, because the model squares them. Options in rising or falling order are
    neighbours; other options are only equal or different.
    """
    optuna = extra("Optuna", "tune")
    worst = max((s for s in scores if math.isfinite(s)), default=1.0)
    values = [max(-1e100, min(s if math.isfinite(s) else worst, 1e100)) for s in scores]
    axes = {str(j): _axis(d) for j, d in enumerate(distributions)}
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        sampler = optuna.samplers.GPSampler(seed=seed % 2**32, n_startup_trials=1)
        study = optuna.create_study(sampler=sampler)
        for point, value in zip(points, values, strict=True):
            places = map(_to_axis, distributions, point)
            params = {str(j): place for j, place in enumerate(places)}
            study.add_trial(optuna.trial.create_trial(
                params=params, distributions=axes, value=value))  # fmt: skip
        asked = study.ask(axes).params
    finally:
        optuna.logging.set_verbosity(verbosity)
    return tuple(_from_axis(d, asked[str(j)]) for j, d in enumerate(distributions))


def _axis(d: Distribution) -> Any:
    """Return Optuna's distribution for an axis of the unit cube."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    if not isinstance(d, Choice):
        return FloatDistribution(0, 1)
    n, options = len(d.options), list(d.options)
    if options in (sorted(options), sorted(options, reverse=True)):
        return IntDistribution(0, n - 1)
    return CategoricalDistribution(tuple(range(n)))


def _to_axis(d: Distribution, u: float) -> float | int:
    return int(u * len(d.options)) if isinstance(d, Choice) else u


def _from_axis(d: Distribution, x: float | int) -> float:
    """Invert `_to_axis`; an option becomes the middle of its part of [0, 1]."""
    return (x + 0.5) / len(d.options) if isinstance(d, Choice) else float(x)

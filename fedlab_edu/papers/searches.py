"""Experiments that search: plain training or FedEx in a wrapper, and nearby configurations."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import mean, median
from typing import Any, Literal, NamedTuple

import torch

from fedlab_edu.data import Federation
from fedlab_edu.methods import FedProx
from fedlab_edu.models.model import Model
from fedlab_edu.papers.experiment import Experiment, Published, Record, Trial
from fedlab_edu.rounds.objectives import evaluate, personalise
from fedlab_edu.rounds.run import Run
from fedlab_edu.search.arms import MakeTuner, draw_arms, fixed_tuner, share_configuration
from fedlab_edu.search.baselines import successive_halving
from fedlab_edu.search.estimate import Estimate
from fedlab_edu.search.race import Race, race
from fedlab_edu.search.schedules import bracket
from fedlab_edu.search.space import Spaces
from fedlab_edu.search.tune import tune
from fedlab_edu.tuners.fedex import FedEx, around
from fedlab_edu.validate import require


class Setting(NamedTuple):
    """A data set at a scale.

    Fields:
        federation: makes the clients' data from a seed.
        total, cap: communication rounds in all, and of one arm at most.
        k: the number of configurations of each FedEx.
    """

    federation: Callable[[int], Federation]
    model: Callable[[], Model]
    spaces: Spaces
    total: int
    cap: int
    eta: int = 3
    eliminations: int = 3
    clients: int = 10
    k: int = 27

    @property
    def budget(self) -> Record:
        """The settings stored in each record."""
        names = ("total", "cap", "eta", "eliminations", "clients", "k")
        return {name: getattr(self, name) for name in names}

    @property
    def summary(self) -> str:
        """The rounds in a sentence."""
        return f"{self.total} rounds in all, {self.cap} for one arm at most."

    def fits(self, variant: object) -> bool:
        """Return True: every variant runs on it."""
        return True

    def trials(self, place: torch.device, data: str | None) -> Trial:
        """Return the function that finishes a search and tests its winner."""
        allowed = "none: this data set comes with a package or through the Hub"
        require(data is None, "data", data, allowed)
        return _searches(self, place)


@dataclass(frozen=True)
class Tuning:
    """A wrapper around plain training or around FedEx.

    Fields:
        target: the test error by which arms are judged, and which is reported.
        gamma: the discount of older rounds at eliminations.
        fedex: options of `around`; None for plain training.
        published: data set -> numbers.
    """

    name: str
    wrapper: Literal["RS", "SHA"]
    target: Literal["global", "personalised"]
    gamma: float = 0.0
    fedex: Mapping[str, Any] | None = None
    published: Mapping[str, Published] = field(default_factory=dict)

    def search(self, setting: Setting, model: Model, fed: Federation, seed: int) -> Race:
        """Start the search: FedProx, clients drawn with replacement, as in the authors' code."""
        tuner: MakeTuner = fixed_tuner
        if self.fedex is not None:
            tuner = around(setting.spaces.client, setting.k, **self.fedex)
        # random search is successive halving without eliminations
        eliminations = setting.eliminations if self.wrapper == "SHA" else 0
        return successive_halving(
            model, fed, setting.spaces, setting.total, setting.cap, setting.eta, eliminations,
            seed=seed, method=FedProx(), estimate=Estimate(self.target, gamma=self.gamma),
            tuner=tuner, replacement=True,
        )  # fmt: skip

    def measure(self, search: Race, model: Model, fed: Federation) -> Record:
        """Return the record of a finished search: `tested`, its rounds, and the winner's entropy.

        The entropy of theta is in nats, None without FedEx.
        """
        tuner = search.winner.tuner
        entropy = tuner.entropy if isinstance(tuner, FedEx) else None
        return tested(search.winner, model, fed) | {"rounds": search.used, "entropy": entropy}

    def error(self, record: Record) -> float:
        """Return the test error of the target, in percent."""
        return 100 * float(record[self.target])

    def is_valid(self, record: Record) -> bool:
        """Return whether the errors are rates."""
        return rates([record["global"], record["personalised"]])

    def describe(self, record: Record) -> str:
        """Describe both test errors."""
        return both(record)

    def again(self, other: object, race: Race) -> Race | None:
        """Return the other's search, judged by this target, or None.

        In random search with the same tuner the target only chooses the winner.
        """
        of = (self.wrapper, self.fedex)
        if not (of[0] == "RS" and isinstance(other, Tuning) and of == (other.wrapper, other.fedex)):
            return None
        estimate = Estimate(self.target, gamma=self.gamma)
        traces = tuple(tuple(map(estimate.of_round, run.history)) for run in race.runs)
        return replace(race, estimate=estimate, traces=traces)


@dataclass(frozen=True)
class Range:
    """k configurations near a random one, each trained alone up to the cap, with equal servers.

    Source: Khodak et al. (2021), Figure 3.
    """

    name: str
    eps: float

    def search(self, setting: Setting, model: Model, fed: Federation, seed: int) -> Race:
        """Start the race of the configurations, without eliminations."""
        k = setting.k
        (arm,) = draw_arms(setting.spaces, 1, seed, around(setting.spaces.client, k, self.eps))
        arms, rounds = share_configuration(arm.tuner.table, arm.b), [bracket((setting.cap,), k, 2)]
        return race(model, fed, arms, rounds, seed=seed, method=FedProx(), replacement=True)

    def again(self, other: object, race: Race) -> None:
        """Return None: searches are not shared."""

    def measure(self, search: Race, model: Model, fed: Federation) -> Record:
        """Return the personalised test error of each arm."""
        return {"errors": [min(1.0, personalise(run, model, fed).error) for run in search.runs]}

    def is_valid(self, record: Record) -> bool:
        """Return whether the errors are rates."""
        return rates(record["errors"])

    def describe(self, record: Record) -> str:
        """Describe the lowest and the highest error."""
        return f"test errors from {min(record['errors']):.1%} to {max(record['errors']):.1%}"


def tested(run: Run, model: Model, fed: Federation) -> Record:
    """Return the global and the personalised test error of a finished run, at most 1.

    They are means over all clients, weighted by test examples; clients personalise with the tuner's
    final configuration.
    """
    return {
        "global": min(1.0, evaluate(run, model, fed).error),  # +inf if all diverged
        "personalised": min(1.0, personalise(run, model, fed).error),
    }


def both(record: Record) -> str:
    """Describe both test errors."""
    return "test error, global {global:.1%}, personalised {personalised:.1%}".format(**record)


def rates(numbers: Sequence[object]) -> bool:
    """Return whether these are numbers from 0 to 1, at least one."""
    ok = all(isinstance(x, float | int) and 0 <= x <= 1 for x in numbers)
    return ok and len(numbers) > 0


def _searches(setting: Setting, place: torch.device) -> Trial:
    """Return the function that finishes a search, or reuses one, and tests its winner."""
    model, over, feds = setting.model(), list[tuple[Any, Any]](), dict[int, Federation]()

    def run(variant: Any, seed: int, state: Path, later: Sequence[Any]) -> Record:
        if seed not in feds:
            over.clear()
            feds.clear()
            feds[seed] = setting.federation(seed).to(place)
        fed = feds[seed]
        usable = (variant.again(other, done) for other, done in over)
        search = next((done for done in usable if done is not None), None)
        if search is None:
            search = variant.search(setting, model, fed, seed)
            often = max(100, 20 * len(search.runs))  # files hold the models of all arms
            search = tune(search, model, fed, setting.clients, path=state, every=often)
        over[:] = [
            (other, done)
            for other, done in (*over, (variant, search))
            if any(one.again(other, done) is not None for one in later)
        ]
        return variant.measure(search, model, fed)

    return run


def ranges(experiment: Experiment, dataset: str, records: Sequence[Record]) -> list[str]:
    """Report the spread of the errors of nearby configurations."""
    lines = [
        "Personalised test error in % of configurations near one another: means over seeds",
        "of the lowest, the median, the highest; and from the lowest to the highest",
    ]
    for v in experiment.variants:
        every = [[100 * e for e in r["errors"]] for r in records if r["variant"] == v.name]
        if every:
            low, high = mean(map(min, every)), mean(map(max, every))
            mid = mean(map(median, every))
            numbers = f"{low:.1f}, {mid:.1f}, {high:.1f}; {high - low:.1f}"
            lines.append(f"{v.name}   {numbers} ({len(every)} seeds)")
    return lines

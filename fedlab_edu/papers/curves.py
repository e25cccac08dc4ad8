"""Test error against rounds spent: the winner so far is tested after each step of a search.

Khodak et al. (2021), Figure 4; Khodak et al. (2020), Figure 1: *online evaluation*.
"""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import mean

import torch

from fedlab_edu.data import Federation
from fedlab_edu.models.model import Model
from fedlab_edu.papers.experiment import Experiment, Record
from fedlab_edu.papers.report import DIFFERENCES, paired, same_seeds
from fedlab_edu.papers.searches import Setting, Target, Tuning, rates
from fedlab_edu.registry import storable
from fedlab_edu.rounds.objectives import Average, evaluate, personalise
from fedlab_edu.search.race import Race

_TESTS: Mapping[Target, Callable[..., Average]] = {"global": evaluate, "personalised": personalise}
SHARES = (0.25, 0.5, 0.75, 1.0)  # of the budget, in reports


@storable
@dataclass(frozen=True, eq=False)
class Watched:
    """A race, and the test error of its winner after each step, which the race never sees.

    Fields:
        curve: rounds spent, over all arms, and the test error of the best arm at that time.
    """

    race: Race
    target: Target
    curve: tuple[tuple[int, float], ...] = ()

    @property
    def runs(self) -> Sequence[object]:
        """One run for each arm."""
        return self.race.runs

    @property
    def total(self) -> int:
        """The communication rounds of the whole race."""
        return self.race.total

    @property
    def used(self) -> int:
        """The communication rounds of all arms so far."""
        return self.race.used

    @property
    def done(self) -> bool:
        """Whether all rounds have been spent."""
        return self.race.done

    @property
    def best_score(self) -> float:
        """The score of the best arm."""
        return self.race.best_score

    def step(self, model: Model, fed: Federation, clients: int = 10) -> "Watched":
        """Return the race after one more round of each arm, with one more point of the curve."""
        race = self.race.step(model, fed, clients)
        error = min(1.0, _TESTS[self.target](race.winner, model, fed).error)
        return replace(self, race=race, curve=(*self.curve, (race.used, round(error, 4))))

    def to(self, device: str | torch.device) -> "Watched":
        """Return the same, with its vectors on another device."""
        return replace(self, race=self.race.to(device))


@dataclass(frozen=True)
class Online(Tuning):
    """A tuning with its curve: the test error of the winner so far, against rounds spent."""

    @property
    def training(self) -> object:
        """The name: a curve belongs to one target."""
        return self.name

    def search(self, setting: Setting, model: Model, fed: Federation, seed: int) -> Watched:  # type: ignore[override]
        """Start the search of `Tuning`, watched."""
        return Watched(super().search(setting, model, fed, seed), self.target)

    def measure(self, search: Watched, model: Model, fed: Federation) -> Record:  # type: ignore[override]
        """Add the curve to the record of `Tuning`."""
        return super().measure(search.race, model, fed) | {"curve": [*map(list, search.curve)]}

    def is_valid(self, record: Record) -> bool:
        """Return whether the curve is one of rates, over rounds that increase."""
        rounds, errors = zip(*record["curve"], strict=True)
        rising = all(a < b for a, b in pairwise(rounds))
        return super().is_valid(record) and rising and rates(errors)


def error_at(curve: Sequence[Sequence[float]], rounds: float) -> float:
    """Return the last error of a curve after at most so many rounds; before its first step, 1."""
    place = bisect_right([used for used, _ in curve], rounds)
    return curve[place - 1][1] if place else 1.0


def curves(experiment: Experiment, dataset: str, records: Sequence[Record]) -> list[str]:
    """Report the mean test error at parts of the budget, and paired differences."""
    widest = max(len(v.name) for v in experiment.variants)
    heads = "".join(f"{share:>8.0%}" for share in SHARES)
    lines = [f"{'Mean test error in % after':{widest}}   seeds{heads}"]
    found: dict[str, dict[int, list[float]]] = {v.name: {} for v in experiment.variants}
    for record in records:
        at = [error_at(record["curve"], s * record["budget"]["total"]) for s in SHARES]
        found[record["variant"]][record["seed"]] = [100 * error for error in at]
    for name, seeds in found.items():
        means = "".join(f"{mean(at):8.2f}" for at in zip(*seeds.values(), strict=True))
        lines.append(f"{name:{widest}}   {len(seeds):5}{means}")
    lines += ["", DIFFERENCES]
    for first, second in experiment.against:
        pairs = same_seeds(found, first, second)
        if len(pairs[0]) < 2:
            lines.append(f"{first} against {second}: it takes two seeds")
            continue
        for place, share in enumerate(SHARES):
            d = paired(*([errors[place] for errors in one] for one in pairs))
            lines.append(f"{first} against {second}, {share:.0%}: {d.mean:+.2f} ± {d.half:.2f}")
    return lines

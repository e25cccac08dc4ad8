"""Test error against rounds spent: the winner so far is tested after each step of a search.

Khodak et al. (2021), Figure 4; Khodak et al. (2020), Figure 1: *online evaluation*; Chen et al.
(2023), Figure 4.
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
from fedlab_edu.papers.searches import Searched, Setting, Target, Tuning, rates
from fedlab_edu.rounds.objectives import Average, evaluate, personalise
from fedlab_edu.search.race import Race
from fedlab_edu.tuners.fedpop import FedPop

_TESTS: Mapping[Target, Callable[..., Average]] = {"global": evaluate, "personalised": personalise}
SHARES = (0.25, 0.5, 0.75, 1.0)  # of the budget, in reports


@dataclass(frozen=True, eq=False)
class Watched:
    """A search, and the test errors of its winner after each step, which the search never sees.

    Fields:
        targets: which test errors.
        points: rounds spent, over all arms, and the errors of the best arm at that time.
    """

    search: Race | FedPop
    targets: tuple[Target, ...]
    points: tuple[tuple[float, ...], ...] = ()

    @property
    def runs(self) -> Sequence[object]:
        """One run for each arm."""
        return self.search.runs

    @property
    def total(self) -> int:
        """The communication rounds of the whole search."""
        return self.search.total

    @property
    def used(self) -> int:
        """The communication rounds of all arms so far."""
        return self.search.used

    @property
    def done(self) -> bool:
        """Whether all rounds have been spent."""
        return self.search.done

    @property
    def best_score(self) -> float:
        """The score of the best arm."""
        return self.search.best_score

    def step(self, model: Model, fed: Federation, clients: int = 10) -> "Watched":
        """Return the search after one more round of each arm, with one more point."""
        search = self.search.step(model, fed, clients)
        errors = (_TESTS[target](search.winner, model, fed).error for target in self.targets)
        point = (search.used, *(round(min(1.0, error), 4) for error in errors))
        return replace(self, search=search, points=(*self.points, point))

    def to(self, device: str | torch.device) -> "Watched":
        """Return the same, with its vectors on another device."""
        return replace(self, search=self.search.to(device))

    def curve(self, target: Target) -> list[list[float]]:
        """Return the rounds spent and the test error of a target, a pair for each step."""
        place = 1 + self.targets.index(target)
        return [[point[0], point[place]] for point in self.points]


class WithCurve(Searched):
    """Adds to a search's record its curve: the test error of the winner so far."""

    @property
    def watched(self) -> tuple[Target, ...]:
        """The targets whose errors one search gives."""
        return (self.target,)

    def search(self, setting: Setting, model: Model, fed: Federation, seed: int) -> Watched:
        """Start the search, watched."""
        return Watched(super().search(setting, model, fed, seed), self.watched)  # type: ignore[misc]

    def measure(self, search: Watched, model: Model, fed: Federation) -> Record:
        """Add the curve to the record."""
        curve = search.curve(self.target)
        return super().measure(search.search, model, fed) | {"curve": curve}

    def is_valid(self, record: Record) -> bool:
        """Return whether the record has a curve, too."""
        return super().is_valid(record) and is_curve(record["curve"])


@dataclass(frozen=True)
class Online(WithCurve, Tuning):  # type: ignore[misc]  # it watches the search
    """A tuning with its curve."""

    @property
    def training(self) -> object:
        """The name: a curve belongs to one target."""
        return self.name


def is_curve(curve: Sequence[Sequence[float]]) -> bool:
    """Return whether these are rates of error after numbers of rounds that increase."""
    rounds, errors = zip(*curve, strict=True)
    return rates(errors) and all(a < b for a, b in pairwise(rounds))


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

"""Test error against rounds spent: the winner so far is tested while a search runs.

Khodak et al. (2021), Figure 4; Khodak et al. (2020), Figure 1: *online evaluation*; Chen et al.
(2023), Figure 4.
"""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from statistics import fmean
from typing import Any

import torch

from fedlab_edu import Federation, Model
from fedlab_edu.papers.experiment import Record
from fedlab_edu.papers.report import Paired, difference, means
from fedlab_edu.rounds.objectives import Average, evaluate, personalise

TESTS: Mapping[str, Callable[..., Average]] = {"global": evaluate, "personalised": personalise}
SHARES = (0.25, 0.5, 0.75, 1.0)  # of the budget, in reports


@dataclass(frozen=True, eq=False)
class Watched:
    """A search, and the test errors of its winner on the way, which the search never sees.

    Fields:
        variants: each has a method ``test(search, model, fed)``, which returns an error.
        every: rounds from one point to the next; the last step has a point, too.
        points: rounds spent, over all arms, and the errors of the variants at that time.
    """

    search: Any
    variants: tuple[Any, ...]
    every: int = 1
    points: tuple[tuple[float, ...], ...] = ()

    runs = property(attrgetter("search.runs"))
    total = property(attrgetter("search.total"))
    used = property(attrgetter("search.used"))
    done = property(attrgetter("search.done"))
    best_score = property(attrgetter("search.best_score"))
    warning = property(attrgetter("search.warning"))

    def step(self, model: Model, fed: Federation, clients: int = 10) -> "Watched":
        """Return the search after one more round of each arm, with one more point if it is due."""
        after = replace(self, search=self.search.step(model, fed, clients))
        due = after.done or after.used // self.every > self.used // self.every
        return after.look(model, fed) if due else after

    def look(self, model: Model, fed: Federation) -> "Watched":
        """Return the search with one more point."""
        errors = (round(v.test(self.search, model, fed), 4) for v in self.variants)
        return replace(self, points=(*self.points, (self.used, *errors)))

    def to(self, device: str | torch.device) -> "Watched":
        return replace(self, search=self.search.to(device))

    def curve(self, variant: Any) -> list[list[float]]:
        """Return the rounds spent and the test error of a variant, a pair for each point."""
        place = 1 + self.variants.index(variant)
        return [[point[0], point[place]] for point in self.points]


def error_at(curve: Sequence[Sequence[float]], rounds: float) -> float:
    """Return the last error of a curve after at most so many rounds; before its first step, 1."""
    place = bisect_right([used for used, _ in curve], rounds)
    return curve[place - 1][1] if place else 1.0


def mean_curve(records: Sequence[Record], variant: str) -> tuple[list[float], list[float]]:
    """Return the rounds spent at the points of a variant's curves, and the mean errors in percent.

    The mean is over seeds.
    """
    of = [record["curve"] for record in records if record["variant"] == variant]
    rounds = sorted({used for curve in of for used, _ in curve})
    return rounds, [100 * fmean(error_at(curve, x) for curve in of) for x in rounds]


def gap_at(records: Sequence[Record], first: str, second: str, rounds: float) -> Paired:
    """Compare the test errors of two variants after some rounds, in percent, on the same seeds."""
    of: dict[str, dict[int, float]] = {first: {}, second: {}}
    for r in records:
        if r["variant"] in of:
            of[r["variant"]][r["seed"]] = 100 * error_at(r["curve"], rounds)
    return difference(of, first, second)


def errors_at_shares(record: Record) -> dict[str, float]:
    """Return the test errors in percent after parts of the budget."""
    curve, total = record["curve"], record["budget"]["total"]
    return {f"{share:.0%}": 100 * error_at(curve, share * total) for share in SHARES}


curves = partial(means, errors_at_shares, "Mean test error in % after")

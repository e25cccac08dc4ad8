"""Experiments that select a feature map by shared fits, compared with a full sweep."""

import resource
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import mean, median
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch

from fedlab_edu.features.linear import Linear
from fedlab_edu.features.maps import Map
from fedlab_edu.features.selection import Data, sweep
from fedlab_edu.features.share import History, share, share_softly
from fedlab_edu.papers.experiment import Experiment, Load, Record, Trial, Workload

#: Name -> selection by shared fits.
SEARCHES: Mapping[str, Callable[..., History]] = {
    "halving": share,
    "halving by error": partial(share, score="error"),
    "halving by error, split validation": partial(share, score="error", validation="split"),
    "exponentiated gradient": share_softly,
}


class Problem(NamedTuple):
    """Data, a function ``maps(rng, k, n, shared, device)`` that makes k maps, and a classifier."""

    data: Data
    maps: Callable[..., list[Map]]
    linear: Linear


@dataclass(frozen=True)
class Task(Workload):
    """A data set for which to select a feature map.

    Fields:
        problem: loads a `Problem`.
        k: the number of maps to choose from.
        most: the largest number of features; larger maps are left out.
    """

    STORED = ("k",)
    problem: Load
    k: int = 64
    most: int = 2**24

    @property
    def summary(self) -> str:
        return f"{self.k} maps to choose from."

    def fits(self, variant: "Maps") -> bool:
        return variant.n <= self.most

    def trials(self, seed: int, place: torch.device, data: str | None) -> Trial:
        problem = self.problem(seed, data)
        return lambda variants, state: (
            select(v, self.k, problem, seed, str(place)) for v in variants
        )


@dataclass(frozen=True)
class Maps:
    """Maps of n features with shared or own frequencies or hash seeds.

    Source: Khodak et al., *Weight-Sharing Beyond NAS*, Figures 1 and 2.
    """

    FIELDS: ClassVar = {"accuracy", "picks", "seconds", "peak_gib"}
    name: str
    n: int
    shared: bool


def select(variant: Maps, k: int, problem: Problem, seed: int, device: str) -> dict[str, Any]:
    """Choose one of k maps by each of the `SEARCHES` and by a full sweep.

    Keys:
        accuracy: the validation accuracy of each of the k maps, fitted alone.
        picks: search -> the place of its map.
        seconds: "maps" (making them), each search, and "sweep": processor time, on a GPU wall-clock
            time. (The first search also computes the cache of `fourier_maps`.)
        peak_gib: the process's peak memory since its start, without the GPU's.
        examples: the numbers of training and validation examples.
    """
    rng, *streams = np.random.default_rng(seed).spawn(1 + len(SEARCHES))
    data, linear, seconds = problem.data, problem.linear, {}
    place = None if device == "cpu" else device
    clock = time.perf_counter if place else time.process_time

    def timed(name: str, task: Callable[..., Any], *given: Any, **how: Any) -> Any:
        began = clock()
        result = task(*given, **how)
        seconds[name] = round(clock() - began, 3)
        return result

    maps = timed("maps", problem.maps, rng, k, variant.n, variant.shared, place)
    picks = {
        name: timed(name, search, maps, data, stream, linear=linear).pick
        for (name, search), stream in zip(SEARCHES.items(), streams, strict=True)
    }
    error = timed("sweep", sweep, maps, data, "error", linear)
    unit = 2**30 if sys.platform == "darwin" else 2**20
    return {
        "accuracy": [round(1 - e, 6) for e in error.tolist()],
        "picks": picks,
        "seconds": seconds,
        "peak_gib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit, 2),
        "examples": [len(data.y), len(data.y_val)],
    }


def selections(experiment: Experiment, dataset: str, records: Sequence[Record]) -> list[str]:
    """Report the accuracy and the speed of each search."""
    peak = max((r["peak_gib"] for r in records), default=0)
    lines = [
        "Validation accuracy in %, means over seeds; seconds of processor time (GPU: of the clock)",
        f"Memory of the process up to {peak:.1f} GiB",
    ]
    for v in experiment.variants:
        own = [r for r in records if r["variant"] == v.name]
        if not own:
            continue
        took = mean(r["seconds"]["sweep"] for r in own)
        best = mean(100 * max(r["accuracy"]) for r in own)
        lines += ["", f"{v.name} ({len(own)} seeds)"]
        lines += [f"    {'full sweep':36}{best:6.2f}   {took:8.1f} s"]
        for name in own[0]["picks"]:
            found = mean(100 * r["accuracy"][r["picks"][name]] for r in own)
            seconds = mean(max(r["seconds"][name], 0.001) for r in own)
            places = median(rank(r, name) for r in own)
            lines += [
                f"    {name:36}{found:6.2f}   {seconds:8.1f} s, {took / seconds:.1f} times faster;"
                f" median rank {places:g}"
            ]
    return lines


def rank(record: Record, search: str) -> int:
    """Return the rank, from 1, of a search's map among all: 1 + the number of better maps."""
    accuracy = record["accuracy"]
    chosen = accuracy[record["picks"][search]]
    return 1 + sum(a > chosen for a in accuracy)

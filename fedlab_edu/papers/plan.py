"""What a call of `reproduce` will cost: the missing runs, and the time of their searches."""

import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from fedlab_edu import Federation, Model
from fedlab_edu.papers.curves import Watched
from fedlab_edu.papers.experiment import Experiment
from fedlab_edu.papers.reproduce import chosen, missing_runs
from fedlab_edu.papers.searches import Setting
from fedlab_edu.tensors import usable_device


def plan(
    experiment: Experiment, dataset: str, scale: str = "book", seeds: Iterable[int] = range(10),
    device: str = "cpu", folder: str | Path = "results", data: str | None = None,
) -> list[str]:  # fmt: skip
    """Return lines on the runs that `reproduce` would do with these arguments; nothing is stored.

    For searches of FedEx, FedPop and noise, the first rounds of each are run with one seed, and
    give an estimate of the time of all. It is rough: later rounds have other arms.
    """
    setting, place = experiment.workload(dataset, scale), usable_device(device)
    missing = missing_runs(experiment, dataset, scale, Path(folder), seeds := chosen(seeds))
    searches = [variants for groups in missing.values() for variants, _ in groups]
    runs = sum(map(len, searches))
    every = sum(map(setting.fits, experiment.variants)) * len(seeds)
    lines = [
        f"{experiment.name} on {dataset}, {scale}: {setting.summary}",
        f"Missing in {experiment.path(folder, dataset, scale)}: {runs} of {every} runs.",
    ]
    if not runs:
        return lines
    if not isinstance(setting, Setting):
        return [*lines, "Their time is not estimated."]
    seed = next(iter(missing))
    model, fed = setting.model(), setting.load(seed, data).to(place)
    took: dict[str, float] = {}
    for variants in searches:
        if variants[0].name not in took:
            search = setting.begin(variants, model, fed, seed)
            took[variants[0].name] = _seconds(search, model, fed, setting.clients)
    total = sum(took[variants[0].name] for variants in searches)
    time_of_all = f"about {duration(total)} on this machine, one at a time."
    return [*lines, f"{len(searches)} searches, {time_of_all}"]


def _seconds(search: Any, model: Model, fed: Federation, clients: int) -> float:
    """Estimate the seconds of a whole search from its second step; the first one also warms up."""
    watched, search = (search, search.search) if isinstance(search, Watched) else (None, search)
    begun = search.step(model, fed, clients)
    if begun.done:
        return 0.0
    start = time.perf_counter()
    after = begun.step(model, fed, clients)
    rounds = after.used - begun.used
    seconds = (time.perf_counter() - start) / rounds  # of a round
    if watched:
        start = time.perf_counter()
        replace(watched, search=after).look(model, fed)
        seconds += (time.perf_counter() - start) / max(watched.every, rounds)
    return seconds * search.total


def duration(seconds: float) -> str:
    """Return a time as text: in hours or minutes if it has two or more, else in seconds."""
    for unit, size in (("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} seconds"

"""What a call of `reproduce` will cost: the missing runs, and the time of their searches."""

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fedlab_edu.papers.experiment import Experiment
from fedlab_edu.papers.reproduce import chosen, missing_runs
from fedlab_edu.papers.searches import Setting
from fedlab_edu.tensors import usable_device


def plan(
    experiment: Experiment,
    dataset: str,
    scale: str = "book",
    seeds: Iterable[int] = range(10),
    device: str = "cpu",
    folder: str | Path = "results",
    data: str | None = None,
) -> list[str]:
    """Return lines on the runs that `reproduce` would do; nothing is stored.

    For searches, the first rounds of each are run with one seed, and give an estimate of the time
    of all. It is rough: later rounds have other arms.
    """
    setting, place = experiment.workload(dataset, scale), usable_device(device)
    path = Path(folder) / f"{experiment.name}-{dataset}-{scale}.jsonl"
    seeds = chosen(seeds)
    missing = missing_runs(path, experiment, setting, seeds)
    runs: list[tuple[int, Any]] = [(seed, v) for seed, todo in missing.items() for v, _ in todo]
    lines = [
        f"{experiment.name} on {dataset}, {scale}: {setting.summary}",
        f"Missing in {path}: {len(runs)} of {len(experiment.variants) * len(seeds)} runs.",
    ]
    if not isinstance(setting, Setting) or not runs:
        return lines
    searches = {(seed, variant.training): variant for seed, variant in runs}
    seed = runs[0][0]
    model, fed = setting.model(), setting.load(seed, data).to(place)
    took: dict[object, float] = {}
    for (_, training), variant in searches.items():
        if training not in took:
            took[training] = _seconds(
                variant.search(setting, model, fed, seed), model, fed, setting
            )
    total = sum(took[training] for _, training in searches)
    lines.append(f"{len(searches)} searches, about {_said(total)} on this machine, one at a time.")
    return lines


def _seconds(search: Any, model: Any, fed: Any, setting: Setting) -> float:
    """Estimate the seconds of a whole search from its second step; the first one also warms up."""
    begun = search.step(model, fed, setting.clients)
    if begun.done:
        return 0.0
    start = time.perf_counter()
    after = begun.step(model, fed, setting.clients)
    return (time.perf_counter() - start) * search.total / (after.used - begun.used)


def _said(seconds: float) -> str:
    for unit, size in (("hours", 3600), ("minutes", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} seconds"

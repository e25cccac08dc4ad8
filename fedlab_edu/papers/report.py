"""Reports on records: means, paired differences, and the paper's numbers."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import sub
from statistics import mean, median, stdev
from textwrap import wrap
from typing import NamedTuple, TypeVar

from scipy import stats

from fedlab_edu.papers.experiment import Experiment, Published, Record
from fedlab_edu.validate import require

T = TypeVar("T")
DIFFERENCES = "Difference in points on the same seeds, with a 95 % interval (below 0: better)"


class Paired(NamedTuple):
    """Differences between two variants on the same seeds.

    Fields:
        mean, half: the mean, and half the width of its 95 % interval (Student's t).
        wins, ties, losses: numbers of seeds on which the first is lower, equal, higher.
    """

    mean: float
    half: float
    wins: int
    ties: int
    losses: int


def paired(first: Sequence[float], second: Sequence[float]) -> Paired:
    """Compare first - second seed by seed."""
    n = len(first)
    require(n >= 2 and n == len(second), "seeds", (n, len(second)), "as many of both, at least 2")
    d = [*map(sub, first, second)]
    half = float(stats.t.ppf(0.975, n - 1)) * stdev(d) / n**0.5
    wins, losses = sum(x < 0 for x in d), sum(x > 0 for x in d)
    return Paired(mean(d), half, wins, n - wins - losses, losses)


def welch(first: Published, second: Published) -> float:
    """Return the two-sided p-value of Welch's test that two published means are equal."""
    return float(stats.ttest_ind_from_stats(*first, *second, equal_var=False).pvalue)


def errors(experiment: Experiment, records: Sequence[Record]) -> dict[str, dict[int, float]]:
    """Return variant -> seed -> test error in percent."""
    return {v.name: _by_seed(v.name, v.error, records) for v in experiment.variants}


def _by_seed(variant: str, of: Callable[[Record], T], records: Sequence[Record]) -> dict[int, T]:
    return {r["seed"]: of(r) for r in records if r["variant"] == variant}


def same_seeds(
    of: Mapping[str, Mapping[int, T]], first: str, second: str
) -> tuple[list[T], list[T]]:
    """Return the results of two variants on the seeds that both have, in order."""
    seeds = sorted(of[first].keys() & of[second].keys())
    return [of[first][s] for s in seeds], [of[second][s] for s in seeds]


def difference(of: Mapping[str, Mapping[int, float]], first: str, second: str) -> Paired:
    """Compare two variants on the seeds that both have."""
    return paired(*same_seeds(of, first, second))


def render(
    experiment: Experiment, dataset: str, records: Sequence[Record], scale: str = "book"
) -> str:
    """Return our results beside the paper's, as text, from the records of a data set at a scale."""
    workload = experiment.workload(dataset, scale)
    lines = [
        f"{experiment.source}, on {dataset} at the {scale}'s scale:",
        workload.summary,
        *wrap(f"Claim: {experiment.claim}", 80),
        "",
    ]
    report = experiment.report or partial(_table, scale=scale)
    return "\n".join([*lines, *report(experiment, dataset, records)])


def _table(
    experiment: Experiment, dataset: str, records: Sequence[Record], scale: str
) -> list[str]:
    """Return the lines of variants' errors, the paper's, and paired differences."""
    of, variants = errors(experiment, records), experiment.variants
    targets = {v.target for v in variants}
    title = "Test error in %" if len(targets) > 1 else f"Test error in %, {targets.pop()}"
    widest = max(len(title), *map(len, of))
    published = experiment.published
    theirs = any(dataset in of for of in published.values())
    lines = [
        f"{title:{widest}}   seeds   mean ± sd       median" + "   paper: mean ± sd (n)" * theirs
    ]
    for v in variants:
        values = [*of[v.name].values()]
        sd = f"{stdev(values):5.2f}" if len(values) > 1 else "    -"
        ours = f"{mean(values):5.2f} ± {sd}   {median(values):6.2f}" if values else "none"
        cell = published[v.name].get(dataset)
        paper = f"   {cell.mean:5.2f} ± {cell.sd:5.2f} ({cell.trials})" if cell else ""
        lines.append(f"{v.name:{widest}}   {len(values):5}   {ours}{paper}")
    if theirs and scale == "book":
        lines += ["(The paper's numbers are of another budget, other data and a larger model.)"]
    return [*lines, "", DIFFERENCES, *_differences(experiment, dataset, of)]


def means(
    numbers: Callable[[Record], dict[str, float]], title: str, experiment: Experiment,
    dataset: str, records: Sequence[Record],
) -> list[str]:  # fmt: skip
    """Report the means of several numbers of a record over seeds, and their paired differences."""
    found = {v.name: _by_seed(v.name, numbers, records) for v in experiment.variants}
    columns = [*next((one for of in found.values() for one in of.values()), ())]
    widest = max(len(title), *map(len, found))
    lines = [f"{title:{widest}}   seeds" + "".join(f"{name:>{len(name) + 4}}" for name in columns)]
    for variant, of in found.items():
        cells = [f"{mean(x[c] for x in of.values()):{len(c) + 4}.2f}" for c in columns if of]
        lines.append(f"{variant:{widest}}   {len(of):5}{''.join(cells)}")
    lines += ["", DIFFERENCES] if experiment.against else []
    for c in columns:
        one = {variant: {s: x[c] for s, x in of.items()} for variant, of in found.items()}
        lines += _differences(experiment, dataset, one, f", {c}")
    return lines


def _differences(
    experiment: Experiment, dataset: str, of: dict[str, dict[int, float]], of_what: str = ""
) -> list[str]:
    published, lines = experiment.published, []
    for first, second in experiment.against:
        pair = f"{first} against {second}{of_what}"
        if len(of[first].keys() & of[second].keys()) < 2:
            lines.append(f"{pair}: it takes two seeds")
            continue
        d = difference(of, first, second)
        count = f"{d.wins} better, {d.ties} the same, {d.losses} worse"
        told = f"{d.mean:+.2f} ± {d.half:.2f}; {count}"
        lines += [f"{pair}: {told}"] if len(pair + told) < 79 else [f"{pair}:", f"    {told}"]
        one, other = (published[name].get(dataset) for name in (first, second))
        if one and other:
            p = welch(one, other)
            lines.append(f"    in the paper {one.mean - other.mean:+.2f}, p = {p:.2f} (Welch)")
    return lines

"""What a record of an experiment says: means, paired differences, and the paper's numbers."""

from collections.abc import Sequence
from statistics import mean, median, stdev
from textwrap import wrap
from typing import NamedTuple

from scipy import stats

from fedlab_edu.check import require
from fedlab_edu.papers.experiment import Experiment, Published, Range, Task, Tuning
from fedlab_edu.papers.reproduce import Record


class Paired(NamedTuple):
    """Differences between two variants on the same seeds.

    Fields:
        mean, half: their mean, and half the width of its 95 % interval (Student's t).
        wins, ties, losses: seeds in which the first is lower, as low, higher.
    """

    mean: float
    half: float
    wins: int
    ties: int
    losses: int


def paired(first: Sequence[float], second: Sequence[float]) -> Paired:
    """First less second, seed by seed.

    Raises:
        ValueError: fewer than two seeds, or different numbers of them.
    """
    n = len(first)
    require(n >= 2 and n == len(second), "seeds", (n, len(second)), "as many of both, at least 2")
    d = [a - b for a, b in zip(first, second, strict=True)]
    half = float(stats.t.ppf(0.975, n - 1)) * stdev(d) / n**0.5
    wins, losses = sum(x < 0 for x in d), sum(x > 0 for x in d)
    return Paired(mean(d), half, wins, n - wins - losses, losses)


def welch(first: Published, second: Published) -> float:
    """The two-sided p-value of Welch's test that two published means are equal."""
    return float(stats.ttest_ind_from_stats(*first, *second, equal_var=False).pvalue)


def errors(experiment: Experiment, records: Sequence[Record]) -> dict[str, dict[int, float]]:
    """Variant -> seed -> test error in percent, of the target that the variant was tuned for."""
    targets = {v.name: v.target for v in _tunings(experiment)}
    found: dict[str, dict[int, float]] = {name: {} for name in targets}
    for record in records:
        name = record["variant"]
        found[name][record["seed"]] = 100 * record[targets[name]]
    return found


def difference(of: dict[str, dict[int, float]], first: str, second: str) -> Paired:
    """The paired differences of two variants, on the seeds that both have."""
    seeds = sorted(of[first].keys() & of[second].keys())
    return paired([of[first][s] for s in seeds], [of[second][s] for s in seeds])


def render(
    experiment: Experiment, dataset: str, records: Sequence[Record], scale: str = "book"
) -> str:
    """Ours beside the paper's, as text.

    Raises:
    """
    setting = experiment.settings[scale][dataset]
    lines = [
        f"{experiment.source}, on {dataset} at the {scale}'s scale:",
        f"{setting.k} maps to choose from."
        if isinstance(setting, Task)
        else f"{setting.total} rounds in all, {setting.cap} for one arm at most.",
        *wrap(f"Claim: {experiment.claim}", 80),
        "",
    ]
    if isinstance(setting, Task):
        return "\n".join([*lines, *_selections(experiment, records)])
    if any(isinstance(v, Range) for v in experiment.variants):
        return "\n".join([*lines, *_ranges(experiment, records)])
    of, tunings = errors(experiment, records), _tunings(experiment)
    targets = {v.target for v in tunings}
    title = "Test error in %" if len(targets) > 1 else f"Test error in %, {targets.pop()}"
    widest = max(len(title), *map(len, of))
    theirs = any(dataset in v.published for v in tunings)
    lines += [
        f"{title:{widest}}   seeds   mean ± sd       median" + "   paper: mean ± sd (n)" * theirs
    ]
    for v in tunings:
        values = [*of[v.name].values()]
        sd = f"{stdev(values):5.2f}" if len(values) > 1 else "    -"
        ours = f"{mean(values):5.2f} ± {sd}   {median(values):6.2f}" if values else "none"
        cell = v.published.get(dataset)
        paper = f"   {cell.mean:5.2f} ± {cell.sd:5.2f} ({cell.trials})" if cell else ""
        lines.append(f"{v.name:{widest}}   {len(values):5}   {ours}{paper}")
    if theirs and scale == "book":
        lines += ["(The paper's numbers are of another budget, other data and a larger model.)"]
    return "\n".join([*lines, *_differences(experiment, dataset, of)])


def _tunings(experiment: Experiment) -> list[Tuning]:
    return [v for v in experiment.variants if isinstance(v, Tuning)]


def _differences(
    experiment: Experiment, dataset: str, of: dict[str, dict[int, float]]
) -> list[str]:
    published = {v.name: v.published.get(dataset) for v in _tunings(experiment)}
    lines = ["", "Difference in points on the same seeds, with a 95 % interval (below 0: better)"]
    for first, second in experiment.against:
        if len(of[first].keys() & of[second].keys()) < 2:
            lines.append(f"{first} against {second}: it takes two seeds")
            continue
        d = difference(of, first, second)
        count = f"{d.wins} better, {d.ties} the same, {d.losses} worse"
        lines.append(f"{first} against {second}: {d.mean:+.2f} ± {d.half:.2f}; {count}")
        one, other = published[first], published[second]
        if one and other:
            p = welch(one, other)
            lines.append(f"    in the paper {one.mean - other.mean:+.2f}, p = {p:.2f} (Welch)")
    return lines


def _ranges(experiment: Experiment, records: Sequence[Record]) -> list[str]:
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


def _selections(experiment: Experiment, records: Sequence[Record]) -> list[str]:
    lines = [
        "Validation accuracy in %, means over seeds; seconds of processor time (GPU: of the clock)"
    ]
    peak = max((r["peak_gib"] for r in records), default=0)
    lines += [f"Memory of the process up to {peak:.1f} GiB"]
    for v in experiment.variants:
        own = [r for r in records if r["variant"] == v.name]
        if not own:
            continue
        took = mean(r["seconds"]["sweep"] for r in own)
        best = mean(100 * max(r["accuracy"]) for r in own)
        lines += [
            "",
            f"{v.name} ({len(own)} seeds)",
            f"    {'full sweep':36}{best:6.2f}   {took:8.1f} s",
        ]
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
    """The place of what a search has chosen among all maps, from 1: one more than are better."""
    accuracy = record["accuracy"]
    chosen = accuracy[record["picks"][search]]
    return 1 + sum(a > chosen for a in accuracy)

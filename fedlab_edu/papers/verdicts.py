"""Verdicts on the papers' claims, by one rule, from the records of `reproduce`.

A claim says that one variant of an experiment has a lower test error than another. Its verdict is

- *reproduced*: lower on the same seeds, by Holm's correction over all claims that were tried;
- *contradicted*: higher, by the same rule;
- *undecided*: neither;
- *not tried*: fewer than five seeds that both variants have.

Source of the correction: Holm (1979), A simple sequentially rejective multiple test procedure.
"""

from collections.abc import Sequence
from itertools import accumulate
from math import ceil
from operator import sub
from pathlib import Path
from statistics import NormalDist, fmean, stdev
from typing import NamedTuple

from scipy import stats

from fedlab_edu.papers.experiment import Experiment, Record
from fedlab_edu.papers.report import errors, paired, same_seeds, welch
from fedlab_edu.papers.reproduce import recorded
from fedlab_edu.validate import require

WORDS = "reproduced", "contradicted", "undecided", "not tried"
LEAST = 5  # paired seeds
LEVEL, POWER = 0.05, 0.8
#: Rivals that this book adds: no paper claims anything of them.
_OURS = "rising decays", "own weights", "no search", "shared grid"


class Verdict(NamedTuple):
    """What the records say of one claim; the first variant is claimed to be better.

    Fields:
        experiment, dataset, scale, better, worse: the claim.
        published: the paper's difference in points, or None; `p_published` is Welch's p-value.
        differences: better - worse, in points, on each seed.
        p: the two-sided p-value of the paired t-test; `p_holm` is corrected.
        verdict: one of the four words.
    """

    experiment: str
    dataset: str
    scale: str
    better: str
    worse: str
    published: float | None
    p_published: float | None
    differences: tuple[float, ...]
    p: float | None = None
    p_holm: float | None = None
    verdict: str = "not tried"

    @property
    def mean(self) -> float:
        """The mean difference, in points; below 0 the claim holds."""
        return fmean(self.differences)

    @property
    def half(self) -> float:
        """Half the width of its 95 % interval, without correction."""
        return paired(self.differences, [0.0] * len(self.differences)).half


def holm(p: Sequence[float]) -> list[float]:
    """Return p-values that hold together: ``max over j <= i of (m - j) p_(j)``, from j = 0.

    Rejecting each that is at most 0.05 rejects a true hypothesis with probability 0.05 at most.

    Source: Holm (1979).
    """
    order = sorted(range(len(p)), key=p.__getitem__)
    steps = (min(1.0, (len(p) - j) * p[i]) for j, i in enumerate(order))
    return [x for _, x in sorted(zip(order, accumulate(steps, max), strict=True))]


def seeds_needed(sd: float, points: float = 1.0, level: float = LEVEL) -> int:
    """Return how many paired seeds a t-test of power 0.8 needs for a difference of ``points``.

    For differences with standard deviation sd. With many seeds it is near
    ``((z_(1 - level / 2) + z_0.8) sd / points)^2``.
    """
    require(points > 0, "points", points, "above 0")
    z = NormalDist().inv_cdf
    n = max(2, ceil(((z(1 - level / 2) + z(POWER)) * sd / points) ** 2))
    while (
        sd and stats.nct.sf(stats.t.ppf(1 - level / 2, n - 1), n - 1, points / sd * n**0.5) < POWER
    ):
        n += 1
    return n


def verdicts(folder: str | Path) -> list[Verdict]:
    """Judge each claim whose experiment is `recorded` in the folder, in the order of the papers."""
    return judge([claim for record in recorded(folder) for claim in _claims(*record)])


def judge(claims: Sequence[Verdict]) -> list[Verdict]:
    """Return the claims with p-values and verdicts of their differences, corrected together."""
    found = [v._replace(p=None, p_holm=None, verdict="not tried") for v in claims]
    tried = [i for i, v in enumerate(found) if len(v.differences) >= LEAST]
    p = [_p(found[i].differences) for i in tried]
    for i, one, corrected in zip(tried, p, holm(p), strict=True):
        word = "reproduced" if found[i].mean < 0 else "contradicted"
        word = word if corrected <= LEVEL else "undecided"
        found[i] = found[i]._replace(p=one, p_holm=corrected, verdict=word)
    return found


def _claims(
    experiment: Experiment, dataset: str, scale: str, records: list[Record]
) -> list[Verdict]:
    if experiment.claimed == "none":
        return []
    of, workload = errors(experiment, records), experiment.workload(dataset, scale)
    published, found = experiment.published, []
    there = {v.name for v in experiment.variants if workload.fits(v)}
    for pair in experiment.against:
        if any(rival in name for rival in _OURS for name in pair) or not {*pair} <= there:
            continue
        better, worse = reversed(pair) if experiment.claimed == "second" else pair
        differences = tuple(map(sub, *same_seeds(of, better, worse)))
        one, other = (published[name].get(dataset) for name in (better, worse))
        gap, p = (one.mean - other.mean, welch(one, other)) if one and other else (None, None)
        where = experiment.name, dataset, scale, better, worse
        found.append(Verdict(*where, gap, p, differences))
    return found


def _p(differences: Sequence[float]) -> float:
    """Return the p-value of a paired t-test; 1 if all differences are 0, 0 if all are equal."""
    if not stdev(differences):
        return float(not differences[0])
    return float(stats.ttest_1samp(differences, 0.0).pvalue)


def cheapest(found: Sequence[Verdict]) -> list[tuple[int, Verdict]]:
    """Return undecided claims with the seeds that would decide each; fewest missing seeds first.

    The seeds are those of a difference as large as it seems now, by Holm's strictest step: a guide
    to what to run, not a promise.
    """
    tried = sum(v.p is not None for v in found)
    seeds = [
        (seeds_needed(stdev(v.differences), abs(v.mean), level=LEVEL / tried), v)
        for v in found
        if v.verdict == "undecided" and v.mean
    ]
    return sorted(seeds, key=lambda pair: pair[0] - len(pair[1].differences))


def render_verdicts(found: Sequence[Verdict]) -> str:
    """Return the verdicts as a table of text, with what chance alone would bring."""
    lines, last = [], ""
    for v in found:
        where = f"{v.experiment}, {v.dataset} ({v.scale}'s scale)"
        lines += [where] if where != last else []
        last = where
        theirs = "" if v.published is None else f"; paper {v.published:+.2f}, p {v.p_published:.2f}"
        ours = f"{len(v.differences)} paired seeds"
        if v.p is not None:
            need = seeds_needed(stdev(v.differences))
            ours = f"{v.mean:+.2f} ± {v.half:.2f} on {ours}, p {v.p:.3f}, by Holm {v.p_holm:.3f}"
            theirs += f"; 1 point takes {need} seeds"
        lines.append(f"  {v.verdict:12} {v.better} < {v.worse}: {ours}{theirs}")
    tried = [v for v in found if v.p is not None]
    small = sum((v.p or 0) <= LEVEL for v in tried)
    counts = {w: sum(v.verdict == w for v in found) for w in WORDS}
    lines.append(", ".join(f"{count} {word}" for word, count in counts.items()))
    lines.append(
        f"{len(tried)} claims tried: {LEVEL * len(tried):.1f} p-values up to {LEVEL} by chance "
        f"alone, {small} found"
    )
    if least := cheapest(found)[:3]:
        lines.append("Cheapest to decide, if the differences are what they seem:")
    for seeds, v in least:
        where = f"{v.experiment}, {v.dataset}: {v.better} < {v.worse}"
        lines.append(f"  {where}: {seeds} seeds, {len(v.differences)} are there")
    return "\n".join(lines)

"""Plots of a search: the scores of its arms, the online curve, and its hyperparameters.

Text and axes are black, which `picture` replaces by the page's colour. Needs the extra ``book``.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import cycle, product
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import Transform

from fedlab_edu.search.estimate import Estimate
from fedlab_edu.search.race import Race
from fedlab_edu.search.results import arms_of, arms_table, online
from fedlab_edu.validate import require, require_type
from fedlab_edu.widgets.picture import BLUE, COLOURS, GREY, ORANGE, STYLE

WIDTH = 4.8  # inches, as in `widgets.figure`
WIDE = 50  # values that span a larger factor get a logarithmic axis
OUT, ALIVE = "eliminated", "not eliminated"


def plot_race(search: Any) -> Figure:
    """Plot the score of each arm of a search by round, with a cross where it was eliminated.

    The scores are of single rounds, not the arms' estimates. Eliminated arms are grey; dotted lines
    mark the rounds of eliminations. A cross at the upper edge is a last score that is not finite.
    For the arms of other searches than races see `arms_of`.
    """
    race = arms_of(search)
    fig, (ax,) = _axes(height=3.2)
    for stop in sorted({stop for bracket in race.brackets for stop in bracket.stops[:-1]}):
        ax.axvline(stop, color=GREY, linewidth=0.6, linestyle=":", zorder=0)
    chosen = race.best if _begun(race) else None
    others = [a for a, out in enumerate(race.out) if out is None and a != chosen]
    for a, trace in enumerate(race.traces):
        label = ALIVE if a in others[:1] and trace else f"_arm {a}"
        style: dict[str, Any] = {"color": BLUE if a in others else GREY, "linewidth": 1}
        if a == chosen:
            label, style = _title(race), {"color": ORANGE, "linewidth": 2, "zorder": 3}
        alone = "." if len(trace) == 1 else ""  # one round makes no line
        ax.plot(range(1, len(trace) + 1), trace, marker=alone, label=label, **style)
    ends = [(stop, race.traces[a][stop - 1]) for a, stop in enumerate(race.out) if stop is not None]
    _crosses(ax, [end for end in ends if math.isfinite(end[1])], ax.transData, OUT)
    above = [(stop, 1.0) for stop, score in ends if not math.isfinite(score)]
    _crosses(ax, above, ax.get_xaxis_transform(), f"{OUT}, score not finite")
    _scores(ax, race.estimate, (score for trace in race.traces for score in trace))
    ax.set_xlabel("round of the arm")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    _legend(fig, ax)
    return fig


def plot_online(races: Mapping[str, Race]) -> Figure:
    """Plot the score of the arm chosen so far against the rounds spent, see `online`.

    Args:
        races: name -> search, one curve each, all with the same kind of score.
    """
    require_type("races", races, Mapping, '{"random search": search}')
    require(races, "races", races, "at least one")
    for name, race in races.items():
        require_type(f"races[{name!r}]", race, Race, "random_search(...)")
    one, *others = (race.estimate for race in races.values())
    for other in others:
        same = (other.target, other.score) == (one.target, one.score)
        require(same, "estimates of the races", [one, other], "the same target and score")
    fig, (ax,) = _axes(height=3.2)
    found: list[float] = []
    styles = cycle(product(("-", "--", ":"), COLOURS))
    for (name, race), (dashes, colour) in zip(races.items(), styles, strict=False):
        table = online(race)
        ax.plot(table.spent, table.score, drawstyle="steps-post",
                color=colour, linestyle=dashes, label=name)  # fmt: skip
        found += table.score.tolist()
    _scores(ax, one, found)
    ax.set_xlabel("communication rounds spent, all arms")
    _legend(fig, ax)
    return fig


def plot_chosen(search: Any) -> Figure:
    """Plot a strip for each hyperparameter that differs between arms, with the value of every arm.

    An arm has the same height in all strips. The chosen arm is on top, then those alive by score,
    then the eliminated ones, the last eliminated first. Colours show no scores, because models
    trained for different numbers of rounds are not comparable. An arm with a configuration for each
    client has no mark.
    """
    race, table = arms_of(search), arms_table(search)
    names = [n for n in table if n.startswith(("client_", "server_")) and table[n].nunique() > 1]
    allowed = "arms that differ in at least one, each with one configuration for all clients"
    require(names, "hyperparameters that differ", names, allowed)
    # from the bottom: the first to leave, ..., those alive; of these, the worst first
    order = table.fillna({"out": race.total + 1}).sort_values(
        ["out", "score", "arm"], ascending=[True, False, False], na_position="first"
    )
    table.loc[order.index, "height"] = range(len(table))
    out, chosen = table.out.notna(), table.chosen & _begun(race)
    groups: list[tuple[str, Any, dict[str, Any]]] = [
        (OUT, table[out], {"color": GREY, "marker": "x", "s": 18, "linewidths": 1.2}),
        (ALIVE, table[~out & ~chosen], {"color": BLUE, "marker": "o", "s": 16}),
        (_title(race), table[chosen], {"color": ORANGE, "marker": "D", "s": 36, "zorder": 3}),
    ]
    fig, strips = _axes(height=0.7 + 0.62 * len(names), rows=len(names))
    for ax, name in zip(strips, names, strict=True):
        for label, arms, style in groups:
            if len(arms):
                ax.scatter(arms[name], arms.height, label=label, **style)
        if _wide(table[name]):
            ax.set_xscale("log")
        else:
            ax.ticklabel_format(axis="x", useOffset=False, style="plain")
        ax.set_ylabel(name.replace("_", " "), rotation=0, ha="right", va="center")
        ax.set_yticks([])
        ax.spines.left.set_visible(False)
        ax.margins(y=0.25)
    _legend(fig, strips[0])
    return fig


def _axes(height: float, rows: int = 1) -> tuple[Figure, list[Axes]]:
    """Return a figure in the book's style that pyplot does not manage, so it need not be closed."""
    fig = Figure(figsize=(WIDTH, height), layout="constrained")
    with rc_context(STYLE):
        return fig, list(fig.subplots(rows, squeeze=False)[:, 0])


def _begun(race: Any) -> bool:
    return any(race.traces)


def _title(race: Any) -> str:
    return f"arm {race.best}, {'chosen' if race.done else 'best so far'}"


def _wide(values: Iterable[float]) -> bool:
    """Return whether a logarithmic axis suits the values: all positive, and far apart."""
    known = [value for value in values if math.isfinite(value)]
    return bool(known) and min(known) > 0 and max(known) > WIDE * min(known)


def _scores(ax: Axes, estimate: Estimate, values: Iterable[float]) -> None:
    """Label the axis of scores; only losses may need a logarithmic one."""
    ax.set_ylabel(f"validation {estimate.score}, {estimate.target}")
    if estimate.score == "loss" and _wide(values):
        ax.set_yscale("log")


def _crosses(ax: Axes, ends: Sequence[tuple[int, float]], where: Transform, label: str) -> None:
    if ends:
        rounds, heights = zip(*ends, strict=True)
        ax.plot(rounds, heights, "x", color=GREY, markersize=6, markeredgewidth=1.5, clip_on=False,
                transform=where, label=label)  # fmt: skip


def _legend(fig: Figure, ax: Axes) -> None:
    handles, labels = ax.get_legend_handles_labels()
    if labels:
        fig.legend(handles, labels, loc="outside upper left", ncols=2, frameon=False)

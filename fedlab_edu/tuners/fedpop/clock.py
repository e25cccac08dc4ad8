"""FedPop on workers of different speeds, under a simulated clock, with and without waiting.

Each member has its own worker. In Chen et al. (2023) members wait for one another every T_g rounds.
Without waiting, this is the asynchronous rule of Jaderberg et al. (2017), *Population based
training of neural networks*, section 3.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

from jaxtyping import Float
from torch import Tensor

from fedlab_edu.tensors import as_float64
from fedlab_edu.tuners.fedpop.population import FedPop
from fedlab_edu.validate import MOST, number, require, updated

_TOL = 1e-9  # 0.1 + 0.2 and 0.3 are one moment on paper


@dataclass(frozen=True, eq=False, repr=False)
class Clocked(FedPop):
    """A FedPop search on a simulated clock; `clocked` starts one.

    Fields:
        seconds, wait: see `clocked`.
        now: for each member the time, in seconds, at which it can start its next round or has
            ended its last.
    """

    seconds: Float[Tensor, "N_c R_c"] = field(kw_only=True)
    wait: bool = field(kw_only=True)
    now: tuple[float, ...] = field(kw_only=True)

    @property
    def elapsed(self) -> float:
        """The seconds on the clock."""
        return max(self.now)

    @property
    def busy(self) -> list[float]:
        """The seconds that each worker has trained, in rounds that have ended."""
        pairs = zip(self.seconds, self.traces, strict=True)
        return [float(row[: len(trace)].sum()) for row, trace in pairs]

    @property
    def idle(self) -> float:
        """The share of time in which workers were idle.

        A worker is released when its member is eliminated, and otherwise at the end of the search.
        """
        ended = [len(trace) == self.evolution.R for trace in self.traces]
        held = sum(self.elapsed if end else t for end, t in zip(ended, self.now, strict=True))
        return max(0.0, 1 - sum(self.busy) / held) if held else 0.0

    def due(self, most: int) -> tuple[list[int], int]:
        """Return the members whose rounds end next; if members wait, all."""
        if self.wait:
            return super().due(most)
        ends = [
            t + float(row[len(trace)]) if len(trace) < self.evolution.R else inf
            for t, row, trace in zip(self.now, self.seconds, self.traces, strict=True)
        ]
        first = min(ends) * (1 + _TOL)
        return [i for i, end in enumerate(ends) if end <= first], 1

    def conclude(self, arms: Sequence[int]) -> "Clocked":
        """Return the search at the end of the round of these members.

        They have to wait for one another if some copy, are eliminated, or are replaced.
        """
        after, now, r = super().conclude(arms), list(self.now), self.round
        for i in arms:
            now[i] += float(self.seconds[i, len(self.traces[i]) - 1])
        copying = self.G and r % self.T_g == 0 and r < self.evolution.R and len(after.alive) > 1
        stopped = r in self.brackets[0].stops[:-1]
        if not self.wait or copying or stopped or len(after.births) > len(self.births):
            latest = max(now[i] for i in arms)
            now = [latest if i in arms else t for i, t in enumerate(now)]
        return updated(after, now=tuple(now))


def clocked(
    search: FedPop, seconds: Callable[[int, int], float] | Any, *, wait: bool = False
) -> Clocked:
    """Put a clock on a new search: ``tune(clocked(search, seconds), model, fed)``.

    If members wait, the numbers are those of the search alone. Otherwise a member compares itself
    with the others as soon as it has trained T_g more rounds. Scores cover the rounds that a member
    has ended since it last copied another. It may copy one with more or fewer rounds than its own,
    and keeps its own round number. Rounds that end at the same time, up to a relative 1e-9, are
    handled together: if all take equally long, the numbers are those of the search alone.

    Args:
        search: a search before its first round, of at most a million rounds.
        seconds: the duration of a round: an array (members, R_c), or a function of the member, from
            0, and its round, from 1.
        wait: whether members wait for one another where some copy, are eliminated, or are replaced
            after they have diverged. A search with eliminations needs it.
    """
    require(isinstance(search, FedPop), "search", type(search).__name__, "a FedPop, as of fedpop()")
    require(search.used == 0, "rounds of the search", search.used, "0: one that has not begun")
    require(isinstance(wait, bool), "wait", wait, "True, False")
    stops = search.brackets[0].stops
    require(wait or len(stops) == 1, "wait", wait, "True, for members that are to be eliminated")
    shape = len(search.runs), search.evolution.R
    allowed = f"at most {MOST:,} for all members"
    require(shape[0] * shape[1] <= MOST, "rounds", f"{shape[0]} * {shape[1]}", allowed)
    if callable(seconds):
        rounds = range(1, shape[1] + 1)
        seconds = [[number(seconds(i, r)) for r in rounds] for i in range(shape[0])]
    try:
        table = as_float64(seconds)
    except (TypeError, ValueError, RuntimeError):
        require(False, "seconds", seconds, f"an array {shape}, or a function of member and round")
    require(tuple(table.shape) == shape, "shape of seconds", tuple(table.shape), f"{shape}")
    require(((table > 0) & table.isfinite()).all(), "seconds", table, "finite numbers above 0")
    now = (0.0,) * shape[0]
    return Clocked(**vars(search), seconds=table.clone(), wait=wait, now=now)

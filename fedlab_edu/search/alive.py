"""Arms that train side by side, some of which are eliminated: what `Race` and `FedPop` share."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import isnan
from typing import Any, TypeVar

import torch

from fedlab_edu.rounds.run import Run, drop_vectors
from fedlab_edu.search.schedules import Schedule, best_index, survivors
from fedlab_edu.validate import updated

_S = TypeVar("_S", bound="SideBySide")


def summary(search: Any) -> str:
    """Return the class of a search, its arms, rounds and best score, for its ``repr``."""
    best = "no score yet" if isnan(search.best_score) else f"best score {search.best_score:.4g}"
    parts = [f"{search.used:,} of {search.total:,} rounds", best]
    if hasattr(search, "alive"):
        parts.insert(0, f"{len(search.alive)} of {len(search.runs)} arms alive")
    return f"{type(search).__name__}({', '.join(parts)})"


class SideBySide:
    """The runs and scores of the arms of a search, and the rounds at which some were eliminated."""

    runs: tuple[Run, ...]
    traces: tuple[tuple[float, ...], ...]
    out: tuple[int | None, ...]
    __repr__ = summary

    @property
    def scores(self) -> list[float]:
        """The score of each arm at its last round."""
        raise NotImplementedError

    @property
    def used(self) -> int:
        """The communication rounds of all arms so far."""
        return sum(map(len, self.traces))

    @property
    def alive(self) -> list[int]:
        """The arms that have not been eliminated."""
        return [a for a, out in enumerate(self.out) if out is None]

    @property
    def best(self) -> int:
        """The arm with the lowest score of those alive; NaN counts as +inf."""
        scores, alive = self.scores, self.alive
        return alive[best_index([scores[a] for a in alive])]

    @property
    def best_score(self) -> float:
        """The score of the best arm; NaN before the first round."""
        return self.scores[self.best]

    @property
    def winner(self) -> Run:
        """The run of the best arm."""
        return self.runs[self.best]

    def played(
        self: _S,
        arms: Sequence[int],
        after: Sequence[Run],
        scores: Sequence[Iterable[float]],
        **more: Any,
    ) -> _S:
        """Return the search with the runs of some arms after rounds with these scores."""
        runs, traces = list(self.runs), list(self.traces)
        for a, run, new in zip(arms, after, scores, strict=True):
            runs[a], traces[a] = run, (*traces[a], *new)
        return updated(self, runs=tuple(runs), traces=tuple(traces), **more)

    def eliminate(self: _S, arms: Sequence[int], bracket: Schedule, now: int) -> _S:
        """Return the search after the eliminations among some arms that a bracket has now."""
        if now not in bracket.stops[:-1]:
            return self
        runs, out, scores = list(self.runs), list(self.out), self.scores
        for _ in range(bracket.stops[:-1].count(now)):
            left = [arms[place] for place in survivors([scores[a] for a in arms], bracket.eta)]
            for a in set(arms) - set(left):
                runs[a], out[a] = drop_vectors(runs[a]), now
            arms = left
        return updated(self, runs=tuple(runs), out=tuple(out))

    def to(self: _S, device: str | torch.device) -> _S:
        """Return the same search, with its vectors on another device; see `Run.to`."""
        return replace(self, runs=tuple(run.to(device) for run in self.runs))  # type: ignore[type-var]

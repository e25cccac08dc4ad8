"""A race of arms under a schedule: random search, successive halving and Hyperband, as one value.

An arm is a run with its own configuration of clients and server, initial weights and draws. All
arms that are alive train side by side, with the numbers of each trained alone. Khodak et al.
(2021), Algorithm 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import inf, isnan
from typing import ClassVar, Literal, Protocol, TypeVar, runtime_checkable

import torch

from fedlab_edu.data.clients import Federation
from fedlab_edu.models.model import Model
from fedlab_edu.rounds.run import Run, drop_vectors
from fedlab_edu.search.estimate import Estimate
from fedlab_edu.search.schedules import Schedule, best_index, last_stop, schedule, survivors
from fedlab_edu.search.workers import Play, play_here
from fedlab_edu.validate import Checked, require, updated

Select = Literal["survivor", "best_seen"]
_R = TypeVar("_R", bound="Race")


@runtime_checkable
class Search(Protocol):
    """The interface of a search, for the driver `tune`. A value: `step` returns the next one."""

    @property
    def total(self) -> int:
        """The communication rounds of the whole search, over all arms."""

    @property
    def used(self) -> int:
        """The communication rounds so far, over all arms."""

    @property
    def done(self) -> bool:
        """Whether all rounds have been spent."""
        return self.used >= self.total

    @property
    def best_score(self) -> float:
        """The latest score of the best arm, which may rise; NaN before the first round."""

    def step(self, model: Model, fed: Federation, clients: int = 10) -> "Search":
        """Return the search after some more rounds, of one or several arms."""

    def to(self, device: str | torch.device) -> "Search":
        """Return the same search, with its vectors on another device; see `Run.to`."""

    def __repr__(self) -> str:
        best = "no score yet" if isnan(self.best_score) else f"best score {self.best_score:.4g}"
        parts = [f"{self.used:,} of {self.total:,} rounds", best]
        if isinstance(self, Race):
            parts.insert(0, f"{len(self.alive)} of {len(self.runs)} arms alive")
        return f"{type(self).__name__}({', '.join(parts)})"


@dataclass(frozen=True, eq=False, repr=False)
class Race(Search, Checked):
    """Arms in brackets, each with a schedule of its own; the arms are in the brackets' order.

    Fields:
        runs: one for each arm; an eliminated run keeps its history but no vectors.
        traces: each arm's score of each of its rounds; NaN if no client could validate.
        out: the round at which each arm was eliminated, or None.
        seen: with "best_seen", the lowest estimate so far, and the run at that time.
    """

    runs: tuple[Run, ...]
    brackets: tuple[Schedule, ...]
    estimate: Estimate
    traces: tuple[tuple[float, ...], ...]
    out: tuple[int | None, ...]
    select: Select = "survivor"
    seen: tuple[float, Run] | None = None
    budget: ClassVar[tuple[str, ...]] = ("brackets",)

    @property
    def total(self) -> int:
        return sum(bracket.used for bracket in self.brackets)

    @property
    def used(self) -> int:
        return sum(map(len, self.traces))

    @property
    def arms(self) -> list[range]:
        """The numbers of each bracket's arms."""
        ends = accumulate((bracket.arms for bracket in self.brackets), initial=0)
        return [range(*pair) for pair in pairwise(ends)]

    @property
    def alive(self) -> list[int]:
        """The arms that have not been eliminated."""
        return [a for a, out in enumerate(self.out) if out is None]

    def score_at(self, a: int, t: int) -> float:
        """Return the estimate of arm a after its round t."""
        own = next(b for b, arms in zip(self.brackets, self.arms, strict=True) if a in arms)
        return self.estimate.of_trace(self.traces[a][:t], last_stop(own.stops, t))

    @property
    def scores(self) -> list[float]:
        """The estimate of each arm after its last round."""
        return [self.score_at(a, len(trace)) for a, trace in enumerate(self.traces)]

    @property
    def best(self) -> int:
        """The arm with the lowest score of those alive; NaN counts as +inf."""
        scores, alive = self.scores, self.alive
        return alive[best_index([scores[a] for a in alive])]

    @property
    def best_score(self) -> float:
        return self.scores[self.best]

    @property
    def winner(self) -> Run:
        """The run of the best arm; with "best_seen", the run at the lowest estimate."""
        return self.seen[1] if self.seen else self.runs[self.best]

    @property
    def warning(self) -> str | None:
        """A warning about the winner, or None, see `Estimate.warning`."""
        found = self.estimate.warning(self.winner, self.best_score)
        return found and f"arm {self.best} is the best, but {found}"

    def step(
        self: _R, model: Model, fed: Federation, clients: int = 10, *,
        play: Play = play_here, most: int = 1,
    ) -> _R:  # fmt: skip
        """Return the search after one communication round, or more, of each arm that is `due`.

        Args:
            clients: B, for each round of each arm.
            play: plays the rounds, as `Workers.play` does.
            most: a step may have this number of rounds over all arms, if no choice is between.
        """
        require(not self.done, "search", "over", "one with rounds left")
        begun = self.prepare(model, fed, clients)
        arms, rounds = begun.due(most)
        after = play([begun.runs[a] for a in arms], model, fed, clients, rounds)
        runs, traces = list(begun.runs), list(begun.traces)
        for a, run in zip(arms, after, strict=True):
            scores = (self.estimate.of_run(run, model, fed, t) for t in range(-rounds, 0))
            runs[a], traces[a] = run, (*traces[a], *scores)
        return updated(begun, runs=tuple(runs), traces=tuple(traces)).conclude(arms)

    def prepare(self: _R, model: Model, fed: Federation, clients: int) -> _R:
        """Return the search before a step."""
        return self

    def due(self, most: int) -> tuple[list[int], int]:
        """Return the arms that a step trains, and for how many rounds each.

        They have rounds left, and train up to the next elimination.
        """
        stops = [bracket.stops for bracket in self.brackets for _ in range(bracket.arms)]
        played = [*map(len, self.traces)]
        arms = [a for a in self.alive if played[a] < stops[a][-1]]
        if self.estimate.target == "averaged" or self.select == "best_seen":
            return arms, 1  # these need the weights after each round
        left = [min(s for s in stops[a] if s > played[a]) - played[a] for a in arms]
        return arms, max(1, min(most // len(arms), *left))

    def conclude(self: _R, arms: Sequence[int]) -> _R:
        """Return the search after its rules have seen the new scores of these arms.

        A bracket that has come to a stop eliminates some.
        """
        new, just = self, set(arms)
        if self.select == "best_seen":
            now = self.scores
            seen = [(now[a], self.runs[a]) for a in arms if now[a] < inf]
            seen = [self.seen, *seen] if self.seen else seen
            new = updated(self, seen=min(seen, key=lambda pair: pair[0], default=None))
        for bracket, own in zip(self.brackets, self.arms, strict=True):
            if trained := [a for a in own if a in just]:
                new = new.eliminate(trained, bracket, len(new.traces[trained[0]]))
        return new

    def eliminate(self: _R, arms: Sequence[int], bracket: Schedule, now: int) -> _R:
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

    def extend(self, done: "Race") -> "Race":
        """Return this race after the rounds of another that differs in its budget only.

        Arms without eliminations train alone, so a larger budget adds arms or rounds to them. Whole
        brackets may follow, as in Hyperband. The numbers are those of a race that had the budget
        from the start, up to rounding.

        Raises:
            ValueError: a smaller budget, or eliminations in other rounds.
        """
        *before, last = done.brackets
        *same, now = self.brackets[: len(done.brackets)]
        plain = len(last.stops) == len(now.stops) == 1  # without eliminations
        more = plain and last.arms <= now.arms and last.stops <= now.stops
        ok = same == before and (last == now or more)
        for name in ("total", "brackets"):
            seen, known = getattr(self, name), getattr(done, name)
            allowed = f"{known}, as before; without eliminations also more arms or rounds"
            require(ok or seen == known, name, seen, allowed)
        names, k = ("runs", "traces", "out"), len(done.runs)
        parts = {name: getattr(done, name) + getattr(self, name)[k:] for name in names}
        return updated(self, seen=done.seen, **parts)

    def to(self: _R, device: str | torch.device) -> _R:
        seen = self.seen and (self.seen[0], self.seen[1].to(device))
        return updated(self, runs=tuple(run.to(device) for run in self.runs), seen=seen)


def alone(run: Run, rounds: int, estimate: Estimate | None = None) -> Race:
    """Return a race of one run, which `tune` trains for some rounds and can resume from a file."""
    plan = schedule(rounds, rounds, eliminations=0)
    return Race((run,), (plan,), estimate or Estimate(), ((),), (None,))

"""A race of arms under a schedule: random search, successive halving and Hyperband, as one value.

An arm is a run with its own configuration of clients and server, initial weights and draws. All
arms that are alive train side by side, with the numbers of each trained alone. Khodak et al.
(2021), Algorithm 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from math import inf
from typing import ClassVar, Literal, SupportsIndex

import torch
from jaxtyping import Float
from torch import Tensor

from fedlab_edu.data.clients import Federation
from fedlab_edu.methods import Method
from fedlab_edu.models.model import Model
from fedlab_edu.rounds.run import Run, check_types, start
from fedlab_edu.search.alive import SideBySide
from fedlab_edu.search.arms import Arm
from fedlab_edu.search.estimate import Estimate
from fedlab_edu.search.schedules import Schedule, last_stop
from fedlab_edu.search.workers import Play, play_here
from fedlab_edu.seeds import seed_for
from fedlab_edu.validate import Checked, require, whole

Select = Literal["survivor", "best_seen"]
_PER_ARM = ("runs", "traces", "out")


@dataclass(frozen=True, eq=False, repr=False)
class Race(SideBySide, Checked):
    """Arms in brackets, each with a schedule of its own.

    Fields:
        runs: one for each arm, in the order of the brackets; an eliminated run keeps its history
            but no vectors.
        traces: each arm's score of each of its rounds; NaN if no client could validate.
        out: the round at which each arm was eliminated, or None.
        select, stop_after_last_elimination: see `race`.
        seen: with "best_seen", the lowest estimate so far and the run at that time.
    """

    runs: tuple[Run, ...]
    brackets: tuple[Schedule, ...]
    estimate: Estimate
    traces: tuple[tuple[float, ...], ...]
    out: tuple[int | None, ...]
    select: Select = "survivor"
    stop_after_last_elimination: bool = False
    seen: tuple[float, Run] | None = None
    budget: ClassVar = ("brackets",)

    @property
    def arms(self) -> list[range]:
        """The numbers of each bracket's arms."""
        ends = accumulate((bracket.arms for bracket in self.brackets), initial=0)
        return [range(*pair) for pair in pairwise(ends)]

    @property
    def total(self) -> int:
        """The communication rounds of the whole race."""
        return sum(bracket.used for bracket in self.brackets)

    @property
    def done(self) -> bool:
        """Whether all rounds have been spent."""
        return self.used == self.total

    @property
    def scores(self) -> list[float]:
        """The estimate of each arm at its last round."""
        arms = zip(self.traces, self._stops(), strict=True)
        return [self.estimate.of_trace(t, last_stop(stops, len(t))) for t, stops in arms]

    @property
    def winner(self) -> Run:
        """The run of the best arm; with "best_seen", the run at the lowest estimate."""
        return self.seen[1] if self.seen else super().winner

    @property
    def warning(self) -> str | None:
        """A warning about the winner, or None, see `Estimate.warning`."""
        found = self.estimate.warning(self.winner, self.best_score)
        return found and f"arm {self.best} is the best, but {found}"

    def step(
        self, model: Model, fed: Federation, clients: int = 10, *,
        play: Play = play_here, most: int = 1,
    ) -> "Race":  # fmt: skip
        """Return the race after one communication round of each arm that has rounds left.

        Args:
            play: plays the rounds, as `Workers.play` does.
            most: a step may have this number of rounds over all arms, up to the next elimination.
                Each arm has one where a score or a choice needs the weights after each round.
        """
        stops = self._stops()
        playing = [a for a in self.alive if self.runs[a].round < stops[a][-1]]
        require(playing, "race", "over", "one with rounds left")
        runs = [self.runs[a] for a in playing]
        if self.estimate.target == "averaged" or self.select == "best_seen":
            most = 1
        left = [min(s for s in stops[a] if s > self.runs[a].round) for a in playing]
        left = [stop - run.round for stop, run in zip(left, runs, strict=True)]
        rounds = max(1, min(most // len(runs), *left))
        after = play(runs, model, fed, clients, rounds)
        of = self.estimate
        scores = [
            [of.of_run(run, model, fed)] if rounds == 1 else map(of.of_round, run.history[-rounds:])
            for run in after
        ]
        new = self.played(playing, after, scores)
        if self.select == "best_seen":
            now = new.scores
            pairs = [(now[a], run) for a, run in zip(playing, after, strict=True) if now[a] < inf]
            pairs = [*([self.seen] if self.seen else []), *pairs]
            new = replace(new, seen=min(pairs, key=lambda pair: pair[0], default=None))
        just = set(playing)
        for bracket, arms in zip(self.brackets, self.arms, strict=True):
            if trained := [a for a in arms if a in just]:
                new = new._stop(trained, bracket, new.runs[trained[0]].round)
        return new

    def _stop(self, arms: Sequence[int], bracket: Schedule, now: int) -> "Race":
        """Return the race after a round of a bracket's arms, if it is a stop."""
        new = self.eliminate(arms, bracket, now)
        if self.stop_after_last_elimination and bracket.stops[-2:-1] == (now,):
            runs = list(new.runs)
            for a in set(arms).intersection(new.alive):
                runs[a] = replace(runs[a], tuner=runs[a].tuner.freeze())
            new = replace(new, runs=tuple(runs))
        return new

    def _stops(self) -> list[tuple[int, ...]]:
        """Return the stops of each arm's bracket."""
        return [bracket.stops for bracket in self.brackets for _ in range(bracket.arms)]

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
        alone = len(last.stops) == len(now.stops) == 1
        more = alone and last.arms <= now.arms and last.stops <= now.stops
        ok = same == before and (last == now or more)
        allowed = f"{done.total}, as before; without eliminations also more arms or rounds"
        require(ok, "total", self.total, allowed)
        parts = {f: getattr(done, f) + getattr(self, f)[len(done.runs) :] for f in _PER_ARM}
        return replace(self, seen=done.seen, **parts)

    def to(self, device: str | torch.device) -> "Race":
        """Return the same race, with its vectors on another device."""
        seen = self.seen and (self.seen[0], self.seen[1].to(device))
        return replace(super().to(device), seen=seen)


def race(
    model: Model, fed: Federation, arms: Sequence[Arm], brackets: Sequence[Schedule], *,
    seed: SupportsIndex = 0, method: Method | None = None, estimate: Estimate | None = None,
    replacement: bool = False, select: Select = "survivor",
    stop_after_last_elimination: bool = False, w: Float[Tensor, " d"] | None = None,
) -> Race:  # fmt: skip
    """Start a race.

    Args:
        arms: in the order of the brackets, as many as they need. To choose one of several, some
            clients need validation data.
        seed: of the arms' initial weights, clients and minibatches; each arm has its own draws.
        estimate: the default is the personalised error of the last round.
        replacement: whether a client may be drawn twice in a round.
        select: "survivor" takes the best arm at its last round; "best_seen" the run of any arm at
            the lowest estimate, which is too optimistic as the lowest of many noisy ones.
        stop_after_last_elimination: freeze the tuners of the arms that are left then.
        w: the initial weights of all arms, instead of those of each arm's own seed.

    Source: Khodak et al. (2021), Algorithm 1; the three options after estimate are their code's.
    """
    check_types(model, fed)
    seed = whole("seed", seed, 0)
    needed = sum(bracket.arms for bracket in brackets)
    require(len(arms) == needed, "arms", len(arms), f"{needed}, as many as the brackets need")
    twice = method is not None and any(arm.method for arm in arms)
    require(not twice, "method", method, "None, where the search space names the methods")
    estimate = Estimate() if estimate is None else estimate
    require(isinstance(estimate, Estimate), "estimate", estimate, "an Estimate('global')")
    if len(arms) > 1 or estimate.target == "averaged":
        require(fed.val.n.any(), "validation examples", 0, "at least 1, to choose an arm by")
    runs = tuple(
        start(model, fed, tuner, b, seed_for(seed, a), own or method, replacement, w)
        for a, (tuner, b, own) in enumerate(arms)
    )
    return Race(runs, tuple(brackets), estimate, ((),) * len(runs), (None,) * len(runs),
                select, stop_after_last_elimination)  # fmt: skip

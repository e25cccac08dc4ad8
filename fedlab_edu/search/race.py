"""A race of arms under a schedule: random search, successive halving and Hyperband, as one value.

An arm is a run with its own configuration of clients and server, its own first weights and its own
draws. All arms still in the race train side by side, and each is as it would be alone. So a race
can be stopped, kept in a file and gone on with like a run. Khodak et al. (2021), Algorithm 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from math import inf, isnan, nan
from operator import index
from typing import Literal, SupportsIndex, get_args

import torch

from fedlab_edu.data.clients import Federation
from fedlab_edu.methods import Method, Server
from fedlab_edu.models.model import Model
from fedlab_edu.registry import storable
from fedlab_edu.rounds.communicate import communicate_all
from fedlab_edu.rounds.objectives import average
from fedlab_edu.rounds.result import Round
from fedlab_edu.rounds.run import Run, start
from fedlab_edu.search.arms import Arm
from fedlab_edu.search.schedules import (
    Schedule,
    best_index,
    discounted_mean,
    last_stop,
    survivors,
)
from fedlab_edu.seeds import seed_for
from fedlab_edu.training.scores import score
from fedlab_edu.validate import check_shares, number, require

Select = Literal["survivor", "best_seen"]
Target = Literal["global", "personalised", "averaged"]


@storable
@dataclass(frozen=True)
class Estimate:
    """How the validation scores of an arm's rounds become the one number it is judged by.

    Args:
        target: "global" takes the scores of the model that the clients receive, "personalised"
            those of the models that they train from it. "averaged" takes those of the model that
            the server makes of these, on the validation data of all clients, put together: only a
            server that holds such data can do so, as FedTune's does.
        score: "error", the share of examples that are wrong, or "loss".
        gamma: a round counts gamma to the power of its age: 0 takes the last round alone, 1 the
            mean of all rounds since the last elimination (of all past rounds in the paper; in its
            code, and here, an elimination begins anew).

    Raises:
        ValueError: another value.

    Source: Khodak et al. (2021), section 2.
    """

    target: Target = "personalised"
    score: Literal["error", "loss"] = "error"
    gamma: float = 0.0

    def __post_init__(self) -> None:
        allowed = get_args(Target)
        require(self.target in allowed, "target", self.target, f"one of {allowed}")
        require(self.score in ("error", "loss"), "score", self.score, "'error', 'loss'")
        check_shares(gamma=self.gamma)
        object.__setattr__(self, "gamma", number(self.gamma))

    def of_run(self, run: Run, model: Model, fed: Federation) -> float:
        """Of the round that a run has just played."""
        if self.target != "averaged":
            return self.of_round(run.history[-1])
        found = average(score(model, run.w, fed.val), fed.val)
        return found.loss if self.score == "loss" else found.error

    def of_round(self, played: Round) -> float:
        """The mean over the round's clients, weighted by their numbers of validation examples.

        NaN where none of them has any. A client that has diverged counts as an error of 1; the mean
        loss is then +inf.
        """
        of = played.before if self.target == "global" else played.after
        has = played.size > 0
        size, scores = played.size[has].double(), of.loss if self.score == "loss" else of.rates
        return float((size * scores[has]).sum() / size.sum())

    def of_trace(self, trace: Sequence[float], since: int) -> float:
        """The discounted mean of the scores after round ``since``, of those that are known.

        Where none is, it is the last known before; NaN if there is none.
        """
        known = [s for s in trace[since:] if not isnan(s)]
        known = known or [s for s in trace if not isnan(s)][-1:]
        return discounted_mean(known, self.gamma) if known else nan


@storable
@dataclass(frozen=True, eq=False)
class Race:
    """Arms in brackets, each with a schedule of its own.

    Fields:
        runs: one for each arm, those of the first bracket first. A run that was eliminated keeps
            its history, and no vectors.
        brackets: the schedules.
        estimate: what arms are judged by.
        traces: of each arm the score of each of its rounds; NaN where no client could validate.
        out: of each arm the round at which it was eliminated; None for one that was not.
        select, stop_after_last_elimination: see `race`.
        seen: the lowest estimate so far, of equal ones the first, and the run then; only for
            "best_seen".
    """

    runs: tuple[Run, ...]
    brackets: tuple[Schedule, ...]
    estimate: Estimate
    traces: tuple[tuple[float, ...], ...]
    out: tuple[int | None, ...]
    select: Select = "survivor"
    stop_after_last_elimination: bool = False
    seen: tuple[float, Run] | None = None

    @property
    def arms(self) -> list[range]:
        """The numbers of each bracket's arms."""
        ends = accumulate((bracket.arms for bracket in self.brackets), initial=0)
        return [range(*pair) for pair in pairwise(ends)]

    @property
    def total(self) -> int:
        """The communication rounds that the race takes in all."""
        return sum(bracket.used for bracket in self.brackets)

    @property
    def used(self) -> int:
        """The communication rounds that all arms have spent so far."""
        return sum(run.round for run in self.runs)

    @property
    def alive(self) -> list[int]:
        """The arms that have not been eliminated."""
        return [a for a, out in enumerate(self.out) if out is None]

    @property
    def done(self) -> bool:
        """Whether all rounds have been spent."""
        return self.used == self.total

    @property
    def scores(self) -> list[float]:
        """Of each arm the estimate at its last round."""
        return self._estimates(range(len(self.runs)))

    @property
    def best(self) -> int:
        """The living arm with the lowest score, of equal ones the first; NaN counts as +inf."""
        return self.alive[best_index(self._estimates(self.alive))]

    @property
    def best_score(self) -> float:
        """The score of the best arm; NaN before the first round."""
        return self._estimates([self.best])[0]

    @property
    def winner(self) -> Run:
        """The run of the best arm; for "best_seen" the run when any arm's estimate was lowest."""
        return self.seen[1] if self.seen else self.runs[self.best]

    def step(self, model: Model, fed: Federation, clients: int = 10) -> "Race":
        """One communication round of each arm that is not yet at its last, with B clients each.

        Raises:
            ValueError: the race is over.
        """
        stops = self._stops()
        playing = [a for a in self.alive if self.runs[a].round < stops[a][-1]]
        require(playing, "race", "over", "one with rounds left")
        after = communicate_all([self.runs[a] for a in playing], model, fed, clients)
        runs, traces = list(self.runs), list(self.traces)
        for a, run in zip(playing, after, strict=True):
            runs[a], traces[a] = run, (*traces[a], self.estimate.of_run(run, model, fed))
        played = replace(self, runs=tuple(runs), traces=tuple(traces))
        if self.select == "best_seen":
            now = zip(played._estimates(playing), after, strict=True)
            played = replace(played, seen=_lower(self.seen, *now))
        return played._eliminate(playing)

    def _eliminate(self, playing: Sequence[int]) -> "Race":
        """The race after the eliminations of those brackets that have just come to a stop."""
        runs, out, just = list(self.runs), list(self.out), set(playing)
        for bracket, arms in zip(self.brackets, self.arms, strict=True):
            alive = [a for a in arms if a in just]
            now = runs[alive[0]].round if alive else 0
            for _ in range(bracket.stops[:-1].count(now)):
                best = survivors(self._estimates(alive), bracket.eta)
                going = [alive[place] for place in best]
                for a in set(alive) - set(going):
                    runs[a], out[a] = drop_vectors(runs[a]), now
                alive = going
            if self.stop_after_last_elimination and bracket.stops[-2:-1] == (now,):
                for a in alive:
                    runs[a] = replace(runs[a], tuner=runs[a].tuner.freeze())
        return replace(self, runs=tuple(runs), out=tuple(out))

    def _stops(self) -> list[tuple[int, ...]]:
        """Of each arm the stops of its bracket."""
        return [bracket.stops for bracket in self.brackets for _ in range(bracket.arms)]

    def _estimates(self, arms: Sequence[int]) -> list[float]:
        stops, traces = self._stops(), self.traces
        return [
            self.estimate.of_trace(traces[a], last_stop(stops[a], len(traces[a]))) for a in arms
        ]

    def __add__(self, other: "Race") -> "Race":
        """Both, side by side, the other's arms after one's own; judged as these are."""
        for name in ("estimate", "select", "stop_after_last_elimination"):
            ours, theirs = getattr(self, name), getattr(other, name)
            require(ours == theirs, name, theirs, f"that of the other race, {ours!r}")
        fields = ("runs", "brackets", "traces", "out")
        seen = _lower(self.seen, *([other.seen] if other.seen else []))
        return replace(self, seen=seen, **{f: getattr(self, f) + getattr(other, f) for f in fields})

    def to(self, device: str | torch.device) -> "Race":
        """The same race, its vectors on another device.

        Raises:
            ValueError: this machine has no such device.
        """
        seen = self.seen and (self.seen[0], self.seen[1].to(device))
        return replace(self, runs=tuple(run.to(device) for run in self.runs), seen=seen)


def _lower(seen: tuple[float, Run] | None, *more: tuple[float, Run]) -> tuple[float, Run] | None:
    """The pair with the lowest number, of equal ones the first; NaN counts as +inf."""
    known = [pair for pair in (seen, *more) if pair and pair[0] < inf]
    return min(known, key=lambda pair: pair[0], default=None)


def drop_vectors(run: Run) -> Run:
    """What it was and what it did: only a run that goes on needs its vectors."""
    return replace(run, server=Server(*(v[:0].clone() for v in run.server)), states={})


def race(
    model: Model,
    fed: Federation,
    arms: Sequence[Arm],
    brackets: Sequence[Schedule],
    *,
    seed: SupportsIndex = 0,
    first: int = 0,
    method: Method | None = None,
    estimate: Estimate | None = None,
    replacement: bool = False,
    select: Select = "survivor",
    stop_after_last_elimination: bool = False,
) -> Race:
    """A race that has not begun.

    Args:
        arms: those of the first bracket first.
        seed: of the arms' first weights, clients and minibatches; each arm has its own draws.
        first: the number of the first arm, for arms that join others later.
        estimate: what arms are judged by; the default is the personalised error of the last round.
        replacement: whether a client may be drawn twice in a round.
        select: "survivor" wins at its last round; "best_seen" is the run of any arm after the round
            with the lowest estimate, which, as the lowest of many noisy ones, promises too much.
        stop_after_last_elimination: those left then settle on what their tuners have found so far.

    Raises:
        ValueError: not as many arms as the brackets need; an option that is not allowed; no
            validation data to choose an arm by.

    Source: Khodak et al. (2021), Algorithm 1; the last three are options of their code.
    """
    needed = sum(bracket.arms for bracket in brackets)
    require(len(arms) == needed, "arms", len(arms), f"{needed}, as many as the brackets need")
    runs = tuple(
        start(model, fed, tuner, b, seed_for(index(seed), a), method, replacement)
        for a, (tuner, b) in enumerate(arms, first)
    )
    nothing = ((),) * len(runs)
    estimate = Estimate() if estimate is None else estimate
    require(
        isinstance(estimate, Estimate), "estimate", estimate, "an Estimate, as Estimate('global')"
    )
    require(select in get_args(Select), "select", select, f"one of {get_args(Select)}")
    if len(arms) > 1 or estimate.target == "averaged":
        require(fed.val.n.any(), "validation examples", 0, "at least 1, to choose an arm by")
    return Race(runs, tuple(brackets), estimate, nothing, (None,) * len(runs),
                select, stop_after_last_elimination)  # fmt: skip

"""FedPop: a population of runs, of which the worst copy the best, and change what they copy.

FedPop-G lets members of the population copy one another's model and hyperparameters; FedPop-L lets
the clients of one member copy one another's. Chen, Krompass, Gu, Tresp (2023), *FedPop: Federated
population-based hyperparameter tuning*, Algorithm 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, isnan, nan
from typing import Literal, NamedTuple, SupportsIndex

import torch

from fedlab_edu.data.clients import Federation
from fedlab_edu.methods import Method
from fedlab_edu.models.model import Model
from fedlab_edu.registry import storable
from fedlab_edu.rounds.communicate import communicate_all
from fedlab_edu.rounds.result import Round
from fedlab_edu.rounds.run import Run, start
from fedlab_edu.rounds.tuner import Fixed
from fedlab_edu.search.arms import draw_arms
from fedlab_edu.search.race import drop_vectors
from fedlab_edu.search.schedules import Schedule, best_index, schedule, survivors
from fedlab_edu.search.space import Spaces
from fedlab_edu.seeds import generator, seed_for
from fedlab_edu.training.hparams import LocalHP, ServerHP
from fedlab_edu.tuners.fedpop.local import FedPopL, Local
from fedlab_edu.tuners.fedpop.population import (
    Evolution,
    anneal,
    discounted_score,
    inherit,
    pair_parents,
    ranked,
)
from fedlab_edu.validate import MOST, require, whole

__all__ = ["Birth", "FedPop", "FedPopL", "Local", "anneal", "discounted_score", "fedpop", "ranked"]


@storable
class Birth(NamedTuple):
    """A configuration that a member has had: from which round on, and from whom it came.

    Fields:
        round: the rounds of the search before it; 0 for the first ones.
        member: the place in the population.
        parent: the place of the member that was copied; None for the first ones.
        c, b: the clients' base beta^0, and the server's alpha.
    """

    round: int
    member: int
    parent: int | None
    c: LocalHP
    b: ServerHP


@storable
@dataclass(frozen=True, eq=False)
class FedPop:
    """A population of members that train side by side, as a value; `fedpop` begins one.

    Fields:
        runs: one for each member. One that was eliminated keeps no vectors.
        spaces: the search spaces.
        bracket: how many members, and when some are eliminated; without eliminations all train up
            to R_c.
        how: the rules of evolution.
        G: whether members copy one another.
        T_g: the rounds between two times that they do, and over which eq. (5) goes.
        local: those of FedPop-L; None if all clients of a member train with its base.
        weighted: whether a member's score is weighted by the numbers of validation examples, as in
            the authors' code. As printed all clients count alike.
        keep_age: whether the server's rate of a copy goes on to decay from where it was. Otherwise
            it begins anew, as in the authors' code.
        on_nan: what has diverged is replaced when members copy next ("wait"), or else at once
            ("replace"), as in the authors' code, by a copy of a random member, maybe of itself.
        seed: of all draws.
        traces: of each member the score s_i of each of its rounds; NaN where no client could
            validate, +inf where one has diverged.
        out: of each member the round at which it was eliminated; None for one that was not.
        births: all configurations (alpha, beta^0) so far, in order.
        tried: how many vectors of the clients have been trained with so far; the server's are
            counted only where the clients' are new, too.

    When members copy one another, all whose score is not finite are replaced, and none of these is
    copied. Nobody copies in the last round: what was copied then would never train.

    Source: Chen et al. (2023), Algorithm 1.
    """

    runs: tuple[Run, ...]
    spaces: Spaces
    bracket: Schedule
    how: Evolution
    G: bool
    T_g: int
    local: Local | None
    weighted: bool
    keep_age: bool
    on_nan: Literal["wait", "replace"]
    seed: int
    traces: tuple[tuple[float, ...], ...]
    out: tuple[int | None, ...]
    births: tuple[Birth, ...]
    tried: int = 0

    @property
    def total(self) -> int:
        """The communication rounds that the search takes in all."""
        return self.bracket.used

    @property
    def used(self) -> int:
        """Those that all members have spent so far."""
        return sum(map(len, self.traces))

    @property
    def round(self) -> int:
        """The rounds that each living member has spent, at least: see `clocked`."""
        return min(len(self.traces[i]) for i in self.alive)

    @property
    def done(self) -> bool:
        """Whether all rounds have been spent."""
        return self.round == self.how.R

    @property
    def alive(self) -> list[int]:
        """The members that have not been eliminated."""
        return [i for i, out in enumerate(self.out) if out is None]

    @property
    def latest(self) -> list[Birth]:
        """The configuration that each member has now."""
        now = {birth.member: birth for birth in self.births}
        return [now[i] for i in range(len(self.runs))]

    @property
    def scores(self) -> list[float]:
        """Of each member eq. (5) over its last T_g rounds, none of them of one that it replaced.

        Rounds in which no client could validate are left out. NaN where nothing is known.
        """
        found = []
        for trace, born in zip(self.traces, self.latest, strict=True):
            known = [s for s in trace[max(born.round, len(trace) - self.T_g) :] if not isnan(s)]
            found.append(discounted_score(known, self.how.gamma) if known else nan)
        return found

    @property
    def best(self) -> int:
        """The living member with the lowest score, of equal ones the first; NaN counts as +inf."""
        scores, alive = self.scores, self.alive
        return alive[best_index([scores[i] for i in alive])]

    @property
    def best_score(self) -> float:
        """The score of the best member; NaN before the first round."""
        return self.scores[self.best]

    @property
    def winner(self) -> Run:
        """The run of the best member."""
        return self.runs[self.best]

    def step(self, model: Model, fed: Federation, clients: int = 10) -> "FedPop":
        """One communication round of each living member, with B clients each.

        Raises:
            ValueError: the search is over; with FedPop-L another B than in the rounds before.
        """
        require(not self.done, "search", "over", "one with rounds left")
        played = self.train(self.alive, model, fed, clients)._eliminate()
        return played.exploit(played.alive)

    def train(
        self, members: Sequence[int], model: Model, fed: Federation, clients: int = 10
    ) -> "FedPop":
        """One communication round of each of some members, after which nobody copies yet."""
        begun = [self._equip(i, clients) for i in members]
        tried = self.tried + sum(self._new(i, run) for i, run in zip(members, begun, strict=True))
        after = communicate_all(begun, model, fed, clients)
        runs, traces = list(self.runs), list(self.traces)
        for i, run in zip(members, after, strict=True):
            runs[i], traces[i] = run, (*traces[i], self._score(run.history[-1]))
        return replace(self, runs=tuple(runs), traces=tuple(traces), tried=tried)

    def _equip(self, i: int, K: int) -> Run:
        """A member's run; if FedPop-L is on and its K vectors are not drawn yet, with them."""
        run = self.runs[i]
        if self.local is None or isinstance(run.tuner, FedPopL):
            return run
        r = len(self.traces[i])
        seed = seed_for(self.seed, i, r, 1)
        near = FedPopL.near(self.spaces.client, run.tuner.final, K, self.how, self.local, seed, r)
        return replace(run, tuner=near)

    def _new(self, i: int, run: Run) -> int:
        """How many vectors are trained with for the first time in the next round."""
        if isinstance(run.tuner, FedPopL):
            return run.tuner.fresh
        return int(self.latest[i].round == len(self.traces[i]))

    def _score(self, played: Round) -> float:
        """The mean validation loss of the round's clients, after their training."""
        has = played.size > 0
        weight = played.size[has].double() if self.weighted else has[has].double()
        return float((weight * played.after.loss[has]).sum() / weight.sum())

    def _eliminate(self) -> "FedPop":
        """The search after the eliminations of this round, if there are any."""
        eliminations = self.bracket.stops[:-1].count(self.round)
        if not eliminations:
            return self
        runs, out = list(self.runs), list(self.out)
        alive, scores = self.alive, self.scores
        for _ in range(eliminations):
            kept = survivors([scores[i] for i in alive], self.bracket.eta)
            going = [alive[place] for place in kept]
            for i in set(alive) - set(going):
                runs[i], out[i] = drop_vectors(runs[i]), self.round
            alive = going
        return replace(self, runs=tuple(runs), out=tuple(out))

    def exploit(self, members: Sequence[int]) -> "FedPop":
        """FedPop-G for some members that have just played, if their own round is one to copy in.

        Each of them that is among the bottom copies a random one of the top, and evolves. All are
        compared that live and have played since they were themselves copied.
        """
        if not self.G or len(self.alive) == 1:
            return self
        r = [len(trace) for trace in self.traces]
        going = [i for i in members if r[i] < self.how.R]
        due = [i for i in going if r[i] % self.T_g == 0]
        lost = [i for i in going if self.traces[i][-1] == inf and self.on_nan == "replace"]
        if not due and not lost:
            return self
        now, scores = self.latest, self.scores
        gens = {i: generator(self.seed, i, r[i], 0) for i in {*due, *lost}}
        u = {i: float(torch.rand((), generator=g, dtype=torch.float64)) for i, g in gens.items()}
        known = [i for i in self.alive if r[i] > now[i].round]
        places = pair_parents(
            [scores[i] for i in known], self.how.rho, [u.get(i, 0.0) for i in known]
        )
        pairs = [(known[bottom], known[top]) for bottom, top in places if known[bottom] in due]
        pairs += [(i, known[int(u[i] * len(known))]) for i in lost if i not in due]

        def child(source: tuple[Birth, Run], i: int) -> tuple[Birth, Run]:
            parent, run = source
            c = self.how.evo(self.spaces.client, parent.c, r[i], gens[i])[0]
            b = self.how.evo(self.spaces.server, parent.b, r[i], gens[i])[0]
            # weights, momentum, and what clients keep are the parent's; the draws are its own
            new = replace(run, tuner=Fixed(c), b=b, seed=seed_for(self.seed, i, r[i]), history=())
            age = run.round if self.keep_age else 0
            return Birth(r[i], i, parent.member, c, b), replace(new, round=age)

        new = inherit(list(zip(now, self.runs, strict=True)), pairs, child)
        births = *self.births, *(new[i][0] for i, _ in pairs)
        return replace(self, runs=tuple(run for _, run in new), births=births)

    def to(self, device: str | torch.device) -> "FedPop":
        """The same search, its vectors on another device.

        Raises:
            ValueError: this machine has no such device.
        """
        return replace(self, runs=tuple(run.to(device) for run in self.runs))


def fedpop(
    model: Model,
    fed: Federation,
    spaces: Spaces,
    total: SupportsIndex,
    cap: SupportsIndex,
    *,
    G: bool = True,
    L: bool = True,
    local: Local | None = None,
    T_g: SupportsIndex | None = None,
    eps: float = 0.1,
    p_re: float = 0.1,
    rho: float = 3.0,
    gamma: float = 0.9,
    coin: Literal["each", "vector"] = "each",
    weighted: bool = False,
    keep_age: bool = False,
    on_nan: Literal["wait", "replace"] = "wait",
    eta: SupportsIndex = 3,
    eliminations: SupportsIndex = 0,
    method: Method | None = None,
    seed: SupportsIndex = 0,
) -> FedPop:
    """A search that has not begun.

    With the paper's space, whose mu is FedProx's::

        search = fedpop(model, fed, FEDPOP, 4000, 800, method=FedProx())
        search = tune(search, model, fed)

    All members begin with the same weights. Their configurations are those of `random_search` with
    that seed.

    Args:
        total, cap, eta, eliminations: see `schedule`. Without eliminations N_c = total // cap
            members train for R_c = cap rounds each; a remainder is not spent.
        G: whether members copy one another.
        L: whether the vectors of a member's clients do; otherwise all have its base.
        local: how they do; None stands for ``Local()``.
        T_g: the rounds between two times that members do, and over which their scores go; None
            stands for max(1, R_c // 10), a tenth as in the paper: 80 of 800.
        eps, p_re, rho, gamma, coin: see `Evolution`.
        weighted, keep_age, on_nan: see `FedPop`.

    Raises:
        ValueError: an option that is not allowed; no validation data.

    Source: Chen et al. (2023), Algorithm 1 and section 3.4.
    """
    local = Local() if local is None else local
    require(isinstance(local, Local), "local", local, "a Local, such as Local(T_l=5)")
    require(on_nan in ("wait", "replace"), "on_nan", on_nan, "'wait', 'replace'")
    require(isinstance(spaces, Spaces), "spaces", spaces, "Spaces(SearchSpace({...}))")
    for name, value in (("G", G), ("L", L)):
        require(isinstance(value, bool), name, value, "True, False")
    require(fed.val.n.any(), "validation examples", 0, "at least 1, to judge members by")
    bracket = schedule(whole("total", total, 1, MOST), cap, eta, eliminations)
    seed, R = whole("seed", seed, 0), bracket.stops[-1]
    how = Evolution(R, eps, p_re, rho, gamma, coin)
    every = max(1, R // 10) if T_g is None else whole("T_g", T_g, 1)
    arms = draw_arms(spaces, bracket.arms, seed)
    begun = start(model, fed, seed=seed, method=method)
    runs = tuple(
        replace(begun, tuner=arm.tuner, b=arm.b, seed=seed_for(seed, i))
        for i, arm in enumerate(arms)
    )
    births = tuple(Birth(0, i, None, arm.tuner.final, arm.b) for i, arm in enumerate(arms))
    nothing, all_in = ((),) * len(runs), (None,) * len(runs)
    return FedPop(runs, spaces, bracket, how, G, every, local if L else None, bool(weighted),
                  bool(keep_age), on_nan, seed, nothing, all_in, births)  # fmt: skip

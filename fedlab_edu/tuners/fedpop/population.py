"""FedPop, Algorithm 1 of Chen et al. (2023): a population of runs, whose worst copy the best.

FedPop-G: members of the population copy one another's model and hyperparameters. FedPop-L: the
clients of one member copy one another's hyperparameters, see `FedPopL`. Chen, Krompass, Gu, Tresp
(2023), *FedPop: Federated population-based hyperparameter tuning*.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, isnan, nan
from typing import ClassVar, Literal, NamedTuple, SupportsIndex, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor

from fedlab_edu.data.clients import Federation
from fedlab_edu.methods import Method
from fedlab_edu.models.model import Model
from fedlab_edu.rounds.run import check_types, start
from fedlab_edu.rounds.tuner import Fixed
from fedlab_edu.search.baselines import draw_arms, race
from fedlab_edu.search.estimate import Estimate
from fedlab_edu.search.race import Race
from fedlab_edu.search.schedules import schedule
from fedlab_edu.search.space import Spaces
from fedlab_edu.seeds import generator, seed_for
from fedlab_edu.training.hparams import LocalHP, ServerHP
from fedlab_edu.tuners.fedpop.evolution import Evolution
from fedlab_edu.tuners.fedpop.local import FedPopL, Local
from fedlab_edu.tuners.fedpop.rules import discounted_score, pair_parents
from fedlab_edu.validate import MOST, require, updated, whole

_P = TypeVar("_P", bound="FedPop")


def fedpop_g(search: _P, members: Sequence[int]) -> _P:
    """Play FedPop-G of Algorithm 1: members that are among the worst copy one of the best.

    Members do so every T_g of their rounds, but not after their last. All that are alive are
    compared, except those that have not trained since they last copied another.
    """
    if not search.G or len(search.alive) == 1:
        return search
    r = [len(trace) for trace in search.traces]
    going = [i for i in members if r[i] < search.evolution.R]
    due = [i for i in going if r[i] % search.T_g == 0]
    lost = [i for i in going if search.traces[i][-1] == inf and search.on_nan == "replace"]
    if not due and not lost:
        return search
    now, scores = search.latest, search.scores
    gens = {i: generator(search.seed, i, r[i], 0) for i in {*due, *lost}}
    u = {i: float(torch.rand((), generator=g, dtype=torch.float64)) for i, g in gens.items()}
    known = [i for i in search.alive if r[i] > now[i].round]
    # the bottom 1/rho of the members, each with a random one of the top 1/rho
    draws = [u.get(i, 0.0) for i in known]
    places = pair_parents([scores[i] for i in known], search.evolution.rho, draws)
    pairs = [(known[bottom], known[top]) for bottom, top in places if known[bottom] in due]
    pairs += [(i, known[int(u[i] * len(known))]) for i in lost if i not in due]
    runs, births = [*search.runs], [*search.births]
    for i, j in pairs:  # whatever their order, j is the member before any copied
        # alpha_i <- Evo(alpha_j), beta_i^0 <- Evo(beta_j^0)
        c = search.evolution.evo(search.spaces.client, now[j].c, r[i], gens[i])
        b = search.evolution.evo(search.spaces.server, now[j].b, r[i], gens[i])
        # w_i <- w_j, and momentum and client states; the child has draws of its own, and its
        # server's rate decays from the start, as in the authors' code
        seed = seed_for(search.seed, i, r[i])
        runs[i] = replace(search.runs[j], tuner=Fixed(c), b=b, seed=seed, round=0, history=())
        births.append(Birth(r[i], i, j, c, b))
    return updated(search, runs=tuple(runs), births=tuple(births))


class Birth(NamedTuple):
    """A configuration that a member trains with from some round on.

    Fields:
        round: the number of rounds that the member had trained before.
        member, parent: places in the population; the parent is None at the start of the search.
        c, b: the clients' base beta^0, and the server's alpha.
    """

    round: int
    member: int
    parent: int | None
    c: LocalHP
    b: ServerHP


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class FedPop(Race):
    """A race of the members of a population, which copy one another; `fedpop` starts one.

    A member is an arm of the only bracket. Its score of a round is +inf if a client has diverged.

    Fields:
        evolution: the rules by which configurations change.
        local: the options of FedPop-L; None if all clients of a member train with its base.
        births: all configurations (alpha, beta^0) so far, in order.
        tried: the number of client vectors trained with so far; a server vector is counted only
            where the clients' are new too.
    """

    spaces: Spaces
    evolution: Evolution
    G: bool
    T_g: int
    local: Local | None
    on_nan: Literal["wait", "replace"]
    seed: int
    births: tuple[Birth, ...]
    tried: int = 0
    budget: ClassVar[tuple[str, ...]] = ()

    def prepare(self: _P, model: Model, fed: Federation, clients: int) -> _P:
        """Return the search in which each due member has K vectors, with FedPop-L.

        K is the number of clients, the same in all rounds.
        """
        runs, tried = list(self.runs), self.tried
        for i in self.due(1)[0]:
            if self.local is not None and not isinstance(runs[i].tuner, FedPopL):
                r, base = len(self.traces[i]), runs[i].tuner.final
                seed = seed_for(self.seed, i, r, 1)
                near = FedPopL.near(
                    self.spaces.client, base, clients, self.evolution, self.local, seed, r
                )
                runs[i] = replace(runs[i], tuner=near)
            tuner, newborn = runs[i].tuner, self.latest[i].round == len(self.traces[i])
            tried += tuner.fresh if isinstance(tuner, FedPopL) else int(newborn)
        return updated(self, runs=tuple(runs), tried=tried)

    def due(self, most: int) -> tuple[list[int], int]:
        """Return all members that are alive, for a round: after each they may copy one another."""
        return self.alive, 1

    def conclude(self: _P, arms: Sequence[int]) -> _P:
        """Return the search after the eliminations, and FedPop-G, of these members."""
        left = super().conclude(arms)
        return fedpop_g(left, [i for i in arms if left.out[i] is None])

    @property
    def round(self) -> int:
        """The least number of rounds that a member that is alive has trained."""
        return min(len(self.traces[i]) for i in self.alive)

    @property
    def latest(self) -> list[Birth]:
        """The present configuration of each member."""
        now = {birth.member: birth for birth in self.births}
        return [now[i] for i in range(len(self.runs))]

    def score_at(self, a: int, t: int) -> float:
        """Return the score of a member after its round t, eq. (5).

        It is over the last T_g rounds since the member last copied another, without those in which
        no client could validate; NaN if no round is left.
        """
        births = (birth.round for birth in reversed(self.births) if birth.member == a)
        born = next(round_ for round_ in births if round_ <= t)
        known = [s for s in self.traces[a][max(born, t - self.T_g) : t] if not isnan(s)]
        return discounted_score(known, self.estimate.gamma) if known else nan

    @property
    def warning(self) -> None:
        """None, because the history of a copy begins with the weights of its parent."""


def fedpop(
    model: Model, fed: Federation, spaces: Spaces, total: SupportsIndex, cap: SupportsIndex, *,
    G: bool = True, L: bool = True, local: Local | None = None, T_g: SupportsIndex | None = None,
    weighted: bool = False, on_nan: Literal["wait", "replace"] = "wait",
    eta: SupportsIndex = 3, eliminations: SupportsIndex = 0,
    method: Method | None = None, seed: SupportsIndex = 0, eps: float = 0.1, p_re: float = 0.1,
    rho: float = 3.0, gamma: float = 0.9, coin: Literal["each", "vector"] = "each",
    w: Float[Tensor, " d"] | None = None,
) -> FedPop:  # fmt: skip
    """Start a search; with the paper's space, whose mu is that of FedProx::

        search = tune(fedpop(model, fed, FEDPOP, 4000, 800, method=FedProx()), model, fed)

    All members start with the same weights, and with the configurations of `random_search` with
    that seed.

    Args:
        total, cap, eta, eliminations: see `schedule`. Without eliminations N_c = total // cap
            members train for R_c = cap rounds each; a remainder is not spent.
        G: whether members copy one another.
        L: whether the clients of a member copy one another's vectors; without it all have its base.
        local: the options of FedPop-L; None stands for ``Local()``.
        T_g: the rounds between two comparisons of members; a score covers the last T_g. None stands
            for max(1, R_c // 10), as in the paper: 80 of 800.
        eps, p_re, rho, gamma, coin: see `Evolution`.
        weighted: weight a member's score by numbers of validation examples, as in the authors'
            code. As printed, all clients have the same weight.
        on_nan: when a member that has diverged is replaced: when members copy next ("wait"), or at
            once by a copy of a random member ("replace"), as in the authors' code.
        w: the initial weights of all members, see `start`.

    Source: Chen et al. (2023), Algorithm 1 and section 3.4.
    """
    check_types(model, fed)
    local = Local() if local is None else local
    require(isinstance(local, Local), "local", local, "a Local, such as Local(T_l=5)")
    ok = isinstance(spaces, Spaces) and spaces.clients is None
    require(ok, "spaces", spaces, "Spaces(SearchSpace({...})), with one configuration for all")
    require(isinstance(L, bool), "L", L, "True, False")
    require(fed.val.n.any(), "validation examples", 0, "at least 1, to judge members by")
    bracket = schedule(whole("total", total, 1, MOST), cap, eta, eliminations)
    evolution = Evolution(bracket.stops[-1], eps, p_re, rho, gamma, coin)
    every = max(1, evolution.R // 10) if T_g is None else whole("T_g", T_g, 1)
    first = start(model, fed, seed=seed, method=method, w=w)
    arms = draw_arms(spaces, bracket.arms, first.seed)
    alike = race(model, fed, arms, [bracket], seed=first.seed, method=method, w=first.w,
                 estimate=Estimate("personalised", "loss", gamma, weighted))  # fmt: skip
    births = tuple(Birth(0, i, None, arm.tuner.final, arm.b) for i, arm in enumerate(arms))
    return FedPop(
        **vars(alike), spaces=spaces, evolution=evolution, G=G, T_g=every,
        local=local if L else None, on_nan=on_nan, seed=first.seed, births=births,
    )  # fmt: skip

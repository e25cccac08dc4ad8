"""FedPop's rules, of which random draws are arguments; and FedPop-L, the tuner of one run.

Chen, Krompass, Gu, Tresp (2023), *FedPop: Federated
population-based hyperparameter tuning*, sections 3.3 to 3.5.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, SupportsIndex, TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from fedlab_edu.check import check_shares, number, require, whole
from fedlab_edu.draws import generator
from fedlab_edu.hparams import LocalHP, ServerHP
from fedlab_edu.laws import Choice, Distribution, real
from fedlab_edu.space import SearchSpace
from fedlab_edu.tuners.search import discounted_mean, lowest

_Table = TypeVar("_Table", LocalHP, ServerHP)
_T = TypeVar("_T")
_TOL = 1e-9  # K / rho may miss the whole number that it is on paper by a rounding error
_ALLOWED = {"score": ("after", "difference"), "settle_on": ("base", "best")}
_LAST = 1 - 2.0**-53  # the largest draw in [0, 1)


def anneal(x0: float, r: int, R: int) -> float:
    """``x0/2 (1 + cos(pi r / R))``: from x0 in round r = 0 down to 0 in round R.

    Raises:
        ValueError: r outside 0 to R.

    Source: Chen et al. (2023), eq. (4).
    """
    require(0 <= r <= R and R > 0, "r", r, f"a round from 0 to R = {R}, R above 0")
    return x0 / 2 * (1 + math.cos(math.pi * r / R))


def ranked(
    scores: Sequence[float], rho: float = 3.0, rule: Literal["rank", "quantile"] = "rank"
) -> tuple[list[int], list[int]]:
    """The places of the top and of the bottom scores; lower is better, NaN counts as +inf.

    Args:
        rule: "rank" takes ``min(ceil(K / rho), floor(K / 2))`` of K places for either, best first,
            of equal scores the lower place: no place is in both, and of one score there is neither.
            "quantile" is the rule as printed, all that are not above the 1/rho-quantile and all
            that are not below the (rho-1)/rho-quantile (linear interpolation), places in rising
            order. If all are equal, all are in both, and even the best is replaced.

    Raises:
        ValueError: no score; rho below 1; an unknown rule.

    Source: Chen et al. (2023), Algorithm 1, *FedPop-L* and *FedPop-G*.
    """
    K = len(scores)
    require(K > 0, "scores", [], "at least one")
    require(1 <= number(rho) < math.inf, "rho", rho, "a finite number of at least 1")
    require(rule in ("rank", "quantile"), "rule", rule, "'rank', 'quantile'")
    known = [math.inf if math.isnan(s) else float(s) for s in scores]
    order = sorted(range(K), key=lambda k: (known[k], k))
    if rule == "quantile":  # no score lies between the one below a quantile and the quantile
        beyond = math.floor((K - 1) / rho + _TOL)
        low, high = known[order[beyond]], known[order[K - 1 - beyond]]
        return [k for k in range(K) if known[k] <= low], [k for k in range(K) if known[k] >= high]
    n = min(math.ceil(K / rho - _TOL), K // 2)
    return order[:n], order[K - n :]


def discounted_score(trace: Sequence[float], gamma: float = 0.9) -> float:
    """``sum_r gamma^(T-r) s^(r) / sum_r gamma^(T-r)``, r = 1, ..., T; NaN counts as +inf.

    Raises:
        ValueError: nothing in the trace, or gamma outside [0, 1].

    Source: Chen et al. (2023), eq. (5); it is `discounted_mean`.
    """
    return discounted_mean([math.inf if math.isnan(s) else s for s in trace], gamma)


def heirs(scores: Sequence[float], rho: float, u: Sequence[float]) -> list[tuple[int, int]]:
    """Pairs of places, (replaced, copied): each of the bottom copies a random one of the top.

    What has diverged, with a score that is not finite, is always replaced and never copied; if all
    have, nothing is done. The best is in no pair as the first.

    Args:
        u: (K,) draws in [0, 1), one for each place.

    Source: Chen et al. (2023), Algorithm 1, *FedPop-L* and *FedPop-G*; it says nothing of those
    that diverge.
    """
    top, bottom = ranked(scores, rho)
    top = [k for k in top if math.isfinite(scores[k])]
    lost = {k for k, s in enumerate(scores) if not math.isfinite(s)}
    return [(k, top[int(u[k] * len(top))]) for k in sorted(lost.union(bottom)) if top]


def succeed(
    members: Sequence[_T], pairs: Sequence[tuple[int, int]], child: Callable[[_T, int], _T]
) -> list[_T]:
    """The members, each first one of a pair replaced by ``child(the second one, place)``.

    What is copied is always the old one, whatever the order of the pairs.
    """
    new = list(members)
    for place, parent in pairs:
        new[place] = child(members[parent], place)
    return new


def evolve(
    space: SearchSpace[_Table],
    rows: _Table,
    eps: float,
    p_re: float,
    u: Float[Tensor, "3 n h"],
    coin: Literal["each", "vector"] = "each",
) -> _Table:
    """n configurations, each evolved from one of the n rows: `SearchSpace.evo` of given draws.

    Args:
        u: coins, fresh draws and moves, in [0, 1), for n rows and the h laws of the space.
        coin: "each" hyperparameter is drawn afresh with a probability of p_re, as printed, or the
            whole "vector" is, by the coin of its first, as in their code (which draws a client's
            vector afresh not from the laws, but near the base).

    Raises:
        ValueError: an unknown coin; eps or p_re outside [0, 1]; a value that its law does not give.

    Source: Chen et al. (2023), eq. (3).
    """
    require(coin in ("each", "vector"), "coin", coin, "'each', 'vector'")
    check_shares(eps=eps, p_re=p_re)
    new = {}
    for j, (name, law) in enumerate(space.laws.items()):
        draws = torch.stack([u[0, :, 0 if coin == "vector" else j], u[1, :, j], u[2, :, j]])
        new[name] = law.evo(getattr(rows, name).reshape(-1), eps, p_re, draws)
    kept = {name: column.reshape(-1) for name, column in rows.columns.items()}
    return space.kind(**{**kept, **new})


def ends(space: SearchSpace[_Table], centre: _Table, eps: float) -> _Table:
    """The corners of a box, two rows: the least and the greatest that `perturb` makes of a centre.

    That is ``(b - a) eps`` to either side in the law's scale, and no farther than its range.
    The paper's ball has one radius for all; one unit of log10(lr) and one epoch are no like units.

    Source: Chen et al. (2023), section 3.5, ``|beta^k - beta^0| <= Delta``.
    """
    u = real([0.0, _LAST])
    new = {name: law.perturb(getattr(centre, name), eps, u) for name, law in space.laws.items()}
    kept = {name: column.reshape(-1)[[0, 0]] for name, column in centre.columns.items()}
    return space.kind(**{**kept, **new})


def boxed(space: SearchSpace[_Table], rows: _Table, corners: _Table) -> _Table:
    """The rows, each value of which the space has a law clipped to the box with these `ends`."""
    new = {
        name: _clipped(law, getattr(rows, name).reshape(-1), getattr(corners, name))
        for name, law in space.laws.items()
    }
    kept = {name: column.reshape(-1) for name, column in rows.columns.items()}
    return space.kind(**{**kept, **new})


def _clipped(law: Distribution, values: Tensor, pair: Tensor) -> Tensor:
    """Between the ends in the law's order, which for a list of options is that of the list."""
    if not isinstance(law, Choice):
        return real(values).clamp(pair.min(), pair.max())
    options = real(law.options)
    first, last = (int((options == end).nonzero()[0, 0]) for end in pair)
    places = (real(values)[:, None] == options).long().argmax(-1)
    return options[places.clamp(first, last)]


@dataclass(frozen=True)
class Evolution:
    """What FedPop-G and FedPop-L have in common.

    Fields:
        R: R_c, the rounds over which eps and p_re fall to 0.
        eps: how far a value moves at first, as a share of its range.
        p_re: with what probability it is drawn afresh, at first.
        rho: about one in rho is replaced, and as many may be copied; 10/3 in the authors' code.
        gamma: gamma_g of eq. (5), to which the paper gives no value; 0 takes the last round alone.
        coin: see `evolve`.

    Raises:
        ValueError: a value that is not allowed.

    Source: Chen et al. (2023), eqs. (3) to (5).
    """

    R: int
    eps: float = 0.1
    p_re: float = 0.1
    rho: float = 3.0
    gamma: float = 0.9
    coin: Literal["each", "vector"] = "each"

    def __post_init__(self) -> None:
        object.__setattr__(self, "R", whole("R", self.R, 1))
        check_shares(eps=self.eps, p_re=self.p_re, gamma=self.gamma)
        ranked([0.0], self.rho)
        require(self.coin in ("each", "vector"), "coin", self.coin, "'each', 'vector'")
        for name in ("eps", "p_re", "rho", "gamma"):
            object.__setattr__(self, name, number(getattr(self, name)))

    def evo(self, space: SearchSpace[_Table], rows: _Table, r: int, gen: torch.Generator) -> _Table:
        """`evolve` of the rows, with eps and p_re of round r and draws from ``gen``."""
        u = torch.rand(3, len(rows), len(space.laws), generator=gen, dtype=torch.float64)
        eps, p_re = (anneal(x, r, self.R) for x in (self.eps, self.p_re))
        return evolve(space, rows, eps, p_re, u, self.coin)


@dataclass(frozen=True)
class Local:
    """How FedPop-L goes about it.

    Fields:
        T_l: the rounds between two times that vectors copy one another; 5 in the authors' code.
        score: a vector is judged by the loss "after" a client's training. A client with hard data
            then takes its vector down with it. The "difference" is what training has changed.
        rounds: after so many rounds since vectors were drawn, all clients train with the best of
            them so far, as soon as there is one; None lets them try others to the end.
        settle_on: at the end "base", from which all others were drawn, or the "best" of them.

    Raises:
        ValueError: a value that is not allowed.

    Source: Chen et al. (2023), section 3.5; all but the defaults are of their code, and
    "difference" is ours.
    """

    T_l: int = 1
    score: Literal["after", "difference"] = "after"
    rounds: int | None = None
    settle_on: Literal["base", "best"] = "base"

    def __post_init__(self) -> None:
        object.__setattr__(self, "T_l", whole("T_l", self.T_l, 1))
        if self.rounds is not None:
            object.__setattr__(self, "rounds", whole("rounds", self.rounds, 0))
        for name, allowed in _ALLOWED.items():
            require(getattr(self, name) in allowed, name, getattr(self, name), str(allowed))


@dataclass(frozen=True, eq=False)
class FedPopL:
    """The tuner of one run: K vectors near a base, of which the worst copy the best.

    The k-th client of a round trains with the k-th vector; so a round has K clients. A value that
    Evo draws afresh from the whole range is mostly outside the box, and then ends at its edge.

    Fields:
        space: the clients' search space.
        base: beta^0, the one configuration that the K stay near.
        table: beta^1, ..., beta^K; see `near`.
        corners: of the box in which they stay, see `ends`.
        how, local: the rules; the round r of `how` is counted from the start of the search. In its
            last round, and after it, no vector is replaced any more.
        seed: of the draws.
        first: the rounds of the search before this tuner's own.
        played: this tuner's own.
        told: of each vector its scores since vectors were last copied.
        best: the place of the vector that was best then; None as long as none has been.
        fresh: how many vectors no client has trained with yet.
        settled: whether all clients train with `final`.

    Raises:
        ValueError: another number of clients than K, in `ask`.

    Source: Chen et al. (2023), Algorithm 1, *FedPop-L*.
    """

    score: ClassVar[Literal["error", "loss"]] = "loss"
    space: SearchSpace[LocalHP]
    base: LocalHP
    table: LocalHP
    corners: LocalHP
    how: Evolution
    local: Local = field(default_factory=Local)
    seed: int = 0
    first: int = 0
    played: int = 0
    told: tuple[tuple[float, ...], ...] = ()
    best: int | None = None
    fresh: int = 0
    settled: bool = False

    @classmethod
    def near(
        cls,
        space: SearchSpace[LocalHP],
        base: LocalHP,
        K: SupportsIndex,
        how: Evolution,
        local: Local | None = None,
        seed: SupportsIndex = 0,
        first: SupportsIndex = 0,
    ) -> "FedPopL":
        """The tuner with K vectors drawn from the box around the base, see `SearchSpace.perturb`.

        Raises:
            ValueError: no vector; a base that the space does not give.
        """
        K, seed = whole("K", K, 1), whole("seed", seed, 0)
        table = space.perturb(base, how.eps, K, generator(seed, 0))
        first = whole("first", first, 0, how.R)
        corners, local = ends(space, base, how.eps), Local() if local is None else local
        return cls(space, base, table, corners, how, local, seed, first, told=((),) * K, fresh=K)

    @property
    def final(self) -> LocalHP:
        """The base; or the best vector so far, if the rules say so."""
        if self.local.settle_on == "base" or self.best is None:
            return self.base
        return self.table[self.best]

    def ask(
        self, clients: int, gen: torch.Generator, *, who: Int[Tensor, " B"]
    ) -> Int[Tensor, " B"]:
        """The k-th vector for the k-th client; nothing is drawn."""
        if self.settled:
            return torch.zeros(clients, dtype=torch.long)
        K = len(self.table)
        require(clients == K, "clients of a round", clients, f"{K}, one for each vector")
        rows = torch.arange(K)
        return rows[[self.best] * K] if self._over else rows

    def tell(
        self,
        arm: Int[Tensor, " B"],
        before: Float[Tensor, " B"],
        after: Float[Tensor, " B"],
        size: Int[Tensor, " B"],
    ) -> "FedPopL":
        """The tuner after a round; every T_l rounds the worst vectors have copied the best.

        A vector whose clients had no validation examples neither copies nor is copied.
        """
        next_one = replace(self, played=self.played + 1, fresh=0)
        if self.settled or self._over:
            return next_one
        scores = after - before if self.local.score == "difference" else after
        scores = scores.masked_fill(~(before.isfinite() & after.isfinite()), math.inf)
        known = (size > 0) | ~after.isfinite()
        told = tuple(
            (*seen, s) if ok else seen
            for seen, s, ok in zip(self.told, scores.tolist(), known.tolist(), strict=True)
        )
        next_one = replace(next_one, told=told)
        return next_one if next_one.played % self.local.T_l else next_one._exploited()

    def settle(self) -> "FedPopL":
        """All clients train with `final`."""
        final = self.final
        return replace(self, base=final, table=final, settled=True, best=None, fresh=0)

    @property
    def _over(self) -> bool:
        """Whether no more vectors are tried, and one is known to be the best."""
        rounds = self.local.rounds
        return rounds is not None and self.played >= rounds and self.best is not None

    def _exploited(self) -> "FedPopL":
        """Each of the bottom vectors becomes Evo of a random one of the top, inside the box."""
        known = [k for k, seen in enumerate(self.told) if seen]
        if not known:
            return self
        scores = [discounted_score(self.told[k], self.how.gamma) for k in known]
        r = self.first + self.played
        gen = generator(self.seed, r)
        u = torch.rand(len(known), generator=gen, dtype=torch.float64).tolist()
        pairs = [(known[b], known[t]) for b, t in heirs(scores, self.how.rho, u)]
        best = known[lowest(scores)] if math.isfinite(min(scores)) else self.best
        chosen = replace(self, told=((),) * len(self.table), best=best)
        if not pairs or r >= self.how.R or chosen._over:
            return chosen
        bottom, top = (list(places) for places in zip(*pairs, strict=True))
        new = self.how.evo(self.space, self.table[top], r, gen)
        new = boxed(self.space, new, self.corners)
        row = torch.arange(len(self.table))
        row[bottom] = len(self.table) + torch.arange(len(bottom))
        table = LocalHP.concat([self.table, new])[row]
        return replace(chosen, table=table, fresh=len(bottom))

"""FedPop's rules: who is replaced by whom, and how a configuration evolves. Draws are arguments.

Chen, Krompass, Gu, Tresp (2023), *FedPop: Federated population-based hyperparameter tuning*,
section 3.4.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

import torch
from jaxtyping import Float
from torch import Tensor

from fedlab_edu.registry import storable
from fedlab_edu.search.distributions import Choice, Distribution
from fedlab_edu.search.schedules import discounted_mean
from fedlab_edu.search.space import SearchSpace
from fedlab_edu.training.hparams import LocalHP, ServerHP
from fedlab_edu.validate import as_float64, check_shares, number, require, whole

_Table = TypeVar("_Table", LocalHP, ServerHP)
_T = TypeVar("_T")
_TOL = 1e-9  # K / rho may miss the whole number that it is on paper by a rounding error
_LAST = 1 - 2.0**-53  # the largest draw in [0, 1)


def anneal(x0: float, r: int, R: int) -> float:
    """``x0/2 (1 + cos(pi r / R))``: from x0 in round r = 0 down to 0 in round R.

    Raises:
        ValueError: r outside 0 to R; an x0 that is not finite.

    Source: Chen et al. (2023), eq. (4).
    """
    require(abs(number(x0)) < math.inf, "x0", x0, "a finite number")
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


def pair_parents(scores: Sequence[float], rho: float, u: Sequence[float]) -> list[tuple[int, int]]:
    """Pairs of places, (replaced, copied): each of the bottom copies a random one of the top.

    What has diverged, with a score that is not finite, is always replaced and never copied; if all
    have, nothing is done. The best is in no pair as the first.

    Args:
        u: (K,) draws in [0, 1), one for each place.

    Raises:
        ValueError: no score; rho below 1; draws that are not K, or not in [0, 1).

    Source: Chen et al. (2023), Algorithm 1, *FedPop-L* and *FedPop-G*; it says nothing of those
    that diverge.
    """
    require(len(u) == len(scores), "length of u", len(u), f"{len(scores)}, a draw for each score")
    require(all(0 <= draw < 1 for draw in u), "u", u, "draws of at least 0, and below 1")
    top, bottom = ranked(scores, rho)
    top = [k for k in top if math.isfinite(scores[k])]
    lost = {k for k, s in enumerate(scores) if not math.isfinite(s)}
    return [(k, top[int(u[k] * len(top))]) for k in sorted(lost.union(bottom)) if top]


def inherit(
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
        ValueError: an unknown coin; eps or p_re outside [0, 1]; a value that its law does not give;
            draws of another shape.

    Source: Chen et al. (2023), eq. (3).
    """
    require(coin in ("each", "vector"), "coin", coin, "'each', 'vector'")
    shape, wanted = tuple(u.shape), (3, len(rows), len(space.distributions))
    require(shape == wanted, "shape of u", shape, str(wanted))
    check_shares(eps=eps, p_re=p_re)
    for name, law in space.distributions.items():
        law.check(getattr(rows, name), name)
    kept = {name: column.reshape(-1) for name, column in rows.columns.items()}
    return space.kind(**{**kept, **_evolved(space, rows, eps, p_re, as_float64(u), coin)})


def _evolved(
    space: SearchSpace[_Table], rows: _Table, eps: float, p_re: float, u: Tensor, coin: str
) -> dict[str, Tensor]:
    """The columns for which the space has laws; nothing is checked: rows come of the space."""
    new = {}
    for j, (name, law) in enumerate(space.distributions.items()):
        draws = torch.stack([u[0, :, 0 if coin == "vector" else j], u[1, :, j], u[2, :, j]])
        new[name] = law.evolved(as_float64(getattr(rows, name).reshape(-1)), eps, p_re, draws)
    return new


def box_corners(space: SearchSpace[_Table], centre: _Table, eps: float) -> _Table:
    """The corners of a box, two rows: the least and the greatest that `perturb` makes of a centre.

    That is ``(b - a) eps`` to either side in the law's scale, and no farther than its range.
    The paper's ball has one radius for all; one unit of log10(lr) and one epoch are no like units.

    Source: Chen et al. (2023), section 3.4, *FedPop-L for Intra-configuration Tuning*.
    """
    u = as_float64([0.0, _LAST])
    new = {
        name: law.perturb(getattr(centre, name), eps, u)
        for name, law in space.distributions.items()
    }
    kept = {name: column.reshape(-1)[[0, 0]] for name, column in centre.columns.items()}
    return space.kind(**{**kept, **new})


def clip_to_box(law: Distribution, values: Tensor, pair: Tensor) -> Tensor:
    """Clip values (n,) to a pair of `box_corners`; options, in the order of their list."""
    if not isinstance(law, Choice):
        return as_float64(values).clamp(pair.min(), pair.max())
    options = as_float64(law.options)
    first, last = (int((options == end).nonzero()[0, 0]) for end in pair)
    places = (as_float64(values)[:, None] == options).long().argmax(-1)
    return options[places.clamp(first, last)]


@storable
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
        return evolve(space, rows, *self._now(r), self._draws(space, len(rows), gen), self.coin)

    def evo_in(
        self,
        corners: _Table,
        space: SearchSpace[_Table],
        table: _Table,
        pairs: Sequence[tuple[int, int]],
        r: int,
        gen: torch.Generator,
    ) -> _Table:
        """The table in which each first row of a pair is `evo` of the second one, `clipped`.

        All its rows come of the space. They are many, and are not checked again in every round.
        """
        bottom, top = (list(places) for places in zip(*pairs, strict=True))
        source = torch.arange(len(table))
        source[bottom] = torch.tensor(top)
        columns, rows = table[source].columns, table[top]
        u = self._draws(space, len(top), gen)
        for name, values in _evolved(space, rows, *self._now(r), u, self.coin).items():
            new = clip_to_box(space.distributions[name], values, getattr(corners, name))
            columns[name][bottom] = new.to(columns[name].dtype)
        return space.kind(**columns)

    def _now(self, r: int) -> tuple[float, float]:
        """eps and p_re of round r."""
        return anneal(self.eps, r, self.R), anneal(self.p_re, r, self.R)

    @staticmethod
    def _draws(space: SearchSpace[_Table], n: int, gen: torch.Generator) -> Tensor:
        return torch.rand(3, n, len(space.distributions), generator=gen, dtype=torch.float64)

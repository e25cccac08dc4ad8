"""FedPop-L, the tuner of one member: its clients try K vectors, of which the worst copy the best.

Chen et al. (2023), Algorithm 1, *FedPop-L*, and section 3.4, *FedPop-L for Intra-configuration
Tuning*.
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal, SupportsIndex

import torch
from jaxtyping import Int
from torch import Tensor

from fedlab_edu.rounds.result import Round
from fedlab_edu.search.schedules import best_index
from fedlab_edu.search.space import SearchSpace
from fedlab_edu.seeds import generator
from fedlab_edu.training.hparams import LocalHP
from fedlab_edu.tuners.fedpop.evolution import Evolution, box_corners, clip_to_box
from fedlab_edu.tuners.fedpop.rules import discounted_score, pair_parents
from fedlab_edu.validate import Checked, require, updated, whole


@dataclass(frozen=True)
class Local(Checked):
    """The options of FedPop-L.

    Fields:
        T_l: the rounds between two copies of vectors; 5 in the authors' code.
        score: of a vector: the loss "after" a client's training, which depends on the client's data
            too, or the "difference" by training.
        rounds: after this number of rounds all clients train with the best vector; None: never.
        freeze_on: the final configuration, "base" or the "best" vector.

    Source: Chen et al. (2023), section 3.4; the other options are from their code, and "difference"
    is ours.
    """

    T_l: Annotated[int, partial(whole, least=1)] = 1
    score: Literal["after", "difference"] = "after"
    rounds: Annotated[int, partial(whole, least=0)] | None = None
    freeze_on: Literal["base", "best"] = "base"


@dataclass(frozen=True, eq=False)
class FedPopL:
    """A tuner of K vectors near a base; the k-th of K clients trains with the k-th vector.

    Vectors stay in a box around the base. A value that Evo draws from the whole range is clipped to
    it, and so mostly ends at an edge.

    Fields:
        base, table: beta^0, and beta^1, ..., beta^K.
        box: see `box_corners`; kept, because computing it in each round takes a tenth of a search.
        evolution, local: the rules; from round R on, no vector is replaced.
        first, played: the rounds of the search before this tuner, and of this tuner.
        told: the scores of each vector since the last copy.
        best: the place of the best vector at the last copy, or None.
        fresh: the number of vectors that no client has trained with.
    """

    space: SearchSpace[LocalHP]
    base: LocalHP
    table: LocalHP
    box: LocalHP
    evolution: Evolution
    local: Local
    seed: int = 0
    first: int = 0
    played: int = 0
    told: tuple[tuple[float, ...], ...] = ()
    best: int | None = None
    fresh: int = 0

    def ask(self, who: Int[Tensor, " B"], gen: torch.Generator) -> Int[Tensor, " B"]:
        """Give the k-th vector to the k-th client; nothing is drawn."""
        K = len(self.table)
        require(len(who) == K, "clients of a round", len(who), f"{K}, one for each vector")
        return torch.tensor([self.best] * K) if self._over else torch.arange(K)

    def tell(self, result: Round) -> "FedPopL":
        """Return the tuner after a round; every T_l rounds the worst vectors copy the best.

        A vector whose clients had no validation examples neither copies nor is copied.
        """
        next_one = updated(self, played=self.played + 1, fresh=0)
        if self._over:
            return next_one
        scores = result.after.loss
        scores = scores - result.before.loss if self.local.score == "difference" else scores
        scores = scores.masked_fill(result.diverged, math.inf)  # never copied
        told = list(self.told)
        for k, s in zip(result.row.tolist(), scores.tolist(), strict=True):
            told[k] = (*told[k], s)
        next_one = updated(next_one, told=tuple(told))
        return next_one if next_one.played % self.local.T_l else next_one._exploit()

    def _exploit(self) -> "FedPopL":
        """Replace each bottom vector by Evo of a random top vector, clipped to the box."""
        known = [k for k, seen in enumerate(self.told) if seen]
        if not known:
            return self
        scores = [discounted_score(self.told[k], self.evolution.gamma) for k in known]
        r = self.first + self.played
        gen = generator(self.seed, r)
        u = torch.rand(len(known), generator=gen, dtype=torch.float64).tolist()
        pairs = [(known[b], known[t]) for b, t in pair_parents(scores, self.evolution.rho, u)]
        lowest = best_index(scores)
        best = known[lowest] if math.isfinite(scores[lowest]) else self.best
        chosen = updated(self, told=((),) * len(self.table), best=best)
        if not pairs or r >= self.evolution.R or chosen._over:
            return chosen
        bottom, top = torch.tensor(pairs).T
        new = self.evolution.evo(self.space, self.table[top], r, gen).columns
        columns = self.table.columns
        for name, distribution in self.space.distributions.items():
            inside = clip_to_box(distribution, new[name], getattr(self.box, name))
            columns[name] = columns[name].index_copy(0, bottom, inside.to(columns[name].dtype))
        return updated(chosen, table=self.table.with_columns(columns), fresh=len(pairs))

    @classmethod
    def near(
        cls, space: SearchSpace[LocalHP], base: LocalHP, K: SupportsIndex, evolution: Evolution,
        local: Local, seed: SupportsIndex = 0, first: SupportsIndex = 0,
    ) -> "FedPopL":  # fmt: skip
        """Draw K vectors from the box around the base, see `SearchSpace.perturb`."""
        K, seed = whole("K", K, 1), whole("seed", seed, 0)
        first = whole("first", first, 0, evolution.R)
        table = space.perturb(base, evolution.eps, K, generator(seed, 0))
        box = box_corners(space, base, evolution.eps)
        return cls(space, base, table, box, evolution, local, seed, first, told=((),) * K, fresh=K)

    @property
    def final(self) -> LocalHP:
        """The base, or the best vector so far, see `Local`."""
        if self.local.freeze_on == "base" or self.best is None:
            return self.base
        return self.table[self.best]

    @property
    def _over(self) -> bool:
        """Whether all clients train with the best vector."""
        rounds = self.local.rounds
        return rounds is not None and self.played >= rounds and self.best is not None

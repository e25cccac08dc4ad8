"""Federated multiplicative weights, the ancestor of FedEx: scores lower the probabilities of rows.

Khodak et al., *Weight-Sharing Beyond NAS*, section 4.1.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from math import exp, sqrt
from typing import Annotated, Literal

import torch
from jaxtyping import Int
from torch import Tensor

from fedlab_edu.rounds.result import Round
from fedlab_edu.training.hparams import LocalHP
from fedlab_edu.tuners.fedex.rules import draw_row
from fedlab_edu.validate import Checked, number, require, whole


def multiplicative_weights(
    p: list[float], row: list[int], score: list[float], rounds: int,
    importance_weighting: bool = False,
) -> list[float]:  # fmt: skip
    """Return ``p_j prod_(i: row_i = j) exp(-s_i / sqrt(rounds))``, normalised once.

    As printed, a row is punished as often as it is drawn. Where scores s_j > 0 do not change, the
    mean of ``ln p_j`` moves by ``-B p_j s_j / sqrt(rounds)``, and p comes to rest at ``p_j``
    proportional to ``1 / s_j``: not at the best row.

    Args:
        p: (k,), the probabilities from which the rows were drawn.
        row, score: (B,), the row that each client used, and its score.
        rounds: how many rounds there are in all.
        importance_weighting: divide each score by the probability of its row, as FedEx does, so
            that the mean moves by ``-B s_j / sqrt(rounds)``, and the best row wins.

    Source: Khodak et al., *Weight-Sharing Beyond NAS*, section 4.1; they do not divide.
    """
    require(rounds >= 1, "rounds", rounds, "at least 1")
    total = [0.0] * len(p)
    for j, s in zip(row, score, strict=True):
        require(p[j] > 0, "p", p, "above 0 for each row that was drawn")
        total[j] += s / p[j] if importance_weighting else s
    # the smallest exponent of a row with p_j > 0 is 0: nothing overflows, and the sum is above 0
    least = min(t for t, p_j in zip(total, p, strict=True) if p_j > 0)
    new = [
        p_j * exp((least - t) / sqrt(rounds)) if p_j > 0 else 0.0
        for t, p_j in zip(total, p, strict=True)
    ]
    return [x / sum(new) for x in new]


@dataclass(frozen=True, eq=False)
class MultiplicativeWeights(Checked):
    """A distribution p over the k rows of a table, moved by multiplicative weights.

    In the paper the server averages its clients equally: ``start(..., method=Reptile())``.

    Args:
        rounds: the planned number of rounds, which sets the step size.
        importance_weighting: see `multiplicative_weights`.
        score: "loss", as in the paper, or "error".
        p: (k,), the probability of each row; equal at first.
    """

    table: LocalHP
    rounds: Annotated[int, partial(whole, least=1)]
    importance_weighting: bool = False
    score: Literal["error", "loss"] = "loss"
    p: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        ok = isinstance(self.table, LocalHP) and len(self.table)
        require(ok, "table", self.table, "a LocalHP of at least one row")
        k = len(self.table)
        seen = self.p
        several = isinstance(seen, Iterable) and getattr(seen, "ndim", 1) != 0  # a scalar is none
        p = tuple(map(number, seen if several else [seen])) or (1 / k,) * k
        ok = len(p) == k and min(p) >= 0 and abs(sum(p) - 1) < 1e-9
        require(ok, "p", seen, f"{k} probabilities")
        object.__setattr__(self, "p", p)

    @property
    def final(self) -> LocalHP:
        """The most likely row, the first of equal ones."""
        return self.table[self.p.index(max(self.p))]

    def ask(self, who: Int[Tensor, " B"], gen: torch.Generator) -> Int[Tensor, " B"]:
        """Draw a row for each client from p."""
        u = torch.rand(len(who), generator=gen, dtype=torch.float64).tolist()
        return torch.tensor([draw_row([*self.p], x) for x in u])

    def tell(self, result: Round) -> "MultiplicativeWeights":
        """Return the tuner after a round, p moved by its scores."""
        scores = getattr(result.after, self.score).tolist()
        weighting = self.importance_weighting
        p = multiplicative_weights([*self.p], result.row.tolist(), scores, self.rounds, weighting)
        return replace(self, p=tuple(p))

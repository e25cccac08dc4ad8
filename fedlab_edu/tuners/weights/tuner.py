"""The tuner `MultiplicativeWeights`: each score weakens the row that its client used.

Khodak et al., *Weight-Sharing Beyond NAS*, section 4.1.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Literal

import torch
from jaxtyping import Int
from torch import Tensor

from fedlab_edu.rounds.result import RoundResult
from fedlab_edu.rounds.tuner import Fixed
from fedlab_edu.training.hparams import LocalHP
from fedlab_edu.tuners.fedex.rules import draw_row
from fedlab_edu.tuners.weights.rules import multiplicative_weights
from fedlab_edu.validate import Checked, number, require, whole


@dataclass(frozen=True, eq=False)
class MultiplicativeWeights(Checked):
    """A distribution p over the k rows of a table, moved by multiplicative weights.

    In the paper the server averages its clients equally: ``start(..., method=Reptile())``.

    Args:
        rounds: how many there will be.
        importance_weighting: see `multiplicative_weights`.
        score: what moves p: "loss", as in the paper, or "error".
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
        p = tuple(self.p) or (1 / k,) * k
        ok = len(p) == k and all(number(p_j) >= 0 for p_j in p) and abs(sum(p) - 1) < 1e-9
        require(ok, "p", p, f"{k} probabilities")
        object.__setattr__(self, "p", p)

    @property
    def final(self) -> LocalHP:
        """The most likely row, the first of equal ones."""
        return self.table[self.p.index(max(self.p))]

    def ask(
        self, clients: int, gen: torch.Generator, *, who: Int[Tensor, " B"]
    ) -> Int[Tensor, " B"]:
        """Draw a row for each client from p."""
        u = torch.rand(clients, generator=gen, dtype=torch.float64).tolist()
        return torch.tensor([draw_row([*self.p], x) for x in u])

    def tell(self, result: RoundResult) -> "MultiplicativeWeights":
        """Return the tuner after a round, p moved by its scores."""
        scores = getattr(result.after, self.score).tolist()
        weighting = self.importance_weighting
        p = multiplicative_weights([*self.p], result.row.tolist(), scores, self.rounds, weighting)
        return replace(self, p=tuple(p))

    def freeze(self) -> Fixed:
        """Stop exploring: from now on all clients train with the most likely row."""
        return Fixed(self.final)

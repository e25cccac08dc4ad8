"""Federated multiplicative weights: each client's score weakens the configuration that it used.

It is what FedEx has grown out of, and lacks what FedEx divides by. Khodak et al., *Weight-Sharing
Beyond NAS*, section 4.1.
"""

from dataclasses import dataclass, field, replace
from typing import Any, Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from fedlab_edu.check import require
from fedlab_edu.hparams import LocalHP
from fedlab_edu.laws import real
from fedlab_edu.tuner import Fixed
from fedlab_edu.tuners.fedex import exponentiate, pick


def multiplicative_weights(
    p: Any, arm: Any, score: Any, rounds: int, importance_weighting: bool = False
) -> Float[Tensor, " k"]:
    """``p_j prod_(i: arm_i = j) exp(-s_i / sqrt(rounds))``, normalised once.

    As printed, a configuration is punished as often as it is drawn. Where scores s_j > 0 do not
    change, the mean of ``ln p_j`` moves by ``-B p_j s_j / sqrt(rounds)``, and p comes to rest at
    ``p_j`` proportional to ``1 / s_j``: not at the best configuration.

    Args:
        p: (k,), the probabilities from which the arms were drawn.
        arm, score: (B,), the configuration that each client used, and its score.
        rounds: how many rounds there are in all.
        importance_weighting: divide each score by the probability of its arm, as FedEx does, so
            that the mean moves by ``-B s_j / sqrt(rounds)``, and the best configuration wins.

    Raises:
        ValueError: fewer than one round; an arm of probability 0, which nobody can have drawn.

    Source: Khodak et al., *Weight-Sharing Beyond NAS*, section 4.1; they do not divide.
    """
    require(rounds >= 1, "rounds", rounds, "at least 1")
    p, score, arm = real(p), real(score), torch.as_tensor(arm)
    require((p[arm] > 0).all(), "p", p, "above 0 for each arm that was drawn")
    counted = score / p[arm] if importance_weighting else score
    gradient = torch.bincount(arm, counted, minlength=len(p))
    return exponentiate(p.log(), gradient, rounds**-0.5).exp()


@dataclass(frozen=True, eq=False)
class MultiplicativeWeights:
    """A distribution p over the k rows of a table, moved by multiplicative weights.

    In the paper the server averages its clients equally: ``start(..., method=Reptile())``.

    Args:
        rounds: how many there will be.
        importance_weighting: see `multiplicative_weights`.
        score: what moves p: "loss", as in the paper, or "error".

    State:
        p: (k,), the probability of each row.

    Raises:
        ValueError: fewer than one round, or another score.

    Source: Khodak et al., *Weight-Sharing Beyond NAS*, section 4.1.
    """

    table: LocalHP
    rounds: int
    importance_weighting: bool = False
    score: Literal["error", "loss"] = "loss"
    p: Float[Tensor, " k"] = field(default_factory=lambda: real([]), repr=False)

    def __post_init__(self) -> None:
        require(self.rounds >= 1, "rounds", self.rounds, "at least 1")
        require(self.score in ("error", "loss"), "score", self.score, "'error', 'loss'")
        k = len(self.table)
        p = self.p if len(self.p) else torch.full((k,), 1 / k, dtype=torch.float64)
        require(len(p) == k, "p", p, f"{k} probabilities")
        object.__setattr__(self, "p", p)

    @property
    def final(self) -> LocalHP:
        """The most likely row, of equal ones the first."""
        return self.table[int(self.p.argmax())]

    def ask(self, clients: int, gen: torch.Generator, *, who: Int[Tensor, " B"]) -> Tensor:
        """A row for each client, drawn from p."""
        return pick(self.p, torch.rand(clients, generator=gen, dtype=torch.float64))

    def tell(
        self,
        arm: Int[Tensor, " B"],
        before: Float[Tensor, " B"],
        after: Float[Tensor, " B"],
        size: Int[Tensor, " B"],
    ) -> "MultiplicativeWeights":
        """p after a round, moved by the clients that could validate.

        A row with which a client diverges gets probability 0. If none were left, p stays.
        """
        has = size > 0
        scores = after[has].nan_to_num(nan=torch.inf, posinf=torch.inf)
        p = multiplicative_weights(self.p, arm[has], scores, self.rounds, self.importance_weighting)
        return self if p.isnan().any() else replace(self, p=p)

    def settle(self) -> Fixed:
        """All train with the most likely row."""
        return Fixed(self.final)

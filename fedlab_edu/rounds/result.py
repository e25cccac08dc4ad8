"""The outcome of a round, for the history and for the tuner."""

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int, Num
from torch import Tensor

from fedlab_edu.tensors import as_float64
from fedlab_edu.training.scores import Score

LARGEST = 1e100  # larger scores have diverged: divided by a probability they may overflow
GROWN = 10.0  # a mean loss that has grown so much has diverged


@dataclass(frozen=True, eq=False)
class Round:
    """One round: B clients, the row of the table that each used, and scores on V_i.

    ``before`` scores the model received, ``after`` the personal model; lower is better. In the
    history a client that has ``diverged`` scores +inf after, is left out of the average, and keeps
    its previous state. ``size`` is |V_i|; a client without validation examples scores 0. A tuner is
    told the `result`.
    """

    client: Int[Tensor, " B"]
    row: Int[Tensor, " B"]
    size: Num[Tensor, " B"]
    before: Score
    after: Score
    diverged: Bool[Tensor, " B"]

    def result(self) -> "Round":
        """Return the round for the tuner: finite scores, of clients with validation examples alone.

        A score above 1e100, infinite or NaN has diverged. It becomes twice the largest other score
        of the round if that score is above 1, else 1. Scores and sizes are in float64, and all are
        copies; there may be no client.
        """
        scores = torch.stack([*self.before, *self.after]).double()
        client, row, size = self.client.clone(), self.row.clone(), self.size.double()
        if 0 in size.tolist():
            has = size > 0
            client, row, size, scores = client[has], row[has], size[has], scores[:, has]
        is_finite = scores.abs() <= LARGEST  # False for NaN
        diverged = ~is_finite.all(0)
        if diverged.any():
            worst = [_worst(scores[i::2][is_finite[i::2]]) for i in range(2)] * 2
            scores = torch.where(is_finite, scores, as_float64(worst)[:, None])
        parts = scores.unbind()
        return Round(client, row, size, Score(*parts[:2]), Score(*parts[2:]), diverged)


def _worst(scores: Float[Tensor, " n"]) -> float:
    highest = float(scores.max()) if len(scores) else 0.0
    return 1.0 if highest <= 1 else min(2 * highest, LARGEST)


def divergence(first: Round, last: Round) -> str | None:
    """Describe how training has diverged between two rounds, or return None.

    It has if all clients of the last round have diverged, or if their mean loss after training is
    above 10, and above 10 times that of the model of the first round.
    """
    if last.diverged.all():
        return "all clients of a round have diverged: their models or losses are not finite"
    start, end = (
        weighted_mean(scores.loss, played.size * ~played.diverged)
        for played, scores in ((first, first.before), (last, last.after))
    )
    if end > GROWN * max(start, 1.0):
        return (
            f"training has diverged: the clients' mean loss has grown from {start:.3g} to {end:.3g}"
        )
    return None


def weighted_mean(scores: Float[Tensor, " B"], weight: Num[Tensor, " B"]) -> float:
    """Return the mean of the scores whose weight is above 0; NaN if there are none."""
    has = weight > 0
    weight = weight[has].double()
    return float((weight * scores[has]).sum() / weight.sum())

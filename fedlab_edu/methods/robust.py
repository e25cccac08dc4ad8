"""Aggregation that is robust to hostile or broken clients: median, trimmed mean, Krum.

All need every client's model, so memory grows with the clients of a round. Clients have equal
weights, because a client could lie about its number of examples.
"""

from dataclasses import dataclass
from functools import partial
from typing import Annotated, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from fedlab_edu.methods.fedavg import FedAvg
from fedlab_edu.methods.method import RoundUpdate, Server
from fedlab_edu.training.hparams import ServerHP
from fedlab_edu.validate import real, require, whole

_below_half = real("from 0 to below 0.5", lambda x: 0 <= x < 0.5)


@dataclass(frozen=True)
class Median(FedAvg):
    """FedAvg with the coordinate-wise median in place of the average.

    Source: Yin, Chen, Ramchandran, Bartlett (2018), *Byzantine-robust distributed learning: towards
    optimal statistical rates*, definition 1; for even B, the mean of the middle two values.
    """

    needs_models: ClassVar[bool] = True
    equal_weights: ClassVar[bool] = True

    def agg(self, server: Server, update: RoundUpdate, b: ServerHP) -> Server:
        """Take FedAvg's server step towards `combine` of the clients' models."""
        assert update.models is not None
        return super().agg(server, update._replace(average=self.combine(update.models)), b)

    def combine(self, W: Float[Tensor, "B d"]) -> Float[Tensor, " d"]:
        """Return one model made of the models W of a round."""
        rows, B = W.sort(0).values, len(W)
        return (rows[(B - 1) // 2] + rows[B // 2]) / 2


@dataclass(frozen=True)
class TrimmedMean(Median):
    """FedAvg with the coordinate-wise mean without the ``floor(beta B)`` values at either end.

    Source: Yin, Chen, Ramchandran, Bartlett (2018), definition 2.
    """

    beta: Annotated[float, _below_half] = 0.1

    def combine(self, W: Float[Tensor, "B d"]) -> Float[Tensor, " d"]:
        cut = int(self.beta * len(W) + 1e-9)  # 0.3 * 10 is 2.9999999999999996
        return W.sort(0).values[cut : len(W) - cut].mean(0)


@dataclass(frozen=True)
class Krum(Median):
    """FedAvg with the one model that is closest to its B - f - 2 nearest others.

    Args:
        f: the number of hostile clients per round that it tolerates; B, without diverged
            ones, must be above 2f + 2.

    Source: Blanchard, El Mhamdi, Guerraoui, Stainer (2017), *Machine learning with adversaries:
    Byzantine tolerant gradient descent*, section 4; ties go to the first.
    """

    f: Annotated[int, partial(whole, least=0)] = 1

    def combine(self, W: Float[Tensor, "B d"]) -> Float[Tensor, " d"]:
        """Return the model with the smallest sum of squared distances to its neighbours."""
        B = len(W)
        allowed = f"at least {2 * self.f + 3}, which is 2f + 3"
        require(2 * self.f + 2 < B, "clients that have not diverged", B, allowed)
        V = W.to(torch.promote_types(W.dtype, torch.float32))  # which distances take
        square = torch.cdist(V, V, compute_mode="donot_use_mm_for_euclid_dist").square()
        near = square.fill_diagonal_(torch.inf).sort(1).values[:, : B - self.f - 2]
        return W[near.sum(1).argmin()]

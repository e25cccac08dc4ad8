"""FedOpt: an adaptive server optimiser that treats the clients' mean change as a gradient.

Reddi, Charles, Zaheer, Garrett, Rush, Konečný, Kumar, McMahan (2021), *Adaptive federated
optimization*, Algorithm 2.
"""

from dataclasses import dataclass
from typing import Annotated

import torch
from torch import Tensor

from fedlab_edu.methods.fedavg import FedAvg
from fedlab_edu.methods.method import RoundUpdate, Server
from fedlab_edu.training.hparams import ServerHP
from fedlab_edu.validate import real, share

_in_float32 = real("from 1e-18 to 1e18, whose squares float32 has", lambda x: 1e-18 <= x <= 1e18)


@dataclass(frozen=True)
class FedAdam(FedAvg):
    """Adam: ``m <- beta1 m + (1 - beta1) D``, ``w <- w + lr m / (sqrt(h) + tau)``, D = average - w.

    ``h <- beta2 h + (1 - beta2) D^2`` is the second moment; it starts at tau^2. The paper's eta is
    b.lr and its beta1 is b.momentum. Take ``ServerHP(lr=0.01, momentum=0.9)``, for example: with
    the default of lr, 1, each weight moves by up to 1 / sqrt(1 - beta2).

    Args:
        beta2: the decay of the second moment.
        tau: the degree of adaptivity.
    """

    beta2: Annotated[float, share] = 0.99
    tau: Annotated[float, _in_float32] = 1e-3

    def agg(self, server: Server, update: RoundUpdate, b: ServerHP) -> Server:
        change, beta1 = update.average - server.w, float(b.momentum)
        m = beta1 * server.v + (1 - beta1) * change
        h = torch.where(server.h > 0, server.h, self.tau**2)  # 0 before the first round
        h = self.second_moment(h, change.square())
        lr = float(b.lr * b.decay ** (update.round - 1))
        return Server(server.w + lr * m / (h.sqrt() + self.tau), m, h)

    def second_moment(self, h: Tensor, square: Tensor) -> Tensor:
        """Return the next h, given ``D^2``."""
        return self.beta2 * h + (1 - self.beta2) * square


@dataclass(frozen=True)
class FedYogi(FedAdam):
    """FedAdam with ``h <- h - (1 - beta2) D^2 sign(h - D^2)``."""

    def second_moment(self, h: Tensor, square: Tensor) -> Tensor:
        return h - (1 - self.beta2) * square * (h - square).sign()


@dataclass(frozen=True)
class FedAdagrad(FedAdam):
    """FedAdam with ``h <- h + D^2``; beta2 is not used."""

    def second_moment(self, h: Tensor, square: Tensor) -> Tensor:
        return h + square

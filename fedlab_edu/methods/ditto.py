"""Ditto: a personal model for each client, regularised towards the global model.

Li, Hu, Beirami, Smith (2021), *Ditto: fair and robust federated learning through personalization*,
Algorithm 1.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from fedlab_edu.methods.fedavg import FedAvg
from fedlab_edu.methods.method import ClientInput, ClientUpdate


@dataclass(frozen=True)
class Ditto(FedAvg):
    """FedAvg for the global model; client i also keeps a model v_i of its own.

    In a round, ``v_i <- v_i - lr (grad L_i(v_i) + lambda (v_i - w))``, with w the model received;
    the paper's lambda is c.mu. With lambda = 0 the personal models ignore w; a larger lambda pulls
    them towards it. v_i starts from the first w that the client receives.
    """

    pulls: ClassVar[bool] = True

    def init_state(self, w: Float[Tensor, " d"]) -> Float[Tensor, " d"]:
        """Return w, from which v_i starts."""
        return w

    def loc(self, inputs: ClientInput) -> ClientUpdate:
        """Run local SGD twice: from w, and from v_i with the pull towards w."""
        assert inputs.state is not None
        no_pull = replace(inputs.c, mu=torch.zeros_like(inputs.c.mu))
        W = inputs._replace(c=no_pull).sgd(inputs.w, optimizer=self.optimizer)
        V = inputs.sgd(inputs.state, anchor=inputs.w, optimizer=self.optimizer)
        return ClientUpdate(model=W, personal=V, state=V)

"""Ditto: a personal model for each client, regularised towards the global model.

Li, Hu, Beirami, Smith (2021), *Ditto: fair and robust federated learning through personalization*,
Algorithm 1.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from fedlab_edu.data.clients import Clients
from fedlab_edu.methods.fedavg import FedAvg
from fedlab_edu.methods.method import ClientInput, ClientUpdate
from fedlab_edu.models.model import Model
from fedlab_edu.training.hparams import LocalHP
from fedlab_edu.training.local import local_sgd


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

    def loc(
        self, model: Model, inputs: ClientInput, clients: Clients, c: LocalHP, seeds: list[int]
    ) -> ClientUpdate:
        """Run local SGD twice: from w, and from v_i with the pull towards w."""
        assert inputs.state is not None
        no_pull = replace(c, mu=torch.zeros_like(c.mu))
        v, by = inputs.state, self.optimizer
        W = local_sgd(model, inputs.w, clients, no_pull, seeds, optimizer=by)
        V = local_sgd(model, v, clients, c, seeds, anchor=inputs.w, optimizer=by)
        return ClientUpdate(model=W, personal=V, state=V)

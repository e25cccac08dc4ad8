"""FedProx: FedAvg with a proximal term that holds clients near the model received.

Li, Sahu, Zaheer, Sanjabi, Talwalkar, Smith (2020), *Federated optimization in heterogeneous
networks*, Algorithm 2.
"""

from dataclasses import dataclass

from fedlab_edu.data.clients import Clients
from fedlab_edu.methods.fedavg import FedAvg
from fedlab_edu.methods.method import ClientInput, ClientUpdate
from fedlab_edu.models.model import Model
from fedlab_edu.training.hparams import LocalHP
from fedlab_edu.training.local import local_sgd


@dataclass(frozen=True)
class FedProx(FedAvg):
    """SGD from w on ``L_i(u) + mu/2 |u - w|^2``; Agg is FedAvg's. With mu = 0 it is FedAvg.

    The paper's mu is c.mu; its inexactness gamma is the number of local epochs.
    """

    def loc(
        self, model: Model, inputs: ClientInput, clients: Clients, c: LocalHP, seeds: list[int]
    ) -> ClientUpdate:
        """Run local SGD from w with the gradient ``g + mu (u - w)``."""
        W = local_sgd(model, inputs.w, clients, c, seeds, optimizer=self.optimizer)
        return ClientUpdate(model=W, personal=W)

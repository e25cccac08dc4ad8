"""FedDyn: a penalty that moves, so that the clients' minima agree with the common one.

Acar, Zhao, Matas, Mattina, Whatmough, Saligrama (2021), *Federated learning based on dynamic
regularization*, Algorithm 1.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from fedlab_edu.data.clients import Clients
from fedlab_edu.methods.aggregate import server_sgd
from fedlab_edu.methods.fedavg import FedAvg
from fedlab_edu.methods.method import ClientInput, ClientUpdate, RoundUpdate, Server, equal_weights
from fedlab_edu.models.model import Model
from fedlab_edu.registry import storable
from fedlab_edu.training.hparams import LocalHP, ServerHP
from fedlab_edu.training.local import local_sgd
from fedlab_edu.validate import require


@storable
@dataclass(frozen=True)
class FedDyn(FedAvg):
    """Client i keeps g_i, the gradient of its loss where it last stopped.

    It minimises ``L_i(u) - <g_i, u> + alpha/2 |u - w|^2``, by SGD from w, to some w_i. The paper's
    alpha is c.mu, and its exact minimiser is approached by more local epochs. The server keeps h,
    the average of the g_i over all clients, and moves w so that they sum to 0 in the end.
    """

    weights = staticmethod(equal_weights)

    def init_state(self, w: Float[Tensor, " d"]) -> Float[Tensor, " d"]:
        """``g_i = 0``."""
        return torch.zeros_like(w)

    def loc(
        self, model: Model, inputs: ClientInput, clients: Clients, c: LocalHP, seeds: list[int]
    ) -> ClientUpdate:
        """SGD on the penalised loss, then ``g_i <- g_i - alpha (w_i - w)``.

        Raises:
            ValueError: mu, which is alpha, is 0.
        """
        require((c.mu > 0).all(), "mu", c.mu, "above 0: it is FedDyn's alpha")
        assert inputs.state is not None
        W = local_sgd(model, inputs.w, clients, c, seeds, drift=-inputs.state)
        delta = c.mu.to(W).view(-1, 1) * (inputs.w - W)
        return ClientUpdate(model=W, personal=W, state=inputs.state + delta, state_delta=delta)

    def agg(self, server: Server, update: RoundUpdate, b: ServerHP) -> Server:
        """``h <- h - alpha/m sum_i (w_i - w)``, m being N, then a step to ``mean - h/alpha``.

        Where clients differ in alpha, h sums their own, and is divided by the mean of the round's:
        wherever the rounds come to rest, h is 0, for any such divisor.
        """
        h = server.h + update.state_change
        target = update.average - h / float(update.c.mu.mean())
        w, v = server_sgd(server.w, server.v, target, b, update.round)
        return Server(w, v, h)

"""FedDyn: a penalty that moves, so that the clients' minima agree with the common one.

Acar, Zhao, Matas, Mattina, Whatmough, Saligrama (2021), *Federated learning based on dynamic
regularization*, Algorithm 1.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from fedlab_edu.aggregate import server_sgd
from fedlab_edu.check import require
from fedlab_edu.data.clients import Clients
from fedlab_edu.hparams import LocalHP, ServerHP
from fedlab_edu.local import local_sgd
from fedlab_edu.methods.fedavg import FedAvg
from fedlab_edu.methods.method import Answer, Given, Server, equally
from fedlab_edu.model import Model


@dataclass(frozen=True)
class FedDyn(FedAvg):
    """Client i keeps g_i, the gradient of its loss where it last stopped.

    It minimises ``L_i(u) - <g_i, u> + alpha/2 |u - w|^2``, by SGD from w, to some w_i. The paper's
    alpha is c.mu, and its exact minimiser is approached by more local epochs. The server keeps h,
    the average of the g_i over all clients, and moves w so that they sum to 0 in the end.
    """

    weigh = staticmethod(equally)

    def first(self, w: Float[Tensor, " d"]) -> Float[Tensor, " d"]:
        """``g_i = 0``."""
        return torch.zeros_like(w)

    def loc(
        self, model: Model, given: Given, clients: Clients, c: LocalHP, seeds: list[int]
    ) -> Answer:
        """SGD on the penalised loss, then ``g_i <- g_i - alpha (w_i - w)``.

        Raises:
            ValueError: mu, which is alpha, is 0.
        """
        require((c.mu > 0).all(), "mu", c.mu, "above 0: it is FedDyn's alpha")
        assert given.kept is not None
        W = local_sgd(model, given.w, clients, c, seeds, drift=-given.kept)
        moved = c.mu.to(W).view(-1, 1) * (given.w - W)
        return Answer(sent=W, own=W, kept=given.kept + moved, moved=moved)

    def agg(
        self,
        server: Server,
        average: Float[Tensor, " d"],
        moved: Float[Tensor, " d"],
        b: ServerHP,
        t: int,
        c: LocalHP,
    ) -> Server:
        """``h <- h - alpha/m sum_i (w_i - w)``, m being N, then a step to ``mean - h/alpha``.

        Where clients differ in alpha, h sums their own, and is divided by the mean of the round's:
        wherever the rounds come to rest, h is 0, for any such divisor.
        """
        h = server.h + moved
        w, v = server_sgd(server.w, server.v, average - h / float(c.mu.mean()), b, t)
        return Server(w, v, h)

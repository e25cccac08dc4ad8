"""FedDyn: a dynamic penalty that makes the clients' minima agree with the global one.

Acar, Zhao, Matas, Mattina, Whatmough, Saligrama (2021), *Federated learning based on dynamic
regularization*, Algorithm 1.
"""

from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from fedlab_edu.methods.fedavg import FedAvg
from fedlab_edu.methods.method import ClientInput, ClientUpdate, RoundUpdate, Server
from fedlab_edu.training.hparams import ServerHP
from fedlab_edu.validate import require


@dataclass(frozen=True)
class FedDyn(FedAvg):
    """SGD from w on ``L_i(u) - <g_i, u> + alpha/2 |u - w|^2``; the client state is g_i.

    g_i is the gradient of client i's loss where it last stopped. The paper's alpha is c.mu, above
    0, and more local epochs approach its exact minimiser. The server keeps h, the average of the
    g_i over all clients, and moves w so that they sum to 0 in the end.
    """

    pulls: ClassVar[bool] = True
    equal_weights: ClassVar[bool] = True

    def init_state(self, w: Float[Tensor, " d"]) -> Float[Tensor, " d"]:
        """Return 0, the first g_i."""
        return torch.zeros_like(w)

    def loc(self, inputs: ClientInput) -> ClientUpdate:
        """Run SGD on the penalised loss, then ``g_i <- g_i - alpha (w_i - w)``."""
        mu = inputs.c.mu.to(inputs.w)
        allowed = f"above 0 in {mu.dtype}: it is FedDyn's alpha"
        require((mu > 0).all(), "mu", inputs.c.mu, allowed)
        assert inputs.state is not None
        W = inputs.sgd(inputs.w, drift=-inputs.state, optimizer=self.optimizer)
        delta = mu.view(-1, 1) * (inputs.w - W)
        return ClientUpdate(model=W, personal=W, state=inputs.state + delta, state_delta=delta)

    def agg(self, server: Server, update: RoundUpdate, b: ServerHP) -> Server:
        """Set ``h <- h - alpha/m sum_i (w_i - w)``, m being N, then step to ``average - h/alpha``.

        If alpha differs between clients, h sums their own terms, and the divisor is the mean alpha.
        At a fixed point h is 0, for any such divisor.
        """
        h = server.h + update.state_change
        target = update.average - h / float(update.c.mu.mean())
        return super().agg(server, update._replace(average=target), b)

"""FedNova: clients that take unequal numbers of steps count as if they had taken equally many.

Wang, Liu, Liang, Joshi, Poor (2020), *Tackling the objective inconsistency problem in heterogeneous
federated optimization*, eq. (7) and section 4.2.
"""

from dataclasses import dataclass

from fedlab_edu.data.clients import Clients
from fedlab_edu.methods.fedavg import FedAvg
from fedlab_edu.methods.method import ClientInput, ClientUpdate, RoundUpdate, Server, no_pull
from fedlab_edu.methods.scaffold import effective_steps
from fedlab_edu.models.model import Model
from fedlab_edu.registry import storable
from fedlab_edu.training.hparams import LocalHP, ServerHP
from fedlab_edu.training.local import local_sgd, steps


@storable
@dataclass(frozen=True)
class FedNova(FedAvg):
    """Clients send ``w + (w_i - w) / tau_i``; Agg goes ``tau_eff = sum_i p_i tau_i`` times as far.

    tau_i is the number of client i's local steps, with momentum that of plain steps that go as far,
    see `effective_steps`. If all are equal, it is FedAvg.
    """

    def loc(
        self, model: Model, inputs: ClientInput, clients: Clients, c: LocalHP, seeds: list[int]
    ) -> ClientUpdate:
        """Run local SGD from w, and divide the change by the number of steps.

        Raises:
            ValueError: mu is not 0.
        """
        no_pull(c, "FedNova")
        W = local_sgd(model, inputs.w, clients, c, seeds)
        tau = effective_steps(steps(clients.n, c), c.momentum).to(W)[:, None]
        return ClientUpdate(model=inputs.w + (W - inputs.w) / tau, personal=W)

    def agg(self, server: Server, update: RoundUpdate, b: ServerHP) -> Server:
        """``w <- w + tau_eff (average - w)`` is where FedAvg's server steps to."""
        tau = effective_steps(steps(update.n, update.c), update.c.momentum)
        target = server.w + float(update.p @ tau.double()) * (update.average - server.w)
        return super().agg(server, update._replace(average=target), b)

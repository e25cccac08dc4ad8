"""FedNova: normalised averaging for clients with unequal numbers of local steps.

Wang, Liu, Liang, Joshi, Poor (2020), *Tackling the objective inconsistency problem in heterogeneous
federated optimization*, eq. (7) and section 4.2.
"""

from dataclasses import dataclass

from fedlab_edu.methods.fedavg import PlainSGD
from fedlab_edu.methods.method import ClientInput, ClientUpdate, RoundUpdate, Server
from fedlab_edu.methods.scaffold import effective_steps
from fedlab_edu.training.hparams import ServerHP
from fedlab_edu.training.plan import steps


@dataclass(frozen=True)
class FedNova(PlainSGD):
    """Normalised averaging: clients send ``w + (w_i - w) / tau_i``, which Agg scales by tau_eff.

    ``tau_eff = sum_i p_i tau_i``, where tau_i is the number of client i's local steps, see
    `effective_steps` for momentum. If all are equal, it is FedAvg.
    """

    def loc(self, inputs: ClientInput) -> ClientUpdate:
        """Run FedAvg's local SGD, and divide the change by tau_i."""
        W, c = super().loc(inputs).model, inputs.c
        tau = effective_steps(steps(inputs.clients.n, c), c.momentum).to(W)[:, None]
        return ClientUpdate(model=inputs.w + (W - inputs.w) / tau, personal=W)

    def agg(self, server: Server, update: RoundUpdate, b: ServerHP) -> Server:
        """Take FedAvg's server step towards ``w + tau_eff (average - w)``."""
        tau = effective_steps(steps(update.n, update.c), update.c.momentum)
        target = server.w + float(update.p @ tau.double()) * (update.average - server.w)
        return super().agg(server, update._replace(average=target), b)

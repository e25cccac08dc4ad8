"""q-FFL: larger weights for clients with a high loss, to spread accuracy more evenly.

Li, Sanjabi, Beirami, Smith (2020), *Fair resource allocation in federated learning*, Algorithm 2
(q-FedAvg).
"""

from dataclasses import dataclass
from typing import Annotated

from fedlab_edu.methods.fedavg import PlainSGD
from fedlab_edu.methods.method import ClientInput, ClientUpdate
from fedlab_edu.training.scores import score
from fedlab_edu.validate import not_negative, require


@dataclass(frozen=True)
class QFedAvg(PlainSGD):
    """The step ``w <- w - sum_i D_i / sum_i h_i``; ``D_i = F_i^q d_i`` and ``d_i = L (w - w_i)``.

    F_i is client i's training loss at w, L is 1 / c.lr, and
    ``h_i = q F_i^(q-1) |d_i|^2 + L F_i^q``. Client i sends ``w - D_i / h_i`` with the weight h_i.
    The larger q, the fairer; with q = 0 and equal learning rates all weights are equal.
    """

    q: Annotated[float, not_negative] = 1.0

    def loc(self, inputs: ClientInput) -> ClientUpdate:
        """Run local SGD from w; learning rates must be above 0."""
        c, clients = inputs.c, inputs.clients
        require((c.lr > 0).all(), "lr", c.lr, "above 0: q-FFL divides by it")
        W = super().loc(inputs).model
        # in float64, where F^q of a small loss is not 0; their code adds 1e-10 to a loss
        F = score(inputs.model, inputs.w, clients).loss.to(W).double().clamp_min(1e-10)
        L = 1 / c.each(len(clients)).lr.to(F)
        d = L[:, None] * (inputs.w - W)
        scale = L + self.q * d.square().sum(1) / F  # h_i = F_i^q scale_i
        return ClientUpdate((inputs.w - d / scale[:, None]).to(W), W, weight=F**self.q * scale)

"""Reptile: a step towards the plain mean of what the clients learn.

Nichol, Achiam, Schulman (2018), *On first-order meta-learning algorithms*, Algorithm 1 and its
batched version.
"""

from dataclasses import dataclass

from fedlab_edu.methods.fedavg import FedAvg
from fedlab_edu.methods.method import equal_weights
from fedlab_edu.registry import storable


@storable
@dataclass(frozen=True)
class Reptile(FedAvg):
    """``w <- w + eps mean_i (w_i - w)``, the paper's step eps being the server's rate b.lr.

    It is FedAvg in which all clients count the same: clients are tasks, and what is learnt is a w
    from which each of them gets far in a few steps.
    """

    weights = staticmethod(equal_weights)

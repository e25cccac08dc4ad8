"""Reptile: a step towards the unweighted mean of the clients' models.

Nichol, Achiam, Schulman (2018), *On first-order meta-learning algorithms*, Algorithm 1 and its
batched version.
"""

from dataclasses import dataclass
from typing import ClassVar

from fedlab_edu.methods.fedavg import FedAvg


@dataclass(frozen=True)
class Reptile(FedAvg):
    """FedAvg with equal weights: ``w <- w + eps mean_i (w_i - w)``, where the paper's eps is b.lr.

    Clients are tasks, and w becomes a model that adapts to each of them in a few steps.
    """

    equal_weights: ClassVar[bool] = True

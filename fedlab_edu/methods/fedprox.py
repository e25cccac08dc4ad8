"""FedProx: FedAvg with a proximal term that holds clients near the model received.

Li, Sahu, Zaheer, Sanjabi, Talwalkar, Smith (2020), *Federated optimization in heterogeneous
networks*, Algorithm 2.
"""

from dataclasses import dataclass
from typing import ClassVar

from fedlab_edu.methods.fedavg import FedAvg


@dataclass(frozen=True)
class FedProx(FedAvg):
    """FedAvg with SGD from w on ``L_i(u) + mu/2 |u - w|^2``; with mu = 0 it is FedAvg.

    The paper's mu is c.mu; its inexactness gamma is the number of local epochs.
    """

    pulls: ClassVar[bool] = True

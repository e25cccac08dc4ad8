"""FedAvg: local SGD and a weighted average.

McMahan, Moore, Ramage, Hampson, Agüera y Arcas (2017), *Communication-efficient learning of deep
networks from decentralized data*, Algorithm 1; server learning rate and momentum from Khodak et al.
(2021), eq. (11), and Hsu, Qi, Brown (2019).
"""

from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from jaxtyping import Float
from torch import Tensor

from fedlab_edu.data.clients import Clients
from fedlab_edu.methods.aggregate import server_sgd
from fedlab_edu.methods.method import (
    ClientInput,
    ClientUpdate,
    RoundUpdate,
    Server,
    no_pull,
    size_weights,
)
from fedlab_edu.models.model import Model
from fedlab_edu.registry import storable
from fedlab_edu.training.hparams import LocalHP, ServerHP
from fedlab_edu.training.local import local_sgd
from fedlab_edu.training.sgd import OPTIMIZERS
from fedlab_edu.validate import Checked, one_of

#: The type of ``optimizer`` in a method whose formulas hold for SGD only.
SGDOnly = Annotated[str, one_of("sgd")]


@storable
@dataclass(frozen=True)
class FedAvg(Checked):
    """Local SGD ``w_i = SGD_c(T_i, w)``, then a step towards ``sum_i n_i w_i / sum_i n_i``.

    Args:
        optimizer: of the clients, see `local_sgd`. Methods whose formulas hold for SGD only, such
            as SCAFFOLD, refuse "adam".
    """

    optimizer: Annotated[str, one_of(*OPTIMIZERS)] = field(default="sgd", kw_only=True)
    needs_models: ClassVar[bool] = False
    agg_always: ClassVar[bool] = False
    weights = staticmethod(size_weights)

    def init_state(self, w: Float[Tensor, " d"]) -> Float[Tensor, " d"] | None:
        """Return None: clients are stateless."""
        return None

    def loc(
        self, model: Model, inputs: ClientInput, clients: Clients, c: LocalHP, seeds: list[int]
    ) -> ClientUpdate:
        """Run local SGD from w; c.mu must be 0."""
        no_pull(c, type(self).__name__)
        W = local_sgd(model, inputs.w, clients, c, seeds, optimizer=self.optimizer)
        return ClientUpdate(model=W, personal=W)

    def agg(self, server: Server, update: RoundUpdate, b: ServerHP) -> Server:
        """Take the step of `server_sgd`, and add up ``h <- h + state_change``."""
        w, v = server_sgd(server.w, server.v, update.average, b, update.round)
        return Server(w, v, server.h + update.state_change)

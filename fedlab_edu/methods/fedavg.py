"""FedAvg: local SGD and a weighted average.

McMahan, Moore, Ramage, Hampson, Agüera y Arcas (2017), *Communication-efficient learning of deep
networks from decentralized data*, Algorithm 1; the server's rate and momentum are those of Khodak
et al. (2021), eq. (11), and of Hsu, Qi, Brown (2019).
"""

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from fedlab_edu.aggregate import server_sgd
from fedlab_edu.data.clients import Clients
from fedlab_edu.hparams import LocalHP, ServerHP
from fedlab_edu.local import local_sgd
from fedlab_edu.methods.method import Answer, Given, Server, by_size, no_pull
from fedlab_edu.model import Model


@dataclass(frozen=True)
class FedAvg:
    """``w_i = SGD_c(T_i, w)``, then the server's step towards ``sum_i n_i w_i / sum_i n_i``."""

    weigh = staticmethod(by_size)

    def first(self, w: Float[Tensor, " d"]) -> Float[Tensor, " d"] | None:
        """Nothing: a client forgets."""
        return None

    def loc(
        self, model: Model, given: Given, clients: Clients, c: LocalHP, seeds: list[int]
    ) -> Answer:
        """Local SGD from w.

        Raises:
            ValueError: mu is not 0.
        """
        no_pull(c, type(self).__name__)
        W = local_sgd(model, given.w, clients, c, seeds)
        return Answer(sent=W, own=W)

    def agg(
        self,
        server: Server,
        average: Float[Tensor, " d"],
        moved: Float[Tensor, " d"],
        b: ServerHP,
        t: int,
        c: LocalHP,
    ) -> Server:
        """``v <- m v + w - average``, ``w <- w - lr decay^(t-1) v``; and ``h <- h + moved``."""
        w, v = server_sgd(server.w, server.v, average, b, t)
        return Server(w, v, server.h + moved)

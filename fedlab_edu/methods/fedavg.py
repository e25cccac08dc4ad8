"""FedAvg: local SGD and a weighted average.

McMahan, Moore, Ramage, Hampson, Agüera y Arcas (2017), *Communication-efficient learning of deep
networks from decentralized data*, Algorithm 1; server learning rate and momentum from Khodak et al.
(2021), eq. (11), and Hsu, Qi, Brown (2019).
"""

from dataclasses import dataclass, field
from math import inf
from typing import Annotated, ClassVar

import torch
from jaxtyping import Float, Int, Num
from torch import Tensor

from fedlab_edu.methods.method import ClientInput, ClientUpdate, RoundUpdate, Server, no_pull
from fedlab_edu.tensors import as_float64
from fedlab_edu.training.hparams import ServerHP
from fedlab_edu.training.sgd import OPTIMIZERS
from fedlab_edu.validate import Checked, one_of, require


def weighted_average(W: Float[Tensor, "B d"], n: Num[Tensor, " B"]) -> Float[Tensor, " d"]:
    """Return ``sum_i n_i w_i / sum_i n_i``, the average weighted by the numbers of examples.

    Source: McMahan et al. (2017), Algorithm 1, server.
    """
    require(W.is_floating_point(), "dtype of W", str(W.dtype), "floats")
    n = as_float64(n, "n")
    ok = n.shape == W.shape[:1] and (n >= 0).all() and 0 < n.sum() < inf
    require(ok, "n", n, f"{len(W)} finite weights of at least 0, one above 0")
    return (n / n.sum()).to(W) @ W


def server_sgd(
    w: Float[Tensor, " d"],
    v: Float[Tensor, " d"],
    average: Float[Tensor, " d"],
    b: ServerHP,
    t: int = 1,
) -> tuple[Float[Tensor, " d"], Float[Tensor, " d"]]:
    """Return w and v after round t: ``v <- m v + w - average``, ``w <- w - lr decay^(t-1) v``.

    With the default b the new w is the average, up to rounding, as in FedAvg.

    Source: Khodak et al. (2021), eq. (11), for m = 0; FedAvgM of Hsu, Qi and Brown (2019).
    """
    require(t >= 1, "t", t, "at least 1, the first round")
    v = float(b.momentum) * v + (w - average)
    return w - float(b.lr * b.decay ** (t - 1)) * v, v


@dataclass(frozen=True)
class FedAvg(Checked):
    """Local SGD ``w_i = SGD_c(T_i, w)``, then a step towards ``sum_i n_i w_i / sum_i n_i``.

    Args:
        optimizer: of the clients, see `local_sgd`. Methods whose formulas hold for SGD only, such
            as SCAFFOLD, refuse "adam".
    """

    optimizer: Annotated[str, one_of(OPTIMIZERS)] = field(default="sgd", kw_only=True)
    pulls: ClassVar[bool] = False  # whether Loc uses c.mu
    needs_models: ClassVar[bool] = False
    agg_always: ClassVar[bool] = False
    equal_weights: ClassVar[bool] = False

    def init_state(self, w: Float[Tensor, " d"]) -> Float[Tensor, " d"] | None:
        """Return None: clients are stateless."""
        return None

    def loc(self, inputs: ClientInput) -> ClientUpdate:
        """Run local SGD from w; c.mu must be 0, unless the method `pulls`."""
        if not self.pulls:
            no_pull(inputs.c, type(self).__name__)
        W = inputs.sgd(inputs.w, optimizer=self.optimizer)
        return ClientUpdate(model=W, personal=W)

    def weights(self, n: Int[Tensor, " B"]) -> Float[Tensor, " B"]:
        """Return the clients' numbers of examples, or ones if the method has `equal_weights`."""
        return (torch.ones_like(n) if self.equal_weights else n).double()

    def agg(self, server: Server, update: RoundUpdate, b: ServerHP) -> Server:
        """Take the step of `server_sgd`, and add up ``h <- h + state_change``."""
        w, v = server_sgd(server.w, server.v, update.average, b, update.round)
        return Server(w, v, server.h + update.state_change)


@dataclass(frozen=True)
class PlainSGD(FedAvg):
    """The base of methods whose formulas hold for SGD only."""

    optimizer: Annotated[str, one_of(("sgd",))] = field(default="sgd", kw_only=True)

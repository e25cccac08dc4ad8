"""SCAFFOLD: control variates that correct the clients' drift in every local step.

Karimireddy, Kale, Mohri, Reddi, Stich, Suresh (2020), *SCAFFOLD: stochastic controlled averaging
for federated learning*, Algorithm 1.
"""

from dataclasses import dataclass
from typing import Annotated, ClassVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from fedlab_edu.methods.fedavg import PlainSGD
from fedlab_edu.methods.method import ClientInput, ClientUpdate, RoundUpdate, Server, no_pull
from fedlab_edu.training.hparams import ServerHP
from fedlab_edu.training.plan import steps
from fedlab_edu.training.scores import gradient
from fedlab_edu.validate import one_of, require


@dataclass(frozen=True)
class Scaffold(PlainSGD):
    """Local steps ``y <- y - lr (g - c_i + c)`` with control variates c_i, and their mean c.

    The client state is c_i; the server's h is c, the mean over all N clients. The corrected
    gradient points roughly where the mean of all clients' gradients would. The server's step is
    ``x <- x + b.lr mean_i (y_i - x)`` and ``c <- c + sum_i (c_i^+ - c_i) / N``. In Chen et al.
    (2023), section 4.5, the step of c has a rate and a schedule of its own, see `ServerHP`; at
    their defaults, 1, it is Karimireddy et al.'s, and c is the mean of the c_i.

    Args:
        option: the next c_i. 1: the gradient of the client's loss at the model received, one more
            pass over its data. 2: ``c_i - c + (x - y) / (K lr)``, the mean gradient of the local
            steps, for lr > 0. In float32 it loses digits where lr is tiny: at 1e-4 about three are
            left.
    """

    option: Annotated[int, one_of((1, 2))] = 2
    equal_weights: ClassVar[bool] = True

    def init_state(self, w: Float[Tensor, " d"]) -> Float[Tensor, " d"]:
        """Return 0, the first c_i."""
        return torch.zeros_like(w)

    def loc(self, inputs: ClientInput) -> ClientUpdate:
        """Run corrected local SGD from w, then compute the next c_i; c.mu must be 0."""
        c, x, h, old = inputs.c, inputs.w, inputs.h, inputs.state
        no_pull(c, "SCAFFOLD")
        assert old is not None
        ok = self.option == 1 or bool((c.lr.to(x) > 0).all())
        require(ok, "lr", c.lr, f"above 0 in {x.dtype} for SCAFFOLD's option 2")
        Y = inputs.sgd(x, drift=h - old)
        if self.option == 1:
            # the paper's f_i is the function that is minimised, so it includes weight decay
            new = gradient(inputs.model, x, inputs.clients) + c.weight_decay.to(x).view(-1, 1) * x
        else:
            rate = (c.lr * effective_steps(steps(inputs.clients.n, c), c.momentum)).to(x)
            new = old - h + (x - Y) / rate.view(-1, 1)
        return ClientUpdate(model=Y, personal=Y, state=new, state_delta=new - old)

    def agg(self, server: Server, update: RoundUpdate, b: ServerHP) -> Server:
        """Take FedAvg's step, with ``c <- c + rate state_change`` at c's own rate."""
        rate = float(b.control_lr * b.control_decay ** (update.round - 1))
        return super().agg(server, update._replace(state_change=rate * update.state_change), b)


def effective_steps(K: Int[Tensor, " B"], momentum: Float[Tensor, "*B"]) -> Float[Tensor, " B"]:
    """Return the number of plain SGD steps equal to K with momentum m: ``sum_{j<K} (K - j) m^j``.

    A constant gradient g moves w by ``lr g`` times this. For m = 0 it is K, the paper's case.
    """
    j = torch.arange(int(K.max()))
    return ((K[:, None] - j).clamp_min(0) * momentum.reshape(-1, 1) ** j).sum(1)

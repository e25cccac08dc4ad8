"""Aggregation, Agg_b: from the clients' models W (B, d) to the next global model w (d,)."""

from jaxtyping import Float, Num
from torch import Tensor

from fedlab_edu.training.hparams import ServerHP
from fedlab_edu.validate import require


def weighted_average(W: Float[Tensor, "B d"], n: Num[Tensor, " B"]) -> Float[Tensor, " d"]:
    """Return ``sum_i n_i w_i / sum_i n_i``, the average weighted by the numbers of examples.

    Source: McMahan et al. (2017), Algorithm 1, server.
    """
    require(n.min() >= 0 and n.sum() > 0, "n", n, "weights of at least 0, one of them above 0")
    return (n.double() / n.double().sum()).to(W) @ W


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

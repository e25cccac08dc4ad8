"""FedTune's relaxed draws and its direction, beside the exact gradient: eqs. (5) to (10)."""

from itertools import product
from math import inf, log
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from fedlab_edu.tensors import as_float64
from fedlab_edu.tuners.fedtune.credit import HUGE, Loss, checked, credit_of, score_function
from fedlab_edu.validate import positive, require


def concrete(pi: Any, gumbel: Any, temperature: float) -> Float[Tensor, " H"]:
    """Return ``softmax((log pi + gumbel) / temperature)``, a relaxed draw from pi (H,), above 0.

    As the temperature falls to 0 it becomes onehot(argmax(log pi + gumbel)), which is a draw from
    pi if the gumbels are ``-log(-log u)`` of uniform u.

    Source: FedTune, eq. (6), whose pi_l^l is a misprint of pi_i^l; Maddison, Mnih, Teh (2017).
    """
    pi, gumbel = as_float64(pi, "pi"), as_float64(gumbel, "gumbel")
    ok = pi.dim() == 1 and (pi > 0).all() and pi.isfinite().all()
    require(ok, "pi", pi, "numbers above 0, all finite")
    shape, wanted = tuple(gumbel.shape), tuple(pi.shape)
    require(shape == wanted, "shape of gumbel", shape, f"{wanted}, that of pi")
    require(gumbel.isfinite().all(), "gumbel", gumbel, "finite numbers")
    positive("temperature", temperature)
    return ((pi.log() + gumbel) / temperature).softmax(0)


def concrete_jacobian(pi: Any, gumbel: Any, temperature: float) -> Float[Tensor, "H H"]:
    """Return ``J[j, k] = dZ_j/dpi_k = (1[j = k] - Z_k) Z_j / (temperature pi_k)``; Z is `concrete`.

    Source: FedTune, eq. (7), which leaves out the index j.
    """
    Z, pi = concrete(pi, gumbel, temperature), as_float64(pi)
    return (torch.eye(len(Z), dtype=Z.dtype) - Z) * Z[:, None] / (temperature * pi)


class Expected(NamedTuple):
    """Expectations over the draws of all clients.

    Fields:
        loss: E[L].
        paper: E[score function times d_i], the direction that `update` descends.
        exact: E[score function times L], the gradient of E[L] by the logits.
    """

    loss: float
    paper: Float[Tensor, "N H"]
    exact: Float[Tensor, "N H"]


def expected(logits: Any, outputs: Any, q: Any, y: Any, loss: Loss) -> Expected:
    """Return the paper's direction and the gradient of its objective, by enumerating all draws.

    The paper takes dL/dZ out of an expectation over Z. Where the loss is linear in the outputs,
    dL/dZ does not depend on Z, and both are equal. Otherwise the direction may lead to the worse
    model.

    Args:
        logits: (N, H), for at most 10,000 draws H^N.
        outputs: (N, H, M, C), of the model that client i would train with row h, for all h.
        q, y, loss: see `credit`.

    Source: FedTune, eqs. (9) and (10), and eq. (5) for the objective.
    """
    a, f = as_float64(logits, "logits"), as_float64(outputs, "outputs")
    require(a.dim() == 2, "shape of logits", tuple(a.shape), "(N, H)")
    N, H = a.shape
    shape = tuple(f.shape)
    require(len(shape) == 4 and shape[:2] == (N, H), "shape of outputs", shape, f"({N}, {H}, M, C)")
    require((a < inf).all(), "logits", a, "numbers below +inf")
    require(N * log(H) <= log(10_000), "H^N", f"{H}^{N}", "at most 10,000 draws")
    require((f.abs() <= HUGE).all(), "outputs", "not finite", "finite numbers")
    _, q, y = checked(f[:, 0], q, y, loss)
    pi, mean, paper, exact = a.softmax(1), 0.0, torch.zeros_like(a), torch.zeros_like(a)
    for draw in product(range(H), repeat=N):
        z, every = torch.tensor(draw), torch.arange(N)
        p = pi[every, z].prod()
        L, d = credit_of(f[every, z], q, y, loss)
        mean += float(p) * L
        paper += p * score_function(a, z) * d[:, None]
        exact += p * score_function(a, z) * L
    return Expected(mean, paper, exact)

"""FedTune's credit: how much each client's model lowers the loss of the ensemble.

The ensemble adds up the clients' outputs, each times its share q_i and a dummy one. Minus the
derivative of the loss by client i's one is its credit. *FedTune* (anonymous, under review),
sections 3.2 to 3.4.
"""

from collections.abc import Callable
from math import inf
from typing import Any, Literal, get_args

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional

from fedlab_edu.models.model import check_differentiable
from fedlab_edu.tensors import as_float64, as_indices
from fedlab_edu.tuners.fedtune.rules import step
from fedlab_edu.validate import number, require

Loss = Literal["cross_entropy", "half_squared", "linear"]
HUGE = 1e100  # larger outputs have diverged: their squares may overflow


def diverged(outputs: Float[Tensor, "N M C"]) -> Bool[Tensor, " N"]:
    """Return which clients have an output that is NaN or above `HUGE`."""
    return ~(outputs.abs() <= HUGE).flatten(1).all(1)


def credit(
    outputs: Any, q: Any, y: Any, loss: Loss | Callable[[Tensor, Tensor], Tensor]
) -> tuple[float, Float[Tensor, " N"]]:
    """Return the mean loss of the ensemble ``F = sum_i q_i f_i``, and ``d_i = dL/d1_i``.

    With G the derivative of the mean loss by F, ``d_i = q_i sum_x <G(x), f_i(x)>``. The paper's
    credit is ``R_i = - d_i``. It is a derivative, not the decrease of the loss by client i.

    A client that has `diverged` is left out, and the others share its weight; its d_i is +inf. If
    all have diverged, the loss is +inf too.

    Args:
        outputs: (N, M, C), of each of N clients' models at M points.
        q: (N,), the clients' shares, D_i / D; not all 0.
        y: the targets: (M,) classes for "cross_entropy", numbers like F for the others.
        loss: of F (M, C) "cross_entropy", "half_squared" ``|F - y|^2 / 2``, or "linear" ``<y, F>``;
            or a function that gives the losses (M,), whose G is autograd's.

    Source: FedTune, Algorithm 1, lines 14-17, and eq. (12).
    """
    return credit_of(*checked(outputs, q, y, loss), loss)


def checked(outputs: Any, q: Any, y: Any, loss: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Return the arguments of `credit` as tensors on one device."""
    f = as_float64(outputs, "outputs").detach()
    q, y = as_float64(q, "q").to(f.device), _targets(y, loss).to(f.device)
    shape = tuple(f.shape)
    require(f.dim() == 3 and f.numel(), "shape of outputs", shape, "(N, M, C), none of them 0")
    for name, one, wanted in (("q", q, len(f)), ("y", y, f.shape[1])):
        size = len(one) if one.dim() else 1
        require(size == wanted, f"length of {name}", size, f"{wanted}, as in the outputs")
    ok = q.dim() == 1 and ((q >= 0) & q.isfinite()).all() and q.sum() > 0
    require(ok, "q", q, "finite numbers of at least 0, not all of them 0")
    allowed = get_args(Loss)
    require(loss in allowed or callable(loss), "loss", loss, f"one of {allowed}, or a function")
    _, M, C = shape
    if loss == "cross_entropy":
        ok = y.dim() == 1 and ((y >= 0) & (y < C) & (y == y.round())).all()
        require(ok, "y", y, f"{M} classes, whole numbers from 0 to {C - 1}")
    elif not callable(loss):  # a function may take targets of any shape
        require(y.numel() == M * C, "shape of y", tuple(y.shape), f"{(M, C)}, that of F")
        require(y.isfinite().all(), "y", y, "finite numbers")
    return f, q, y


def _targets(y: Any, loss: Any) -> Tensor:
    """Return the targets as a tensor: for a loss of the user's own as they are, else as floats."""
    y = y if isinstance(y, Tensor) else np.asarray(y)  # keeps all digits of a list
    return torch.as_tensor(y) if callable(loss) else as_float64(y, "y")


def credit_of(f: Tensor, q: Tensor, y: Tensor, loss: Any) -> tuple[float, Tensor]:
    """Compute `credit` of arguments that are checked."""
    lost = diverged(f)
    p = q.masked_fill(lost, 0)
    if not p.sum() > 0:
        return inf, torch.full((len(f),), inf, dtype=torch.float64)
    if lost.any():
        p, f = p * (q.sum() / p.sum()), f.masked_fill(lost[:, None, None], 0)
    L, G = _loss_and_gradient(torch.einsum("n,nmc->mc", p, f), y, loss)
    d = p * torch.einsum("mc,nmc->n", G, f)
    return float(L), d.masked_fill(lost, inf).cpu()


def _loss_and_gradient(F: Tensor, y: Tensor, loss: Any) -> tuple[Tensor, Tensor]:
    """Return the mean loss at the ensemble's outputs F (M, C), and its derivative by F."""
    M = len(F)
    if callable(loss):
        with torch.enable_grad():
            leaf = F.clone().requires_grad_()
            L = loss(leaf, y).mean()
            check_differentiable(L)
            (G,) = torch.autograd.grad(L, leaf)
        return L.detach(), G
    if loss == "cross_entropy":
        right = functional.one_hot(y.long(), F.shape[1]).to(F)
        return -(right * F.log_softmax(1)).sum() / M, (F.softmax(1) - right) / M
    y = y.to(F).reshape(F.shape)
    if loss == "half_squared":
        return (F - y).square().sum() / (2 * M), (F - y) / M
    return (y * F).sum() / M, y / M


def leave_one_out(outputs: Any, q: Any, y: Any, loss: Any) -> Float[Tensor, " N"]:
    """Return ``L - L(1_i = 0)``: below 0 if the loss is lower with client i's outputs than without.

    `credit` is its first-order approximation, with the same arguments and errors; a client that has
    `diverged` has +inf.
    """
    f, q, y = checked(outputs, q, y, loss)
    L, d = credit_of(f, q, y, loss)
    every = torch.eye(len(f), dtype=torch.bool, device=f.device)
    silent = [credit_of(f.masked_fill(i[:, None, None], 0), q, y, loss)[0] for i in every]
    return torch.where(d.isfinite(), L - as_float64(silent), d)


def score_function(logits: Any, z: Any) -> Float[Tensor, "N H"]:
    """Return ``grad_(a_i) log p(z_i) = onehot(z_i) - softmax(a_i)`` for logits (N, H)."""
    a = as_float64(logits, "logits")
    require(a.dim() == 2, "shape of logits", tuple(a.shape), "(N, H)")
    return functional.one_hot(as_indices("z", z, a.shape[1]), a.shape[1]) - a.softmax(1)


def update(
    rows: Any, z: Any, d: Any, lr: float, rule: Callable[..., list[float]] = step
) -> Float[Tensor, "N H"]:
    """Return the logits (N, H) of all clients after `step`, or their pi after `step_raw`.

    Args:
        rows: (N, H), the logits of each client, which may be -inf, or its pi.
        z, d: (N,), the candidate that each client has drawn, and its d, see `credit`.
        rule: called with one client's logits or pi, z, d, and lr.

    Source: FedTune, eq. (11), where the step is taken by pi.
    """
    rows, d = as_float64(rows, "rows"), as_float64(d, "d")
    shape = tuple(rows.shape)
    require(len(shape) == 2, "shape of rows", shape, "(N, H)")
    z = as_indices("z", z, shape[1])
    for argument, one in (("z", z), ("d", d)):
        require(one.shape == shape[:1], f"shape of {argument}", tuple(one.shape), f"{shape[:1]}")
    ok = (rows < inf).all() and (rows > -inf).any(1).all()
    require(ok, "rows", rows, "numbers below +inf, in each row one above -inf")
    require(abs(number(lr)) < inf, "lr", lr, "a finite number")
    clients = zip(rows.tolist(), z.tolist(), d.tolist(), strict=True)
    return as_float64([rule(row, z_i, d_i, lr) for row, z_i, d_i in clients])

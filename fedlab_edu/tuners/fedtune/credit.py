"""FedTune's rules: which client's choice of hyperparameters is to thank for an ensemble's loss.

The outputs of the clients' models are averaged, each times its share q_i and times a dummy one. The
derivative of the loss by client i's one, its sign turned, is client i's credit. *FedTune:
Differentiable hyperparameter optimization for personalized federated learning* (anonymous, under
review), sections 3.2 to 3.4.
"""

from collections.abc import Callable
from itertools import product
from math import inf, log
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional

from fedlab_edu.validate import as_float64, number, require

Loss = Literal["cross_entropy", "half_squared", "linear"]
HUGE = 1e100  # what is above has diverged: its square may be no number
LEAST = 1e-6  # what `project` leaves of a probability


def diverged(outputs: Float[Tensor, "N M C"]) -> Bool[Tensor, " N"]:
    """Which clients' outputs are not all numbers of at most `HUGE`."""
    return ~(outputs.abs() <= HUGE).flatten(1).all(1)


def credit(
    outputs: Any, q: Any, y: Any, loss: Loss | Callable[[Tensor, Tensor], Tensor]
) -> tuple[float, Float[Tensor, " N"]]:
    """The mean loss of the ensemble ``F = sum_i q_i f_i``, and its derivatives ``d_i = dL/d1_i``.

    With 1_i = 1 and G the derivative of the mean loss by F, ``d_i = q_i sum_x <G(x), f_i(x)>``. The
    paper's credit is ``R_i = - d_i``. That is not by how much client i has lowered the loss: of
    half a squared error, r without the client and r + x with it, x = q_i f_i, the client has taken
    ``- r x - x^2 / 2``, and its credit is ``- r x - x^2``.

    A client that has `diverged` is left out, and the others take over its share; its d_i is +inf.
    If all have, the loss is +inf, too.

    Args:
        outputs: (N, M, C), what each of N clients' models says about M points.
        q: (N,), the clients' shares, D_i / D.
        y: the targets: (M,) classes for "cross_entropy", numbers like F for the others.
        loss: of F (M, C) "cross_entropy", "half_squared" ``|F - y|^2 / 2``, or "linear" ``<y, F>``;
            or a function that gives the losses (M,), whose G is autograd's.

    Raises:
        ValueError: shapes that do not fit, no points, shares that are below 0 or all 0, classes
            that are none, or an unknown loss.

    Source: FedTune, Algorithm 1, lines 14-17, and eq. (12).
    """
    return _credit(*_checked(outputs, q, y, loss), loss)


def _checked(outputs: Any, q: Any, y: Any, loss: Any) -> tuple[Tensor, Tensor, Tensor]:
    """What `credit` is given, as tensors on one device."""
    f = as_float64(outputs).detach()
    y = y if isinstance(y, Tensor) else np.asarray(y)  # which keeps all digits of a list's
    q, y = as_float64(q).to(f.device), torch.as_tensor(y, device=f.device)
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
    elif not callable(loss):  # what a function takes is its own affair
        require(y.numel() == M * C, "shape of y", tuple(y.shape), f"{(M, C)}, that of F")
    return f, q, y


def _credit(f: Tensor, q: Tensor, y: Tensor, loss: Any) -> tuple[float, Tensor]:
    """`credit` of what has been checked."""
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
    """The mean loss at the ensemble's outputs F (M, C), and its derivative by them."""
    M = len(F)
    if callable(loss):
        with torch.enable_grad():
            leaf = F.clone().requires_grad_()
            L = loss(leaf, y).mean()
            (G,) = torch.autograd.grad(L, leaf)
        return L.detach(), G
    if loss == "cross_entropy":
        right = functional.one_hot(y.long(), F.shape[1]).to(F)
        return -(right * F.log_softmax(1)).sum() / M, (F.softmax(1) - right) / M
    y = y.to(F).reshape(F.shape)
    if loss == "half_squared":
        return (F - y).square().sum() / (2 * M), (F - y) / M
    return (y * F).sum() / M, y / M


def score_function(logits: Any, z: Any) -> Float[Tensor, "N H"]:
    """``grad_(a_i) log p(z_i) = onehot(z_i) - softmax(a_i)`` of each client's logits (N, H)."""
    a = as_float64(logits)
    return functional.one_hot(torch.as_tensor(z), a.shape[1]) - a.softmax(1)


def update(logits: Any, z: Any, d: Any, lr: float) -> Float[Tensor, "N H"]:
    """``a_i <- a_i - lr (onehot(z_i) - softmax(a_i)) d_i``, a step for each client.

    A d_i that is no finite number is of a client that has diverged: its logit z_i becomes -inf, so
    that it never draws that row again, unless all its other rows have gone that way.

    Args:
        logits: (N, H), of the distributions ``pi_i = softmax(a_i)``; -inf is allowed.
        z: (N,), the rows that the clients have drawn.
        d: (N,), see `credit`.

    Raises:
        ValueError: shapes that do not fit, rows that are none, logits that are NaN or +inf, or a
            step that is not finite.

    Source: FedTune, eq. (11), where the step is taken by pi itself: see `update_raw`.
    """
    a, z, d = as_float64(logits), torch.as_tensor(z), as_float64(d)
    _check_step(a, z, d, lr)
    require((a < inf).all(), "logits", a, "numbers below +inf")
    lost = ~d.isfinite()
    moved = a - lr * score_function(a, z) * d.masked_fill(lost, 0)[:, None]
    barred = lost & ((a > -inf).sum(1) > 1)
    moved[barred, z[barred]] = -inf
    return moved


def update_raw(pi: Any, z: Any, d: Any, lr: float) -> Float[Tensor, "N H"]:
    """``pi_i <- pi_i - lr (onehot(z_i) / pi_i[z_i] - 1 / sum_k pi_i[k]) d_i``, as printed.

    The result need be no distribution, and may be below 0: see `project`. For a d_i that is no
    finite number, pi_i[z_i] becomes 0.

    Raises:
        ValueError: shapes that do not fit, rows that are none, a pi that is not finite, or a step
            that is not.

    Source: FedTune, eq. (11), with p(z) = pi[z] / sum_k pi[k].
    """
    pi, z, d = as_float64(pi), torch.as_tensor(z), as_float64(d)
    _check_step(pi, z, d, lr)
    require(pi.isfinite().all(), "pi", pi, "finite numbers")
    lost = ~d.isfinite()
    drawn = functional.one_hot(z, pi.shape[1]).bool()
    score = drawn / pi.gather(1, z[:, None]) - 1 / pi.sum(1, keepdim=True)
    moved = pi - lr * score * d.masked_fill(lost, 0)[:, None]
    return moved.masked_fill(drawn & lost[:, None], 0)


def _check_step(rows: Tensor, z: Tensor, d: Tensor, lr: float) -> None:
    """Refuse what no step can be taken with."""
    shape = tuple(rows.shape)
    require(len(shape) == 2, "shape of the rows", shape, "(N, H)")
    for name, one in (("z", z), ("d", d)):
        require(one.shape == shape[:1], f"shape of {name}", tuple(one.shape), f"{shape[:1]}")
    ok = not z.is_floating_point() and ((z >= 0) & (z < shape[1])).all()
    require(ok, "z", z, f"whole numbers from 0 to {shape[1] - 1}")
    require(abs(number(lr)) < inf, "lr", lr, "a finite number")


def project(pi: Any) -> Float[Tensor, "N H"]:
    """``max(pi, 1e-6)``, each row divided by its sum: distributions again.

    The paper has nothing like it, and without it no logarithm of pi.

    Raises:
        ValueError: a pi that is not finite.
    """
    pi = as_float64(pi)
    require(pi.isfinite().all(), "pi", pi, "finite numbers")
    pi = pi.clamp_min(LEAST)
    return pi / pi.sum(1, keepdim=True)


def concrete(pi: Any, gumbel: Any, temperature: float) -> Float[Tensor, " H"]:
    """``softmax((log pi + gumbel) / temperature)``, a relaxed draw from pi (H,).

    The coldest limit is a one at the largest of ``log pi + gumbel``, which is a draw from pi if the
    gumbels are ``-log(-log u)`` of uniform u.

    Raises:
        ValueError: a pi or a temperature that is not above 0; noise of another shape.

    Source: FedTune, eq. (6), its sum over all H rows; Maddison, Mnih, Teh (2017).
    """
    pi, gumbel = as_float64(pi), as_float64(gumbel)
    require(pi.dim() == 1 and (pi > 0).all(), "pi", pi, "numbers above 0")
    shape, wanted = tuple(gumbel.shape), tuple(pi.shape)
    require(shape == wanted, "shape of gumbel", shape, f"{wanted}, that of pi")
    require(temperature > 0, "temperature", temperature, "above 0")
    return ((pi.log() + gumbel) / temperature).softmax(0)


def concrete_jacobian(pi: Any, gumbel: Any, temperature: float) -> Float[Tensor, "H H"]:
    """``J[j, k] = dZ_j / dpi_k = (1[j = k] - Z_k) Z_j / (temperature pi_k)`` of Z from `concrete`.

    Source: FedTune, eq. (7), which leaves out the index j.
    """
    Z, pi = concrete(pi, gumbel, temperature), as_float64(pi)
    return (torch.eye(len(Z), dtype=Z.dtype) - Z) * Z[:, None] / (temperature * pi)


class Expected(NamedTuple):
    """What the draws of all clients give in the mean.

    Fields:
        loss: E[L].
        paper: E[score function times d_i], the direction that `update` descends.
        exact: E[score function times L], the gradient of E[L] by the logits.
    """

    loss: float
    paper: Float[Tensor, "N H"]
    exact: Float[Tensor, "N H"]


def expected(logits: Any, outputs: Any, q: Any, y: Any, loss: Loss) -> Expected:
    """The paper's direction beside the gradient of its objective, by going through all draws.

    The paper takes dL/dZ out of an expectation over Z as if it did not depend on Z. For a loss that
    is linear in the outputs it does not, and the two are equal. For others the direction may lead
    to the worse model.

    Args:
        logits: (N, H).
        outputs: (N, H, M, C), of the model that client i would train with row h, for all h.
        q, y, loss: see `credit`.

    Raises:
        ValueError: shapes that do not fit; more than 10,000 draws H^N; outputs that are not finite;
            see `credit`.

    Source: FedTune, eqs. (9) and (10), and eq. (5) for the objective.
    """
    a, f = as_float64(logits), as_float64(outputs)
    require(a.dim() == 2, "shape of logits", tuple(a.shape), "(N, H)")
    N, H = a.shape
    shape = tuple(f.shape)
    require(len(shape) == 4 and shape[:2] == (N, H), "shape of outputs", shape, f"({N}, {H}, M, C)")
    require((a < inf).all(), "logits", a, "numbers below +inf")
    require(N * log(H) <= log(10_000), "H^N", f"{H}^{N}", "at most 10,000 draws")
    require((f.abs() <= HUGE).all(), "outputs", "not finite", "finite numbers")
    _, q, y = _checked(f[:, 0], q, y, loss)
    pi, mean, paper, exact = a.softmax(1), 0.0, torch.zeros_like(a), torch.zeros_like(a)
    for draw in product(range(H), repeat=N):
        z, every = torch.tensor(draw), torch.arange(N)
        p = pi[every, z].prod()
        L, d = _credit(f[every, z], q, y, loss)
        mean += float(p) * L
        paper += p * score_function(a, z) * d[:, None]
        exact += p * score_function(a, z) * L
    return Expected(mean, paper, exact)

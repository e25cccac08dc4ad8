"""One step of SGD for k clients side by side, with gradients by hand or by autograd."""

from functools import partial
from typing import NamedTuple

import torch
from jaxtyping import Float, Integer
from torch import Tensor

from fedlab_edu.models.backward import Gradients, Product
from fedlab_edu.models.layers import Drop
from fedlab_edu.models.model import Model, cross_entropy
from fedlab_edu.training.hparams import LocalHP


class _Rows(NamedTuple):
    """The vectors and hyperparameters of k clients."""

    W: Float[Tensor, "k d"]
    U: Float[Tensor, "k d"]  # W itself, if no client has momentum
    rate: Float[Tensor, "k 1"]  # -lr
    shrink: Float[Tensor, "k 1"]  # -lr pull
    factor: Float[Tensor, "k 1"]  # of U in each step: m, or 1 - lr pull
    constant: Float[Tensor, "k d"] | None


class SGD:
    """``u = m u - lr (g + pull w + constant)``, ``w += u``; the pull is weight_decay + mu.

    The constant is ``drift - mu anchor``. Losses are scaled by -lr, so that gradients are added as
    they come; without momentum they are added to w itself. The k clients may become fewer.

    Args:
        W: (k, d), updated in place.
        anchor, drift: (k, d), or (d,) for all; drift may be None.
    """

    def __init__(
        self,
        model: Model,
        W: Float[Tensor, "k d"],
        c: LocalHP,
        anchor: Tensor,
        drift: Tensor | None,
    ) -> None:
        lr, momentum, pull = (h.to(W)[:, None] for h in (c.lr, c.momentum, c.weight_decay + c.mu))
        self.model, self.heavy, self.pulled = model, bool(momentum.any()), bool(pull.any())
        constant, shrink = None, -lr * pull
        if c.mu.any() or drift is not None:
            constant = lr * c.mu.to(W)[:, None] * anchor
            if drift is not None:
                constant.addcmul_(drift, lr, value=-1)
        U, factor = (torch.zeros_like(W), momentum) if self.heavy else (W, 1 + shrink)
        self.all = _Rows(W, U, -lr, shrink, factor, constant)
        self.unused: dict[int, Tensor] = {}  # weights that the outputs do not depend on
        self._first(len(W))

    def _first(self, k: int) -> None:
        """Go on with the first k clients."""
        self.of = _Rows._make(v if v is None else v[:k] for v in self.all)
        self.weights, self.moves = self.model.views(self.of.W), self.model.views(self.of.U)

    def step(self, x: Tensor, y: Tensor, p: Float[Tensor, "k b"], drop: Drop | None) -> None:
        """Take a step on x (k, b, ...), y (k b, ...); p are the examples' weights in the loss."""
        if len(x) != len(self.of.W):
            self._first(len(x))
        W, U, rate, shrink, factor, constant = self.of
        gradients = _gradients(self.model, self.weights, x, y, rate * p, drop)
        for i, g in enumerate(gradients):
            if g is None and i not in self.unused:
                self.unused[i] = self.weights[i].clone()
        if constant is not None:
            torch.addcmul(constant, U, factor, out=U)
        elif self.heavy or self.pulled:
            U.mul_(factor)
        if self.heavy and self.pulled:
            U.addcmul_(W, shrink)
        for u, g in zip(self.moves, gradients, strict=True):
            if isinstance(g, Product):
                g.add_to(u)
            elif g is not None:
                u.add_(g)
        if self.heavy:
            W.add_(U)
        for i, initial in self.unused.items():
            self.weights[i].copy_(initial[: len(x)])


def _gradients(
    model: Model,
    weights: list[Tensor],
    x: Tensor,
    y: Tensor,
    scale: Float[Tensor, "k b"],
    drop: Drop | None,
) -> Gradients | tuple[Tensor | None, ...]:
    """Return the gradient of ``sum scale loss``; None for a weight that it does not depend on."""
    classes = y.dim() == 1 and not y.is_floating_point()
    if model.gradients is not None and model.loss is cross_entropy and classes:
        return model.gradients(weights, x, partial(_head, y, scale), drop)
    with torch.enable_grad():
        leaves = [p.detach().requires_grad_() for p in weights]
        outputs = model.forward(leaves, x, *([] if drop is None else [drop])).flatten(0, 1)
        loss = model.losses(outputs, y) @ scale.flatten()
        return torch.autograd.grad(loss, leaves, allow_unused=True)


def _head(
    y: Integer[Tensor, " kb"], scale: Float[Tensor, "k b"], outputs: Float[Tensor, "k b C"]
) -> Float[Tensor, "k b C"]:
    """Return ``scale (softmax - onehot)``."""
    g = outputs.softmax(2).mul_(scale[..., None])
    g.flatten(0, 1).scatter_add_(1, y.long()[:, None], -scale.view(-1, 1))
    return g

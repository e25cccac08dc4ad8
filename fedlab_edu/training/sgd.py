"""One step of SGD or Adam for k clients side by side, with gradients by hand or by autograd."""

from functools import partial
from typing import NamedTuple

import torch
from jaxtyping import Float, Integer
from torch import Tensor

from fedlab_edu.models.backward import Gradients, Product
from fedlab_edu.models.layers import Drop
from fedlab_edu.models.model import Model, check_differentiable, cross_entropy
from fedlab_edu.training.hparams import LocalHP

OPTIMIZERS = ("sgd", "adam")


class _Rows(NamedTuple):
    """The vectors and hyperparameters of k clients."""

    W: Float[Tensor, "k d"]
    U: Float[Tensor, "k d"]  # W itself, if no client has momentum; for Adam the gradient
    rate: Float[Tensor, "k 1"]  # -lr
    shrink: Float[Tensor, "k 1"]  # -lr pull
    factor: Float[Tensor, "k 1"]  # of U in each step: m, or 1 - lr pull
    constant: Float[Tensor, "k d"] | None


class SGD:
    """``u = m u - lr (g + pull w + constant)``, ``w += u``; the pull is weight_decay + mu.

    The constant is ``drift - mu anchor``. Losses are scaled by -lr, so that gradients are added as
    they come; without momentum they are added to w itself. The k clients may become fewer. For Adam
    u is the gradient, by which `_Adam` moves w.

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
        optimizer: str,
    ) -> None:
        self.adam = _Adam(W, c, anchor, drift) if optimizer == "adam" else None
        if self.adam:
            c, drift = LocalHP().each(len(W)), None
        hyper = torch.stack([c.lr, c.momentum, c.weight_decay + c.mu, c.mu])
        _, momenta, self.pulled, mus = hyper.any(1).tolist()
        lr, momentum, pull, mu = hyper.to(W)[..., None]
        self.model, self.heavy = model, self.adam is not None or momenta
        constant, shrink = None, -lr * pull
        if mus or drift is not None:
            constant = lr * mu * anchor
            if drift is not None:
                constant.addcmul_(drift, lr, value=-1)
        U, factor = (torch.zeros_like(W), momentum) if self.heavy else (W, 1 + shrink)
        rate = torch.ones_like(lr) if self.adam else -lr
        self.all = _Rows(W, U, rate, shrink, factor, constant)
        self.unused: dict[int, Tensor] = {}  # weights that the outputs do not depend on
        self._first(len(W))

    def _first(self, k: int) -> None:
        """Go on with the first k clients."""
        self.of = _Rows._make(v if v is None else v[:k] for v in self.all)
        self.weights = self.moves = self.model.views(self.of.W)
        if self.heavy:
            self.moves = self.model.views(self.of.U)

    def step(self, x: Tensor, y: Tensor, p: Float[Tensor, "k b"], drop: Drop | None) -> None:
        """Take a step on x (k, b, ...), y (k b, ...); p are the examples' weights in the loss."""
        if x.shape[0] != self.of.W.shape[0]:
            self._first(x.shape[0])
        W, U, rate, shrink, factor, constant = self.of
        gradients = _gradients(self.model, self.weights, x, y, rate * p, drop)
        for i, g in enumerate(gradients):
            if g is None and i not in self.unused:
                self.unused[i] = self.weights[i].clone()
        if self.adam:
            self.adam.pull(W, U)
        elif constant is not None:
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
        if self.adam:
            self.adam.move(W, U)
        elif self.heavy:
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
        losses = model.losses(outputs, y)
        check_differentiable(losses)
        loss = losses.to(scale.dtype) @ scale.flatten()
        return torch.autograd.grad(loss, leaves, allow_unused=True)


class _Adam:
    """Adam with PyTorch's beta2 and eps; beta1 is the momentum.

    Source: Kingma, Ba (2015), Algorithm 1.
    """

    beta2, eps = 0.999, 1e-8

    def __init__(
        self, W: Float[Tensor, "k d"], c: LocalHP, anchor: Tensor, drift: Tensor | None
    ) -> None:
        hyper = c.lr, c.momentum, c.weight_decay, c.mu
        self.lr, self.beta1, self.decay, self.mu = (h.to(W)[:, None] for h in hyper)
        self.anchor, self.drift, self.t = anchor.expand_as(W), drift, 0
        self.m, self.v = torch.zeros_like(W), torch.zeros_like(W)

    def pull(self, W: Float[Tensor, "k d"], g: Float[Tensor, "k d"]) -> None:
        """Set g to the gradient of all but the loss.

        Where w has not left its anchor it is exactly 0, because Adam scales up rounding.
        """
        k = len(W)
        torch.mul(W - self.anchor[:k], self.mu[:k], out=g).addcmul_(W, self.decay[:k])
        if self.drift is not None:
            g.add_(self.drift[:k])

    def move(self, W: Float[Tensor, "k d"], g: Float[Tensor, "k d"]) -> None:
        """Take a step from W, in place, for the first k clients and their gradients g."""
        k, self.t = len(W), self.t + 1
        beta1, m, v = self.beta1[:k], self.m[:k], self.v[:k]
        m.lerp_(g, 1 - beta1)
        v.lerp_(g.square(), 1 - self.beta2)
        size = (v / (1 - self.beta2**self.t)).sqrt_().add_(self.eps)
        W.addcdiv_(m * (self.lr[:k] / (beta1**self.t - 1)), size)


def _head(
    y: Integer[Tensor, " kb"], scale: Float[Tensor, "k b"], outputs: Float[Tensor, "k b C"]
) -> Float[Tensor, "k b C"]:
    """Return ``scale (softmax - onehot)``."""
    g = outputs.softmax(2).mul_(scale[..., None])
    g.flatten(0, 1).scatter_add_(1, y.long()[:, None], -scale.view(-1, 1))
    return g

"""Models as functions of one weight vector w (d,), or of B of them at once.

Averaging models is then ``p @ W``, FedProx is ``mu * (W - w)``, and a round is a matrix W (B, d).
"""

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import prod

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from fedlab_edu.models.backward import Gradients
from fedlab_edu.seeds import check_default_device
from fedlab_edu.validate import require, whole


def cross_entropy(outputs: Float[Tensor, "n C"], y: Tensor) -> Float[Tensor, " n"]:
    """Return the cross-entropy of each example, in nats."""
    y = y if y.is_floating_point() else y.long()
    return F.cross_entropy(outputs, y, reduction="none", ignore_index=-(2**63))  # not -100


def check_differentiable(losses: Tensor) -> None:
    """Refuse losses without a derivative, such as the number of errors."""
    allowed = "one that PyTorch can differentiate, so neither argmax nor detach()"
    require(losses.requires_grad, "loss", "constant", allowed)


ONE_AT_A_TIME = threading.RLock()  # PyTorch's generator of initial weights is one for all threads
if hasattr(os, "register_at_fork"):  # no thread that holds it must be missing in a copy
    os.register_at_fork(
        before=ONE_AT_A_TIME.acquire,
        after_in_parent=ONE_AT_A_TIME.release,
        after_in_child=ONE_AT_A_TIME.release,
    )


@dataclass(frozen=True, eq=False, repr=False)
class Model:
    """A network as a function of its weights.

    Fields:
        net: builds the plain PyTorch network, freshly initialised.
        forward: the network with a leading client axis: a list of weights (B, *shape) and inputs
            (B, b, ...) give outputs (B, b, C). If ``drops``, it takes a third argument, a
            `layers.Drop`, or None to drop nothing.
        shapes: the weights' shapes, in their order in w.
        flipped: whether each weight lies transposed in w (linear layers, see `layers.linear`).
        loss: outputs (n, C) and targets (n,) give the loss of each example (n,).
        drops: whether the plain network has ``nn.Dropout(0.0)`` layers. The rate is a
            hyperparameter. Our own networks drop before their last linear layer.
        gradients: the gradients of the weights by hand, see `fedlab_edu.models.backward`; None to
            leave them to autograd.
    """

    net: Callable[[], nn.Module]
    forward: Callable[..., Tensor]
    shapes: tuple[tuple[int, ...], ...]
    flipped: tuple[bool, ...]
    loss: Callable[[Tensor, Tensor], Tensor] = cross_entropy
    drops: bool = False
    gradients: Callable[..., Gradients] | None = None

    def __repr__(self) -> str:
        return f"Model({self.d:,} weights in {len(self.shapes)} tensors)"

    @cached_property
    def sizes(self) -> list[int]:
        """Numbers of entries of the weights."""
        return [prod(s) for s in self.shapes]

    @cached_property
    def d(self) -> int:
        """Number of weights."""
        return sum(self.sizes)

    def init(self, seed: int = 0) -> Float[Tensor, " d"]:
        """Draw initial weights as PyTorch does, without touching its global generator."""
        check_default_device()
        with ONE_AT_A_TIME, torch.random.fork_rng(devices=[]):
            torch.manual_seed(whole("seed", seed, 0, 2**64 - 1))
            return self.flatten(self.net())

    def views(self, W: Float[Tensor, "B d"]) -> list[Tensor]:
        """Return the weights (B, *shape) of B models as views of W: writing to them changes W."""
        B, d = W.shape
        require(d == self.d, "length of w", d, f"{self.d}, the model's d")
        parts = W.split_with_sizes(self.sizes, 1)
        return [part.view(B, *shape) for part, shape in zip(parts, self.shapes, strict=True)]

    def outputs(self, W: Float[Tensor, "B d"], x: Tensor) -> Float[Tensor, "B b C"]:
        """Evaluate B models, without dropout, on b examples each: x (B, b, ...) -> (B, b, C)."""
        return self.forward(self.views(W), x)

    def __call__(self, w: Float[Tensor, " d"], x: Tensor) -> Float[Tensor, "n C"]:
        """Evaluate one model on n examples: x (n, ...) -> (n, C)."""
        return self.outputs(w[None], x[None])[0]

    def losses(self, outputs: Tensor, y: Tensor) -> Float[Tensor, " n"]:
        """Return the loss of each of n examples from outputs (n, C) and targets (n, ...).

        Refuse a loss of another shape, such as the mean over examples.
        """
        losses, n = self.loss(outputs, y), len(outputs)
        allowed = f'{(n,)}, one for each example, as with reduction="none"'
        require(losses.shape == (n,), "shape of the loss", tuple(losses.shape), allowed)
        require(losses.is_floating_point(), "dtype of the loss", str(losses.dtype), "floats")
        return losses

    def flatten(self, net: nn.Module) -> Float[Tensor, " d"]:
        """Return the weights of a plain network of this kind as one vector."""
        p = [p.detach() for p in _trained(net)]
        ours = [s[::-1] if flip else s for s, flip in zip(self.shapes, self.flipped, strict=True)]
        seen = [tuple(t.shape) for t in p]
        require(seen == ours, "shapes of net's weights", seen, f"{ours}, those of the model")
        return torch.cat(
            [(t.T if f else t).flatten() for t, f in zip(p, self.flipped, strict=True)]
        )

    def unflatten(self, w: Float[Tensor, " d"]) -> nn.Module:
        """Return a plain PyTorch network with the weights w."""
        net = self.net().to(w)
        with torch.no_grad():
            weights = zip(_trained(net), self.views(w[None]), self.flipped, strict=True)
            for p, view, flip in weights:
                p.copy_(view[0].T if flip else view[0])
        return net


def _trained(net: nn.Module) -> list[nn.Parameter]:
    """Return the parameters that make up w, which excludes frozen ones."""
    return [p for p in net.parameters() if p.requires_grad]

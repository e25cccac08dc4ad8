"""Gradients by hand, with a leading client axis, for stacks of linear layers and LeNet-5.

A linear layer's gradient is the product of two matrices. It is left as one, so that SGD adds it to
the weights without writing it to memory first.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from fedlab_edu.models import layers
from fedlab_edu.models.layers import Drop

# From outputs (B, b, C) to the derivative of the loss with respect to them.
Head = Callable[[Tensor], Tensor]

_relu_backward = torch.ops.aten.threshold_backward.grad_input
_conv_backward = torch.ops.aten.convolution_backward
_pool = torch.ops.aten.max_pool2d_with_indices
_pool_backward = torch.ops.aten.max_pool2d_with_indices_backward


class Product(NamedTuple):
    """The gradient ``left^T right`` of a linear layer's weight, for each client."""

    left: Float[Tensor, "B b i"]
    right: Float[Tensor, "B b o"]

    def add_to(self, u: Float[Tensor, "B i o"]) -> None:
        u.baddbmm_(self.left.transpose(1, 2), self.right)


Gradients = list[Tensor | Product]


def mlp(p: list[Tensor], x: Tensor, head: Head, drop: Drop | None = None) -> Gradients:
    """Return the gradient of each weight of `fedlab_edu.mlp`."""
    return _linears(p, x.flatten(2), head, drop)[0]


def _linears(
    p: list[Tensor], x: Float[Tensor, "B b i"], head: Head, drop: Drop | None, inputs: bool = False
) -> tuple[Gradients, Tensor]:
    """Return the gradients of linear layers with ReLU between; with ``inputs`` also their inputs'.

    Dropout comes before the last layer.
    """
    received, last = [x], len(p) // 2 - 1
    for weight, bias in zip(p[:-2:2], p[1:-2:2], strict=True):
        received.append(torch.baddbmm(bias[:, None], received[-1], weight).relu_())
    active = received[-1]
    kept = None if drop is None else layers.dropout(torch.ones_like(active), drop)
    if kept is not None:
        received[-1] = active * kept
    g = head(torch.baddbmm(p[-1][:, None], received[-1], p[-2]))
    found: Gradients = []
    for i in range(last, -1, -1):
        found = [Product(received[i], g), g.sum(1), *found]
        if i or inputs:
            g = torch.bmm(g, p[2 * i].transpose(1, 2))
            g = g if kept is None or i < last else g * kept
        if i:
            g = _relu_backward(g, active if i == last else received[i], 0, grad_input=g)
    return found, g


def lenet(
    pad1: int, pad2: int, p: list[Tensor], x: Float[Tensor, "B b c H W"], head: Head,
    drop: Drop | None = None,
) -> Gradients:  # fmt: skip
    """Return the gradient of each weight of `fedlab_edu.lenet5`, given its two paddings."""
    B, b = x.shape[:2]
    x = layers.fold(x).contiguous(memory_format=torch.channels_last)
    kernel1, kernel2 = p[0].flatten(0, 1), p[2].flatten(0, 1)
    o1 = torch.conv2d(x, kernel1, p[1].flatten(), 1, pad1, 1, B)
    h1, where1 = _pool(o1, [2, 2], [2, 2])
    o2 = torch.conv2d(h1.relu_(), kernel2, p[3].flatten(), 1, pad2, 1, B)
    h2, where2 = _pool(o2, [2, 2], [2, 2])
    flat = layers.unfold(h2.relu_(), B).flatten(2)
    rest, g = _linears(p[4:], flat, head, drop, inputs=True)
    g = layers.fold(_relu_backward(g, flat, 0, grad_input=g).view(B, b, -1, *h2.shape[2:]))
    g = g.contiguous(memory_format=torch.channels_last)
    b2 = _sum(g)  # pooling spreads it out, and does not change the sum
    g = _pool_backward(g, o2, [2, 2], [2, 2], [0, 0], [1, 1], False, where2)
    g, w2 = _conv(g, h1, kernel2, pad2, B, inputs=True)
    g = _relu_backward(g, h1, 0, grad_input=g)
    b1 = _sum(g)
    g = _pool_backward(g, o1, [2, 2], [2, 2], [0, 0], [1, 1], False, where1)
    _, w1 = _conv(g, x, kernel1, pad1, B, inputs=False)
    convolutions = zip((w1, b1, w2, b2), p[:4], strict=True)
    return [*(g.reshape(weight.shape) for g, weight in convolutions), *rest]


def _conv(
    g: Tensor, x: Tensor, kernel: Tensor, padding: int, groups: int, inputs: bool
) -> tuple[Any, Tensor]:
    """Return the gradients of a convolution's inputs, or None, and of its kernels."""
    pad, wanted = [padding, padding], [inputs, True, False]
    found = _conv_backward(g, x, kernel, None, [1, 1], pad, [1, 1], False, [0, 0], groups, wanted)
    return found[0], found[1]


def _sum(g: Float[Tensor, "b C H W"]) -> Float[Tensor, " C"]:
    return g.permute(0, 2, 3, 1).reshape(-1, g.shape[1]).sum(0)  # a view, if channels are last

"""Layers with a leading client axis: B clients, each with weights of its own, in one call.

x is (B, b, ...): b examples for each of B clients. Every weight is (B, ...). Clients never mix:
row i of the output depends on row i of x and on the i-th weights alone.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Integer, Num
from torch import Tensor


def linear(
    x: Float[Tensor, "B b i"], weight: Float[Tensor, "B i o"], bias: Float[Tensor, "B o"]
) -> Float[Tensor, "B b o"]:
    """``x @ weight + bias`` for each client; the weight is (in, out), ``nn.Linear``'s transposed.

    Stored the other way round, autograd returns a transposed gradient, and each SGD operation
    then walks over mismatched strides.
    """
    return torch.baddbmm(bias[:, None], x, weight)


def _channels(x: Tensor) -> Tensor:
    """(B, b, C, H, W) -> (b, B*C, H, W): clients become groups of channels."""
    return x.transpose(0, 1).flatten(1, 2)


def _clients(x: Tensor, clients: int) -> Tensor:
    """The inverse of `_channels`."""
    return x.unflatten(1, (clients, -1)).transpose(0, 1)


def conv2d(
    x: Float[Tensor, "B b i H W"],
    weight: Float[Tensor, "B o i h v"],
    bias: Float[Tensor, "B o"],
    padding: int = 0,
) -> Float[Tensor, "B b o H2 W2"]:
    """B convolutions as one of B groups; channels last is the fast order on a CPU."""
    folded = _channels(x).contiguous(memory_format=torch.channels_last)
    out = F.conv2d(folded, weight.flatten(0, 1), bias.flatten(), padding=padding, groups=len(x))
    return _clients(out, len(x))


def max_pool2d(x: Float[Tensor, "B b c H W"], size: int) -> Float[Tensor, "B b c H2 W2"]:
    """The largest of each ``size`` by ``size`` square."""
    return _clients(F.max_pool2d(_channels(x), size), len(x))


def embedding(
    x: Integer[Tensor, "B b T"], weight: Float[Tensor, "B V E"]
) -> Float[Tensor, "B b T E"]:
    """Row ``x`` of the client's own table of V vectors."""
    first = torch.arange(len(weight), device=x.device) * weight.shape[1]
    return F.embedding(x.long() + first[:, None, None], weight.flatten(0, 1))


def lstm(x: Float[Tensor, "B b T E"], *weights: Num[Tensor, "B ..."]) -> Float[Tensor, "B b T H"]:
    """A stack of LSTM layers, four weights each, in ``nn.LSTM``'s order (w_ih, w_hh, b_ih, b_hh).

    A loop over clients: the library's fused LSTM runs near a core's peak already, and a batched
    formulation of it is slower on the CPU.
    """
    layers, out = len(weights) // 4, []
    for x_i, *w_i in zip(x, *(w.unbind() for w in weights), strict=True):
        zero = x_i.new_zeros(layers, len(x_i), w_i[1].shape[1])
        out.append(torch.lstm(x_i, (zero, zero), w_i, True, layers, 0.0, True, False, True)[0])
    return torch.stack(out)

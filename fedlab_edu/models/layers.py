"""Layers with a leading client axis: B clients, each with its own weights, in one call.

x is (B, b, ...), b examples for each client; every weight is (B, ...). Clients never mix.
"""

from math import prod
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int64, Num
from torch import Tensor

from fedlab_edu.models.lstm import batched_lstm
from fedlab_edu.validate import require


def linear(
    x: Float[Tensor, "B b i"], weight: Float[Tensor, "B i o"], bias: Float[Tensor, "B o"]
) -> Float[Tensor, "B b o"]:
    """Return ``x @ weight + bias`` for each client.

    The weight is (in, out), unlike ``nn.Linear``'s, so that its gradient has the same strides.
    """
    return torch.baddbmm(bias[:, None], x, weight)


def fold(x: Tensor) -> Tensor:
    """Fold the clients into channel groups: (B, b, C, H, W) -> (b, B*C, H, W)."""
    return x.transpose(0, 1).flatten(1, 2)


def unfold(x: Tensor, clients: int) -> Tensor:
    """Invert `fold`."""
    return x.unflatten(1, (clients, -1)).transpose(0, 1)


def conv2d(
    x: Float[Tensor, "B b i H W"],
    weight: Float[Tensor, "B o i h v"],
    bias: Float[Tensor, "B o"],
    padding: int = 0,
) -> Float[Tensor, "B b o H2 W2"]:
    """Run B convolutions as one with B groups; channels last is the fast order on a CPU."""
    folded = fold(x).contiguous(memory_format=torch.channels_last)
    out = F.conv2d(folded, weight.flatten(0, 1), bias.flatten(), padding=padding, groups=len(x))
    return unfold(out, len(x))


def max_pool2d(
    x: Float[Tensor, "B b c H W"], size: int, stride: int | None = None, ceil: bool = False
) -> Float[Tensor, "B b c H2 W2"]:
    """Return the maximum of each ``size`` by ``size`` square, one every ``stride`` (default: size).

    ``ceil`` adds the squares that begin inside and reach beyond the edge.
    """
    return unfold(F.max_pool2d(fold(x), size, stride, ceil_mode=ceil), len(x))


def embedding(
    x: Num[Tensor, "B *n"], weight: Float[Tensor, "B V E"], padding: int | None = None
) -> Float[Tensor, "B *n E"]:
    """Look up row x of each client's own table of V vectors.

    The row ``padding``, counted from the end if negative, gets no gradient.

    Raises:
        ValueError: x is real, or outside the table (on a GPU that reads another client's table).
    """
    V = weight.shape[1]
    check_ids(x, V)
    x = x.long()
    first = torch.arange(len(weight), device=x.device) * V
    found = F.embedding(x + first.view(-1, *[1] * (x.dim() - 1)), weight.flatten(0, 1))
    if padding is None:
        return found
    return torch.where((x == padding % V)[..., None], found.detach(), found)


def check_ids(x: Num[Tensor, "..."], V: int) -> None:
    """Raise ``ValueError`` for real numbers and, on the CPU, ids outside a table of V rows."""
    require(not x.is_floating_point(), "dtype of x", str(x.dtype), "whole numbers, rows of a table")
    if x.device.type == "cpu":
        x = x.long()
        outside = x[(x < 0) | (x >= V)]
        require(not len(outside), "x", outside[:3], f"from 0 to {V - 1}, the rows of the table")


def lstm(
    x: Float[Tensor, "B b T E"], *weights: Num[Tensor, "B ..."], dtype: torch.dtype | None = None
) -> Float[Tensor, "B b T H"]:
    """Run stacked LSTM layers; ``weights`` are w_ih, w_hh, b_ih, b_hh of each layer.

    On the CPU it loops over clients, because PyTorch's fused LSTM is faster than a batched one.

    Args:
        dtype: compute in it; the outputs and the gradients have the dtypes of x and the weights.
    """
    if dtype is not None:
        return lstm(x.to(dtype), *(w.to(dtype) for w in weights)).to(x.dtype)
    if x.device.type != "cpu":
        return batched_lstm(x, *weights)
    layers, out = len(weights) // 4, []
    for x_i, *w_i in zip(x, *(w.unbind() for w in weights), strict=True):
        zero = x_i.new_zeros(layers, len(x_i), w_i[1].shape[1])
        out.append(torch.lstm(x_i, (zero, zero), w_i, True, layers, 0.0, True, False, True)[0])
    return torch.stack(out)


class Drop(NamedTuple):
    """The dropout of B clients in one step: a seed and a rate in [0, 1) for each."""

    seed: Int64[Tensor, " B"]
    rate: Float[Tensor, " B"]


def dropout(
    x: Float[Tensor, "*shape"], drop: Drop | None, place: int = 0
) -> Float[Tensor, "*shape"]:
    """Zero each entry with its client's rate, and divide the others by ``1 - rate``.

    Entry j of client i, counted through x_i (b, ...) row by row, is kept if ``u >= rate_i``; u in
    [0, 1) is the top 53 bits of ``mix(mix(seed_i, place), j)``. Devices, other clients and later
    rows do not matter. None drops nothing. Inside ``vmap`` x is (b, ...), seed and rate scalars.

    Source: Srivastava et al. (2014), scaled in training.
    """
    if drop is None:
        return x
    seed, rate = drop
    j = torch.arange(prod(x.shape[seed.dim() :]), device=x.device)
    u = _shifted(mix(mix(seed, place)[..., None], j), 11)  # in units of 2^-53
    rate = rate.double()[..., None]
    kept = u >= (rate * 2**53).ceil().long()
    return x * (kept / (1 - rate).to(x.dtype)).view_as(x)


# the increment and the two factors of splitmix64, as signed 64-bit integers
_GAMMA, _FIRST, _SECOND = (
    h - 2**64 for h in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)


def mix(seed: Int64[Tensor, "..."], counter: Int64[Tensor, "..."] | int) -> Int64[Tensor, "..."]:
    """Return output number ``counter``, from 0, of splitmix64 seeded with ``seed``: 64 random bits.

    There is no state: every draw can be computed alone, and is the same on every device.

    Source: Steele, Lea and Flood (2014), SplitMix, with the constants of Stafford's variant 13.
    """
    # int64 wraps around; in place, because memory takes longer than arithmetic
    z = torch.add(seed, counter + 1, alpha=_GAMMA)
    z.bitwise_xor_(_shifted(z, 30)).mul_(_FIRST)
    z.bitwise_xor_(_shifted(z, 27)).mul_(_SECOND)
    return z.bitwise_xor_(_shifted(z, 31))


def _shifted(z: Tensor, bits: int) -> Tensor:
    """Shift right, moving in zeros where ``>>`` repeats the sign."""
    return (z >> bits).bitwise_and_(2 ** (64 - bits) - 1)

"""Random networks in `from_module` against plain autograd, one client at a time."""

from collections.abc import Callable

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn.utils.parametrizations import weight_norm

from tests.fuzz import fuzz
from tests.test_module import compare

Draw = Callable[[st.SearchStrategy], int]
MODES = ["zeros", "reflect", "replicate", "circular"]


class Last(nn.Module):
    """The outputs of a recurrent layer, without its state."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x)[0]


class Attention(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.layer = nn.MultiheadAttention(width, 1, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.layer(x, x, x, need_weights=False)[0]


def anywhere(shape: tuple[int, ...], size: int) -> list[Callable[[], nn.Module]]:
    """Layers for examples of any shape."""
    return [
        nn.ReLU, nn.Tanh, nn.GELU, nn.ELU, nn.SiLU, nn.Softplus, nn.LeakyReLU, nn.Hardshrink,
        lambda: nn.Dropout(0.0), lambda: nn.Softmax(-1), lambda: nn.PReLU(shape[0]), nn.Flatten,
        lambda: nn.LayerNorm(shape[-1]), lambda: nn.RMSNorm(shape[-1]),
        lambda: nn.Linear(shape[-1], size), lambda: weight_norm(nn.Linear(shape[-1], size)),
        *([nn.GLU] if shape[-1] % 2 == 0 else []),
    ]  # fmt: skip


def of_series(shape: tuple[int, ...], size: int, mode: str) -> list[Callable[[], nn.Module]]:
    """Layers for examples (channels, length) or (time, features)."""
    c, n = shape
    found = [
        lambda: nn.Conv1d(c, size, 3, padding=1, padding_mode=mode if n > 1 else "zeros"),
        lambda: nn.AvgPool1d(2, ceil_mode=True), lambda: nn.AdaptiveMaxPool1d(2),
        lambda: nn.Upsample(scale_factor=2), lambda: nn.ConvTranspose1d(c, size, 2, stride=2),
        lambda: Last(nn.GRU(n, size, batch_first=True)),
        lambda: Last(nn.LSTM(n, size, batch_first=True, bidirectional=True)),
        lambda: Last(nn.RNN(n, size, 2, batch_first=True)),
        lambda: Attention(n), lambda: nn.TransformerEncoderLayer(n, 1, 4, 0.0, batch_first=True),
    ]  # fmt: skip
    return found + ([lambda: nn.InstanceNorm1d(c, affine=True)] if n > 1 else [])


def of_images(shape: tuple[int, ...], size: int, mode: str) -> list[Callable[[], nn.Module]]:
    """Layers for examples (channels, height, width)."""
    c, h, w = shape
    found = [
        lambda: nn.Conv2d(c, size, 3, padding=1, padding_mode=mode if min(h, w) > 1 else "zeros"),
        lambda: nn.Conv2d(c, c, 1, groups=c), lambda: nn.MaxPool2d(2, ceil_mode=True),
        lambda: nn.AvgPool2d(2, ceil_mode=True), lambda: nn.AdaptiveAvgPool2d(2),
        lambda: nn.ConvTranspose2d(c, size, 2), lambda: nn.GroupNorm(1, c),
        lambda: nn.LocalResponseNorm(2), lambda: nn.ZeroPad2d((1, 0, 0, 1)),
        lambda: nn.Flatten(2), lambda: nn.Dropout2d(0.0),
        lambda: nn.Upsample(scale_factor=2, mode="bilinear"),
    ]  # fmt: skip
    found += [lambda: nn.InstanceNorm2d(c, affine=True)] if h * w > 1 else []
    return found + ([lambda: nn.PixelShuffle(2)] if c % 4 == 0 else [])


@st.composite
def networks(draw: Draw) -> tuple[nn.Module, Tensor]:
    """A network of one to six random layers, and eight examples."""
    torch.manual_seed(draw(st.integers(0, 2**32)))
    shape = draw(st.sampled_from([(5,), (6,), (3, 4), (2, 6), (1, 5, 5), (4, 4, 4)]))
    x, parts = torch.randn(8, *shape), []
    if draw(st.booleans()):
        pad = draw(st.sampled_from([None, 0, -1]))
        x = torch.randint(10, (8, 4))
        bag = draw(st.sampled_from([None, "sum", "mean", "max"]))
        parts.append(nn.EmbeddingBag(10, 6, mode=bag, padding_idx=pad) if bag else
                     nn.Embedding(10, 6, padding_idx=pad))  # fmt: skip
    seen = parts[0](x) if parts else x
    for _ in range(draw(st.integers(1, 6))):
        size, mode = draw(st.integers(1, 4)), draw(st.sampled_from(MODES))
        shape, choices = seen.shape[1:], anywhere(seen.shape[1:], size)
        choices += of_series(shape, size, mode) if len(shape) == 2 else []
        choices += of_images(shape, size, mode) if len(shape) == 3 else []
        part = draw(st.sampled_from(choices))()
        out = part(seen.clone())
        if out[0].numel() <= 300:
            parts, seen = [*parts, part], out.detach()
    return nn.Sequential(*parts, nn.Flatten(), nn.Linear(seen[0].numel(), 3)), x


@fuzz(30, 10_000)
@given(case=networks())
def test_a_random_network_gives_each_client_what_plain_autograd_gives(case):
    net, x = case
    compare(net, x.double() if x.is_floating_point() else x)

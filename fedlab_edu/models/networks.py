"""The networks of the papers."""

from collections.abc import Callable
from functools import partial
from itertools import islice, pairwise
from numbers import Integral
from typing import Any

import torch
from torch import Tensor, nn

from fedlab_edu.models import backward, layers
from fedlab_edu.models.layers import Drop
from fedlab_edu.models.model import Model
from fedlab_edu.validate import MOST, require, whole

Step = tuple[Callable[..., Tensor], int, tuple[Any, ...]]  # see `_step`


def _model(
    net: Callable[[], nn.Module], gradients: Callable[..., backward.Gradients] | None = None,
    forward: Callable[..., Tensor] | None = None,
) -> Model:  # fmt: skip
    """Make a model of a plain network; a sequential one runs by itself with a client axis."""
    with torch.device("meta"):  # shapes only: no draws, no memory
        plain = net()
    forward = forward or partial(_in_sequence, [_step(layer) for layer in plain.children()])
    linear = {id(m.weight) for m in plain.modules() if isinstance(m, nn.Linear)}
    flipped = tuple(id(p) in linear for p in plain.parameters())
    weights = zip(plain.parameters(), flipped, strict=True)
    shapes = tuple(tuple(p.T.shape if flip else p.shape) for p, flip in weights)
    return Model(net, forward, shapes, flipped, drops=True, gradients=gradients)


def _in_sequence(steps: list[Step], p: list[Tensor], x: Tensor, drop: Drop | None = None) -> Tensor:
    """Run layers one after another with a client axis."""
    weights = iter(p)
    for run, number, settings in steps:
        own = (drop,) if run is layers.dropout else islice(weights, number)
        x = run(x, *own, *settings)
    return x


def _step(layer: nn.Module) -> Step:
    """Return what runs a layer with a client axis, its number of weights, and its settings."""
    match layer:
        case nn.Linear():
            return layers.linear, 2, ()
        case nn.Conv2d():
            return layers.conv2d, 2, (layer.padding[0],)
        case nn.MaxPool2d():
            return layers.max_pool2d, 0, (layer.kernel_size, layer.stride, layer.ceil_mode)
        case nn.Flatten():
            return torch.flatten, 0, (2,)
        case nn.Dropout():
            return layers.dropout, 0, ()
    assert isinstance(layer, nn.ReLU), layer
    return torch.relu, 0, ()


def mlp(*sizes: int) -> Model:
    """Build linear layers with ReLU between, as in ``mlp(64, 32, 10)``; inputs are flattened."""
    ok = len(sizes) >= 2 and all(isinstance(n, Integral) and 1 <= n <= MOST for n in sizes)
    ok = ok and not any(isinstance(n, bool) for n in sizes)
    require(ok, "sizes", sizes, f"two or more whole numbers from 1 to {MOST:,}")
    return _model(partial(_mlp, *sizes), backward.mlp)


def _mlp(*sizes: int) -> nn.Module:
    parts: list[nn.Module] = [nn.Flatten()]
    for i, o in pairwise(sizes[:-1]):
        parts += [nn.Linear(i, o), nn.ReLU()]
    return nn.Sequential(*parts, nn.Dropout(0.0), nn.Linear(sizes[-2], sizes[-1]))


def linear(inputs: int, classes: int) -> Model:
    """Build multinomial logistic regression."""
    return mlp(inputs, classes)


def lenet5(side: int = 28, channels: int = 1, classes: int = 10) -> Model:
    """Build LeNet-5 with max-pooling and ReLU for images (channels, side, side), side 8, 28 or 32.

    Source: LeCun et al. (1998), figure 2; a 28 by 28 image is padded to 32 as there. For images of
    8 by 8 both convolutions are padded, and keep the size of their input.
    """
    require(side in (8, 28, 32), "side", side, "8, 28 or 32")
    channels, classes = whole("channels", channels, 1, MOST), whole("classes", classes, 1, MOST)
    pad1, pad2, features = (2, 2, 64) if side == 8 else ((32 - side) // 2, 0, 400)
    net = partial(_lenet5, pad1, pad2, features, channels, classes)
    return _model(net, partial(backward.lenet, pad1, pad2))


def _lenet5(pad1: int, pad2: int, features: int, channels: int, classes: int) -> nn.Module:
    # pooling before ReLU gives the same values and gradients from a quarter of the elements
    return nn.Sequential(
        nn.Conv2d(channels, 6, 5, padding=pad1), nn.MaxPool2d(2), nn.ReLU(),
        nn.Conv2d(6, 16, 5, padding=pad2), nn.MaxPool2d(2), nn.ReLU(), nn.Flatten(),
        nn.Linear(features, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(),
        nn.Dropout(0.0), nn.Linear(84, classes),
    )  # fmt: skip


def cnn_femnist(classes: int = 62) -> Model:
    """Build LEAF's network for handwritten characters, images (1, 28, 28): 6.6 million weights.

    Source: Caldas et al. (2018), the model of their code for FEMNIST.
    """
    return _model(partial(_femnist, whole("classes", classes, 1, MOST)))


def _femnist(classes: int) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 32, 5, padding=2), nn.MaxPool2d(2), nn.ReLU(),
        nn.Conv2d(32, 64, 5, padding=2), nn.MaxPool2d(2), nn.ReLU(), nn.Flatten(),
        nn.Linear(3136, 2048), nn.ReLU(), nn.Dropout(0.0), nn.Linear(2048, classes),
    )  # fmt: skip


def cnn_cifar(side: int = 24, classes: int = 10) -> Model:
    """Build the TensorFlow tutorial's network for images (3, side, side): a million weights.

    Side 24 is the tutorial's crop of CIFAR-10, 32 the whole image. As in TensorFlow, the last
    pooling squares reach one pixel beyond the edge and take the maximum of what lies inside. Local
    response normalisation is left out.

    Source: McMahan et al. (2017), section 3.
    """
    require(side in (24, 32), "side", side, "24 or 32")
    return _model(partial(_cifar, side, whole("classes", classes, 1, MOST)))


def _cifar(side: int, classes: int) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 64, 5, padding=2), nn.MaxPool2d(3, 2, ceil_mode=True), nn.ReLU(),
        nn.Conv2d(64, 64, 5, padding=2), nn.MaxPool2d(3, 2, ceil_mode=True), nn.ReLU(),
        nn.Flatten(), nn.Linear(4 * side**2, 384), nn.ReLU(), nn.Linear(384, 192), nn.ReLU(),
        nn.Dropout(0.0), nn.Linear(192, classes),
    )  # fmt: skip


class _CharLSTM(nn.Module):
    def __init__(self, vocabulary: int, width: int, hidden: int, depth: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.lstm = nn.LSTM(width, hidden, depth, batch_first=True)
        self.dropout = nn.Dropout(0.0)
        self.out = nn.Linear(hidden, vocabulary)

    def forward(self, x: Tensor) -> Tensor:
        last = self.lstm(self.embedding(x.long()))[0][:, -1]
        return self.out(self.dropout(last))


def char_lstm(
    vocabulary: int = 101,
    width: int = 8,
    hidden: int = 256,
    depth: int = 2,
    *,
    bfloat16: bool = False,
) -> Model:
    """Build a predictor of the next character from (B, b, T): embedding, LSTM layers, linear.

    Args:
        bfloat16: run the LSTM layers in bfloat16, which keeps 8 significant bits. The weights stay
            in their own dtype.

    Source: McMahan et al. (2017), section 3; the sizes are theirs.
    """
    sizes = {"vocabulary": vocabulary, "width": width, "hidden": hidden, "depth": depth}
    checked = [whole(name, size, 1, MOST) for name, size in sizes.items()]
    require(isinstance(bfloat16, bool), "bfloat16", bfloat16, "True, False")
    forward = partial(_next_character, torch.bfloat16 if bfloat16 else None)
    return _model(partial(_CharLSTM, *checked), forward=forward)


def _next_character(
    dtype: torch.dtype | None, p: list[Tensor], x: Tensor, drop: Drop | None = None
) -> Tensor:
    last = layers.lstm(layers.embedding(x, p[0]), *p[1:-2], dtype=dtype)[:, :, -1]
    return layers.linear(layers.dropout(last, drop), p[-2], p[-1])

"""Models as functions of one weight vector w (d,), or of B of them at once.

Averaging models is then ``p @ W``, FedProx is ``mu * (W - w)``, and a round is a matrix W (B, d).
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from math import prod

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from fedlab_edu.models import layers
from fedlab_edu.models.layers import Drop
from fedlab_edu.validate import require


def cross_entropy(outputs: Float[Tensor, "n C"], y: Tensor) -> Float[Tensor, " n"]:
    """Return the cross-entropy of each example, in nats."""
    y = y if y.is_floating_point() else y.long()
    return F.cross_entropy(outputs, y, reduction="none")


ONE_AT_A_TIME = threading.Lock()  # PyTorch's initial weights come from one global generator


@dataclass(frozen=True)
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
    """

    net: Callable[[], nn.Module]
    forward: Callable[..., Tensor]
    shapes: tuple[tuple[int, ...], ...]
    flipped: tuple[bool, ...]
    loss: Callable[[Tensor, Tensor], Tensor] = cross_entropy
    drops: bool = False

    @property
    def d(self) -> int:
        """Number of weights."""
        return sum(prod(s) for s in self.shapes)

    def init(self, seed: int = 0) -> Float[Tensor, " d"]:
        """Draw initial weights as PyTorch does, without touching its global generator."""
        with ONE_AT_A_TIME, torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return self.flatten(self.net())

    def views(self, W: Float[Tensor, "B d"]) -> list[Tensor]:
        """Return the weights (B, *shape) of B models as views of W: writing to them changes W."""
        parts = W.split([prod(s) for s in self.shapes], dim=1)
        return [part.view(len(W), *shape) for part, shape in zip(parts, self.shapes, strict=True)]

    def outputs(self, W: Float[Tensor, "B d"], x: Tensor) -> Float[Tensor, "B b C"]:
        """Evaluate B models, without dropout, on b examples each: x (B, b, ...) -> (B, b, C)."""
        return self.forward(self.views(W), x)

    def __call__(self, w: Float[Tensor, " d"], x: Tensor) -> Float[Tensor, "n C"]:
        """Evaluate one model on n examples: x (n, ...) -> (n, C)."""
        return self.outputs(w[None], x[None])[0]

    def losses(self, outputs: Tensor, y: Tensor) -> Float[Tensor, " n"]:
        """Return the loss of each of n examples from outputs (n, C) and targets (n, ...).

        Raises:
            ValueError: the model's loss has another shape, such as the mean over examples.
        """
        losses, n = self.loss(outputs, y), len(outputs)
        require(losses.shape == (n,), "shape of the loss", tuple(losses.shape), f"{(n,)}")
        return losses

    def flatten(self, net: nn.Module) -> Float[Tensor, " d"]:
        """Return the weights of a plain network of this kind as one vector."""
        weights = zip(_trained(net), self.flipped, strict=True)
        return torch.cat([(p.detach().T if flip else p.detach()).flatten() for p, flip in weights])

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


def _twice(net: Callable[[], nn.Module], forward: Callable[..., Tensor]) -> Model:
    """Make a model of a network that is written twice: plainly, and with a client axis."""
    with torch.device("meta"):  # shapes only: no draws, no memory
        plain = net()
    linear = {id(m.weight) for m in plain.modules() if isinstance(m, nn.Linear)}
    flipped = tuple(id(p) in linear for p in plain.parameters())
    weights = zip(plain.parameters(), flipped, strict=True)
    shapes = tuple(tuple(p.T.shape if flip else p.shape) for p, flip in weights)
    return Model(net, forward, shapes, flipped, drops=True)


def mlp(*sizes: int) -> Model:
    """Build linear layers with ReLU between, as in ``mlp(64, 32, 10)``; inputs are flattened."""
    require(len(sizes) >= 2 and min(sizes) >= 1, "sizes", sizes, "two or more sizes of at least 1")

    def net() -> nn.Module:
        parts: list[nn.Module] = [nn.Flatten()]
        for i, o in pairwise(sizes[:-1]):
            parts += [nn.Linear(i, o), nn.ReLU()]
        return nn.Sequential(*parts, nn.Dropout(0.0), nn.Linear(sizes[-2], sizes[-1]))

    def forward(p: list[Tensor], x: Tensor, drop: Drop | None = None) -> Tensor:
        x = x.flatten(2)
        for weight, bias in zip(p[:-2:2], p[1:-2:2], strict=True):
            x = layers.linear(x, weight, bias).relu()
        return layers.linear(layers.dropout(x, drop), p[-2], p[-1])

    return _twice(net, forward)


def linear(inputs: int, classes: int) -> Model:
    """Build multinomial logistic regression."""
    return mlp(inputs, classes)


def lenet5(side: int = 28, channels: int = 1, classes: int = 10) -> Model:
    """Build LeNet-5 with max-pooling and ReLU for images (channels, side, side), side 28 or 32.

    Source: LeCun et al. (1998), figure 2; a 28 by 28 image is padded to 32 as there.
    """
    require(side in (28, 32), "side", side, "28 or 32")
    padding = (32 - side) // 2

    def net() -> nn.Module:
        return nn.Sequential(
            nn.Conv2d(channels, 6, 5, padding=padding), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
            nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(),
            nn.Dropout(0.0), nn.Linear(84, classes),
        )  # fmt: skip

    def forward(p: list[Tensor], x: Tensor, drop: Drop | None = None) -> Tensor:
        # pooling before ReLU gives the same values and gradients from a quarter of the elements
        x = layers.max_pool2d(layers.conv2d(x, p[0], p[1], padding), 2).relu()
        x = layers.max_pool2d(layers.conv2d(x, p[2], p[3]), 2).relu().flatten(2)
        x = layers.linear(x, p[4], p[5]).relu()
        x = layers.linear(x, p[6], p[7]).relu()
        return layers.linear(layers.dropout(x, drop), p[8], p[9])

    return _twice(net, forward)


def cnn_femnist(classes: int = 62) -> Model:
    """Build LEAF's network for handwritten characters, images (1, 28, 28): 6.6 million weights.

    Source: Caldas et al. (2018), the model of their code for FEMNIST.
    """

    def net() -> nn.Module:
        return nn.Sequential(
            nn.Conv2d(1, 32, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(32, 64, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
            nn.Linear(3136, 2048), nn.ReLU(), nn.Dropout(0.0), nn.Linear(2048, classes),
        )  # fmt: skip

    def forward(p: list[Tensor], x: Tensor, drop: Drop | None = None) -> Tensor:
        x = layers.max_pool2d(layers.conv2d(x, p[0], p[1], 2), 2).relu()
        x = layers.max_pool2d(layers.conv2d(x, p[2], p[3], 2), 2).relu().flatten(2)
        x = layers.linear(x, p[4], p[5]).relu()
        return layers.linear(layers.dropout(x, drop), p[6], p[7])

    return _twice(net, forward)


def cnn_cifar(side: int = 24, classes: int = 10) -> Model:
    """Build the TensorFlow tutorial's network for images (3, side, side): a million weights.

    Side 24 is the tutorial's crop of CIFAR-10, 32 the whole image. As in TensorFlow, the last
    pooling squares reach one pixel beyond the edge and take the maximum of what lies inside. Local
    response normalisation is left out.

    Source: McMahan et al. (2017), section 3.
    """
    require(side in (24, 32), "side", side, "24 or 32")

    def net() -> nn.Module:
        return nn.Sequential(
            nn.Conv2d(3, 64, 5, padding=2), nn.ReLU(), nn.MaxPool2d(3, 2, ceil_mode=True),
            nn.Conv2d(64, 64, 5, padding=2), nn.ReLU(), nn.MaxPool2d(3, 2, ceil_mode=True),
            nn.Flatten(), nn.Linear(4 * side**2, 384), nn.ReLU(), nn.Linear(384, 192), nn.ReLU(),
            nn.Dropout(0.0), nn.Linear(192, classes),
        )  # fmt: skip

    def forward(p: list[Tensor], x: Tensor, drop: Drop | None = None) -> Tensor:
        x = layers.max_pool2d(layers.conv2d(x, p[0], p[1], 2), 3, 2, ceil=True).relu()
        x = layers.max_pool2d(layers.conv2d(x, p[2], p[3], 2), 3, 2, ceil=True).relu().flatten(2)
        x = layers.linear(x, p[4], p[5]).relu()
        x = layers.linear(x, p[6], p[7]).relu()
        return layers.linear(layers.dropout(x, drop), p[8], p[9])

    return _twice(net, forward)


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


def char_lstm(vocabulary: int = 101, width: int = 8, hidden: int = 256, depth: int = 2) -> Model:
    """Build a predictor of the next character from (B, b, T): embedding, LSTM layers, linear.

    Source: McMahan et al. (2017), section 3; the sizes are theirs.
    """

    def forward(p: list[Tensor], x: Tensor, drop: Drop | None = None) -> Tensor:
        last = layers.lstm(layers.embedding(x, p[0]), *p[1:-2])[:, :, -1]
        return layers.linear(layers.dropout(last, drop), p[-2], p[-1])

    return _twice(lambda: _CharLSTM(vocabulary, width, hidden, depth), forward)

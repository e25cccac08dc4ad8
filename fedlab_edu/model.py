"""A model is a vector: networks as functions of one weight vector w (d,), or of B of them at once.

Averaging models is then ``p @ W``, FedProx is ``mu * (W - w)``, and a round is a matrix W (B, d).
"""

import threading
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from itertools import pairwise
from math import prod

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn
from torch.func import functional_call, vmap

from fedlab_edu import layers
from fedlab_edu.check import require


def cross_entropy(outputs: Float[Tensor, "n C"], y: Tensor) -> Float[Tensor, " n"]:
    """Minus the log-probability of the right class, for each example."""
    return F.cross_entropy(outputs, y, reduction="none")


@dataclass(frozen=True)
class Model:
    """A network seen as a function of its weights.

    Fields:
        net: makes the plain PyTorch network, freshly initialised.
        forward: the same network with a leading client axis: a list of weights (B, *shape) and
            inputs (B, b, ...) give outputs (B, b, C).
        shapes: the weights' shapes, in the order in which they lie in w.
        flipped: which weights lie transposed in w (those of linear layers, see `layers.linear`).
        loss: outputs (n, C) and targets (n,) give the loss of each example (n,).
    """

    net: Callable[[], nn.Module]
    forward: Callable[[list[Tensor], Tensor], Tensor]
    shapes: tuple[tuple[int, ...], ...]
    flipped: tuple[bool, ...]
    loss: Callable[[Tensor, Tensor], Tensor] = cross_entropy

    @property
    def d(self) -> int:
        """The number of weights."""
        return sum(prod(s) for s in self.shapes)

    def init(self, seed: int = 0) -> Float[Tensor, " d"]:
        """A fresh w, drawn as PyTorch draws a fresh network; the global generator is left alone."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return self.flatten(self.net())

    def views(self, W: Float[Tensor, "B d"]) -> list[Tensor]:
        """The weights (B, *shape) of B models, as views of W: written to, they change W."""
        parts = W.split([prod(s) for s in self.shapes], dim=1)
        return [part.view(len(W), *shape) for part, shape in zip(parts, self.shapes, strict=True)]

    def outputs(self, W: Float[Tensor, "B d"], x: Tensor) -> Float[Tensor, "B b C"]:
        """What B models say about b examples each: x (B, b, ...) -> (B, b, C)."""
        return self.forward(self.views(W), x)

    def __call__(self, w: Float[Tensor, " d"], x: Tensor) -> Float[Tensor, "n C"]:
        """What one model says about n examples: x (n, ...) -> (n, C)."""
        return self.outputs(w[None], x[None])[0]

    def flatten(self, net: nn.Module) -> Float[Tensor, " d"]:
        """The weights of a plain network of this kind, as one vector."""
        weights = zip(_trained(net), self.flipped, strict=True)
        return torch.cat([(p.detach().T if flip else p.detach()).flatten() for p, flip in weights])

    def unflatten(self, w: Float[Tensor, " d"]) -> nn.Module:
        """A plain PyTorch network with the weights w, for whatever comes after training."""
        net = self.net().to(w)
        with torch.no_grad():
            weights = zip(_trained(net), self.views(w[None]), self.flipped, strict=True)
            for p, view, flip in weights:
                p.copy_(view[0].T if flip else view[0])
        return net


def _trained(net: nn.Module) -> list[nn.Parameter]:
    """The parameters that make up w; frozen ones stay in the network."""
    return [p for p in net.parameters() if p.requires_grad]


def _twice(
    net: Callable[[], nn.Module], forward: Callable[[list[Tensor], Tensor], Tensor]
) -> Model:
    """A model of a network that is written twice: plainly, and with a client axis."""
    with torch.device("meta"):  # shapes alone: nothing is drawn, nothing allocated
        plain = net()
    linear = {id(m.weight) for m in plain.modules() if isinstance(m, nn.Linear)}
    flipped = tuple(id(p) in linear for p in plain.parameters())
    weights = zip(plain.parameters(), flipped, strict=True)
    shapes = tuple(tuple(p.T.shape if flip else p.shape) for p, flip in weights)
    return Model(net, forward, shapes, flipped)


def mlp(*sizes: int) -> Model:
    """Linear layers with ReLU between: ``mlp(64, 32, 10)``; ``mlp(64, 10)`` is logistic regression.

    Inputs (B, b, ...) are flattened to vectors of the first size.
    """
    require(len(sizes) >= 2 and min(sizes) >= 1, "sizes", sizes, "two or more sizes of at least 1")

    def net() -> nn.Module:
        parts: list[nn.Module] = [nn.Flatten(), nn.Linear(sizes[0], sizes[1])]
        for i, o in pairwise(sizes[1:]):
            parts += [nn.ReLU(), nn.Linear(i, o)]
        return nn.Sequential(*parts)

    def forward(p: list[Tensor], x: Tensor) -> Tensor:
        x = layers.linear(x.flatten(2), p[0], p[1])
        for weight, bias in zip(p[2::2], p[3::2], strict=True):
            x = layers.linear(x.relu(), weight, bias)
        return x

    return _twice(net, forward)


def linear(inputs: int, classes: int) -> Model:
    """Multinomial logistic regression."""
    return mlp(inputs, classes)


def lenet5(side: int = 28, channels: int = 1, classes: int = 10) -> Model:
    """LeNet-5 with max-pooling and ReLU, for images (channels, side, side), side 28 or 32.

    Source: LeCun et al. (1998), figure 2; a 28 by 28 image is padded to 32 as there.
    """
    require(side in (28, 32), "side", side, "28 or 32")
    padding = (32 - side) // 2

    def net() -> nn.Module:
        return nn.Sequential(
            nn.Conv2d(channels, 6, 5, padding=padding), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
            nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, classes),
        )  # fmt: skip

    def forward(p: list[Tensor], x: Tensor) -> Tensor:
        # pooled before ReLU: the same values and gradients from a quarter of the elements
        x = layers.max_pool2d(layers.conv2d(x, p[0], p[1], padding), 2).relu()
        x = layers.max_pool2d(layers.conv2d(x, p[2], p[3]), 2).relu().flatten(2)
        x = layers.linear(x, p[4], p[5]).relu()
        return layers.linear(layers.linear(x, p[6], p[7]).relu(), p[8], p[9])

    return _twice(net, forward)


class _CharLSTM(nn.Module):
    def __init__(self, vocabulary: int, width: int, hidden: int, depth: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.lstm = nn.LSTM(width, hidden, depth, batch_first=True)
        self.out = nn.Linear(hidden, vocabulary)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.lstm(self.embedding(x.long()))[0][:, -1])


def char_lstm(vocabulary: int = 101, width: int = 8, hidden: int = 256, depth: int = 2) -> Model:
    """Reads characters (B, b, T), says which comes next: embedding, LSTM layers, linear.

    Source: McMahan et al. (2017), section 3; the sizes are theirs.
    """

    def forward(p: list[Tensor], x: Tensor) -> Tensor:
        hidden_states = layers.lstm(layers.embedding(x, p[0]), *p[1:-2])
        return layers.linear(hidden_states[:, :, -1], p[-2], p[-1])

    return _twice(lambda: _CharLSTM(vocabulary, width, hidden, depth), forward)


def from_module(net: nn.Module, loss: Callable[[Tensor, Tensor], Tensor] = cross_entropy) -> Model:
    """Any network of yours: its weights are the start, and B copies of it run through ``vmap``.

    Frozen parameters (``requires_grad=False``) are no part of w, and the same for all clients.

    Raises:
        ValueError: the network has batch normalisation, whose running statistics are no weights
            and mix examples; active dropout, whose draws would not belong to a client; or a
            recurrent layer, which ``vmap`` cannot batch.
    """
    for name, part in net.named_modules():
        bad = isinstance(part, nn.modules.batchnorm._BatchNorm)
        bad = bad or getattr(part, "track_running_stats", False)
        require(not bad, f"net.{name}", type(part).__name__, "GroupNorm or no normalisation")
        loops = isinstance(part, nn.RNNBase)
        allowed = "layers that vmap can batch; for an LSTM see char_lstm"
        require(not loops, f"net.{name}", type(part).__name__, allowed)
        drops = isinstance(part, nn.modules.dropout._DropoutNd) and part.p > 0
        require(not drops, f"net.{name}", type(part).__name__, "dropout with p = 0")
    net = deepcopy(net)  # what the caller does with the original from here on changes nothing
    trained = {name: p for name, p in net.named_parameters() if p.requires_grad}
    shapes = tuple(tuple(p.shape) for p in trained.values())

    skeleton = threading.local()  # a call lends the network other weights: one for each thread

    def one(p: tuple[Tensor, ...], x: Tensor) -> Tensor:
        if not hasattr(skeleton, "net"):
            skeleton.net = deepcopy(net)
        skeleton.net.to(p[0].device, p[0].dtype)  # for its buffers, if it has any
        return functional_call(skeleton.net, dict(zip(trained, p, strict=True)), (x,))

    def forward(p: list[Tensor], x: Tensor) -> Tensor:
        return vmap(one)(tuple(p), x)

    return Model(lambda: deepcopy(net), forward, shapes, (False,) * len(shapes), loss)

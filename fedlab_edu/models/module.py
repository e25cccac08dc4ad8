"""PyTorch networks as models: B copies run through ``vmap``."""

import threading
from collections.abc import Callable
from copy import deepcopy

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from fedlab_edu.models.layers import Drop, dropout
from fedlab_edu.models.model import Model, cross_entropy
from fedlab_edu.validate import require


def from_module(net: nn.Module, loss: Callable[[Tensor, Tensor], Tensor] = cross_entropy) -> Model:
    """Turn any network into a model, whose initial weights are the network's.

    Frozen parameters (``requires_grad=False``) are not part of w, and the same for all clients.
    Layers ``nn.Dropout(0.0)`` drop with the client's rate in training; the k-th that an input
    passes is place k of `layers.dropout`, counted from 0. Indices of an ``nn.Embedding`` are not
    checked: one beyond its table reads another client's.

    Raises:
        ValueError: the network has batch normalisation, whose running statistics are not weights
            and mix examples; dropout with its own rate, whose draws belong to no client; or a
            recurrent layer, which ``vmap`` cannot batch.
    """
    _refuse(net)
    net = deepcopy(net)  # later changes to the original do not matter
    trained = {name: p for name, p in net.named_parameters() if p.requires_grad}
    shapes = tuple(tuple(p.shape) for p in trained.values())
    drops = any(isinstance(part, nn.Dropout) for part in net.modules())

    local = threading.local()  # a call replaces the network's weights: one copy a thread

    def one(p: tuple[Tensor, ...], x: Tensor, drop: Drop | None) -> Tensor:
        kind = p[0].device, p[0].dtype
        skeletons = vars(local).setdefault("skeletons", {})
        if kind not in skeletons:  # one copy a kind: converting to float32 and back loses digits
            skeletons[kind] = _Skeleton(net, *kind)
        return skeletons[kind](dict(zip(trained, p, strict=True)), x, drop)

    def forward(p: list[Tensor], x: Tensor, drop: Drop | None = None) -> Tensor:
        return vmap(one, (0, 0, None if drop is None else 0))(tuple(p), x, drop)

    return Model(lambda: deepcopy(net), forward, shapes, (False,) * len(shapes), loss, drops)


def _refuse(net: nn.Module) -> None:
    for name, part in net.named_modules(prefix="net"):
        bad = isinstance(part, nn.modules.batchnorm._BatchNorm)
        bad = bad or getattr(part, "track_running_stats", False)
        require(not bad, name, type(part).__name__, "GroupNorm or no normalisation")
        loops = isinstance(part, nn.RNNBase)
        allowed = "layers that vmap can batch; for an LSTM see char_lstm"
        require(not loops, name, type(part).__name__, allowed)
        drops = isinstance(part, nn.modules.dropout._DropoutNd) and part.p > 0
        kind = "dropout" if isinstance(part, nn.Dropout) else "nn.Dropout"
        allowed = f"{kind} with p = 0; the rate is the client's c.dropout"
        require(not drops, name, type(part).__name__, allowed)


class _Skeleton:
    """A copy of a network that is called with given weights and dropout."""

    def __init__(self, net: nn.Module, device: torch.device, dtype: torch.dtype) -> None:
        self.net = deepcopy(net).to(device, dtype)  # with buffers and frozen weights
        self.drop: Drop | None = None
        self.place = 0
        for part in self.net.modules():
            if isinstance(part, nn.Dropout):
                part.register_forward_hook(self._dropped)

    def __call__(self, p: dict[str, Tensor], x: Tensor, drop: Drop | None) -> Tensor:
        self.drop, self.place = drop, 0
        return functional_call(self.net, p, (x,))

    def _dropped(self, part: nn.Module, x: tuple[Tensor], same: Tensor) -> Tensor:
        self.place += 1
        return dropout(same, self.drop, self.place - 1)

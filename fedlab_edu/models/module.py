"""PyTorch networks as models."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import partial

import torch
from torch import Tensor, nn
from torch.jit import ScriptModule
from torch.nn.modules.lazy import LazyModuleMixin
from torch.nn.parallel import DistributedDataParallel

from fedlab_edu.models.copies import Copies
from fedlab_edu.models.model import Model, cross_entropy
from fedlab_edu.validate import require, require_type

_WRAPPED = (nn.DataParallel, DistributedDataParallel)


def from_module(net: nn.Module, loss: Callable[[Tensor, Tensor], Tensor] = cross_entropy) -> Model:
    """Turn any network into a model, whose initial weights are the network's.

    B copies run through ``vmap``. A network that ``vmap`` cannot batch, such as one with recurrent
    layers, runs one client at a time, as fast as a plain loop. Frozen parameters
    (``requires_grad=False``) are not part of w, and the same for all clients. Layers
    ``nn.Dropout(0.0)`` drop with the client's rate in training; the k-th that an input passes is
    place k of `layers.dropout`, counted from 0.

    Args:
        loss: a function of outputs (n, C) and targets (n, ...) that returns n numbers, one for each
            example, such as ``lambda outputs, y: (outputs[:, 0] - y) ** 2``.

    Raises:
        ValueError: the network has no trained parameter, complex numbers, or a layer that mixes
            examples, keeps a state or draws random numbers: batch normalisation, dropout with its
            own rate. What a layer's type does not tell is found at the first forward pass.
    """
    require_type("net", net, nn.Module, "nn.Linear(64, 10)")
    require(callable(loss), "loss", loss, "a function of outputs and targets, as cross_entropy")
    for name, part in net.named_modules(prefix="net"):
        for ok, allowed in _rules(part):
            require(ok, name, type(part).__name__, allowed)
        for attribute, t in (*vars(part).items(), *part.named_buffers(recurse=False)):
            kept = not isinstance(t, Tensor) or t.is_leaf  # others cannot be copied
            allowed = "a parameter or buffer; weight_norm is in nn.utils.parametrizations"
            require(kept, f"{name}.{attribute}", "the result of a computation", allowed)
    _check_memory(net)
    try:
        net = deepcopy(net)  # later changes to the original do not matter
    except Exception as error:  # an attribute may be of any class
        require(False, "net", type(net).__name__, f"what copy.deepcopy can copy ({error})")
    shapes = tuple(tuple(p.shape) for p in net.parameters() if p.requires_grad)
    require(shapes, "trained parameters of net", 0, "at least one with requires_grad=True")
    drops = any(isinstance(part, nn.Dropout) for part in net.modules())
    flipped = (False,) * len(shapes)
    make = partial(deepcopy, net)
    return Model(make, Copies(make), shapes, flipped, loss, drops)


def _check_memory(net: nn.Module) -> None:
    """Refuse trained weights whose memory is another tensor's, too: a copy would separate them."""
    every = [(f"{name}.{attribute}", t) for name, part in net.named_modules(prefix="net")
             for attribute, t in (*vars(part).items(), *part.named_parameters(recurse=False),
                                  *part.named_buffers(recurse=False))
             if isinstance(t, Tensor) and t.layout == torch.strided and t.numel()]  # fmt: skip
    trained = {t.data_ptr(): (n, t) for n, t in every if t.requires_grad}
    for name, t in every:
        other, owner = trained.get(t.data_ptr(), (name, t))
        allowed = "one parameter in both places, as b.weight = a.weight, or a copy: weight.clone()"
        require(owner is t, f"memory of {name}", f"shared with {other}", allowed)


def _rules(part: nn.Module) -> Iterator[tuple[bool, str]]:
    """Yield whether a layer keeps each rule, and what the rule allows."""
    yield not isinstance(part, _WRAPPED), "the network inside, as net.module"
    yield not isinstance(part, ScriptModule), "the network before torch.jit"
    normalises = isinstance(part, nn.modules.batchnorm._BatchNorm)
    normalises = normalises or getattr(part, "track_running_stats", False)
    yield not normalises, "GroupNorm or no normalisation"
    drops = isinstance(part, nn.modules.dropout._DropoutNd) and part.p > 0
    kind = "dropout" if isinstance(part, nn.Dropout) else "nn.Dropout"
    yield not drops, f"{kind} with p = 0; the rate is the client's c.dropout"
    drops = isinstance(part, nn.MultiheadAttention | nn.RNNBase) and part.dropout > 0
    yield not drops, "dropout=0.0; nn.Dropout(0.0) drops with the client's c.dropout"
    yield not (isinstance(part, nn.RReLU) and part.training), "LeakyReLU"
    yield not isinstance(part, nn.FractionalMaxPool2d | nn.FractionalMaxPool3d), "MaxPool"
    if isinstance(part, nn.Embedding | nn.EmbeddingBag):
        yield part.max_norm is None, "max_norm=None, as only training changes weights"
        yield not part.scale_grad_by_freq, "scale_grad_by_freq=False, as it mixes examples"
        yield not (part.sparse and isinstance(part, nn.EmbeddingBag)), "sparse=False"
    lazy = isinstance(part, LazyModuleMixin) and part.has_uninitialized_params()
    yield not lazy, "a layer with sizes; call the network on an example first"
    own = [*part.parameters(recurse=False), *part.buffers(recurse=False)]
    yield lazy or not any(t.is_complex() for t in own), "real parameters and buffers"
    yield lazy or not any(t.is_meta for t in own), "numbers, on another device than 'meta'"

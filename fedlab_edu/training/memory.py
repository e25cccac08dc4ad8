"""Memory use of training and evaluation, and chunks that fit in it."""

from collections.abc import Iterator
from weakref import WeakKeyDictionary

import torch
from jaxtyping import Float
from torch import Tensor

from fedlab_edu.data.clients import Clients
from fedlab_edu.models.fit import check_fit
from fedlab_edu.models.model import Model

CHUNK_BYTES = 64 << 20  # models of the clients that train at once, on the CPU
SCORE_BYTES = 256 << 20  # memory of an evaluation beside its data and models


def activations(model: Model, data: Clients, w: Float[Tensor, "*B d"]) -> int:
    """Return the bytes that training keeps of one example from ``data``, from inputs to loss.

    Measured once for each kind of examples and tensor of targets, after a check that they fit.
    """
    x, y = data.x, data.y
    kind = (x.shape[1:], x.dtype, y.shape[1:], y.dtype, y.data_ptr(), w.dtype, w.device)
    found = _MEASURED.setdefault(model, {})
    if kind not in found:
        some = torch.cat(data.rows)[:2].to(x.device)
        if not len(some):
            return 1
        check_fit(model, w.view(-1, model.d)[0], data.inputs(some), y[some], y)
        found[kind] = _measure(model, data.inputs(some[:1])[None], y[some[:1]], w)
    return found[kind]


_MEASURED: WeakKeyDictionary[Model, dict[object, int]] = WeakKeyDictionary()


@torch.enable_grad()
def _measure(model: Model, x: Tensor, y: Tensor, w: Tensor) -> int:
    """Run one example forward, and count the bytes that autograd saves."""
    W = w.detach().view(-1, model.d)[:1].clone()
    leaves = [p.requires_grad_() for p in model.views(W)]
    kept = {W.untyped_storage().data_ptr(): 0}
    alive = []  # a freed tensor's address could be used again

    def pack(t: Tensor) -> Tensor:
        kept.setdefault(t.untyped_storage().data_ptr(), t.untyped_storage().nbytes())
        alive.append(t.detach())
        return t.detach()  # t itself would form a cycle with the graph

    try:
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
            model.losses(model.forward(leaves, x).flatten(0, 1), y)
    except RuntimeError:  # torch.func in a forward pass takes no hooks: guess
        kept[0] = W.nbytes + x.nbytes
    return max(1, sum(kept.values()))


def free(device: torch.device) -> int:
    """Return the free bytes of a GPU, including what PyTorch has reserved but does not use."""
    unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return torch.cuda.mem_get_info(device)[0] + unused


def chunks(number: int, bytes_each: int, device: torch.device) -> Iterator[list[int]]:
    """Split range(number) into chunks that fit in memory, or chunks of one item."""
    room = CHUNK_BYTES if device.type == "cpu" else free(device) // 8
    size = max(1, room // bytes_each)
    for first in range(0, number, size):
        yield list(range(first, min(first + size, number)))

"""How much memory training and evaluation take, so that their pieces can be cut to fit."""

from collections.abc import Iterator
from functools import lru_cache

import torch
from jaxtyping import Float
from torch import Tensor

from fedlab_edu.model import Model

PIECE_BYTES = 64 << 20  # the models of those clients of a round that train at once, on the CPU
SCORE_BYTES = 256 << 20  # what an evaluation needs beside its data and the models that it is given


def activations(model: Model, x: Tensor, w: Float[Tensor, "*B d"]) -> int:
    """Bytes that training keeps of each example, from its inputs to the loss.

    Args:
        x: (n, ...), inputs of which only the shape and kind count.
    """
    return _activations(model, tuple(x.shape[1:]), x.dtype, w.dtype, w.device)


@lru_cache(maxsize=64)
def _activations(
    model: Model,
    shape: tuple[int, ...],
    inputs: torch.dtype,
    dtype: torch.dtype,
    device: torch.device,
) -> int:
    """Measured: one example goes forward, and autograd hands over what it keeps."""
    with torch.enable_grad():
        W = torch.zeros(1, model.d, dtype=dtype, device=device)
        leaves = [p.requires_grad_() for p in model.views(W)]
        kept = {W.untyped_storage().data_ptr(): 0}
        alive = []  # what is freed might give its address to another

        def pack(t: Tensor) -> Tensor:
            kept.setdefault(t.untyped_storage().data_ptr(), t.untyped_storage().nbytes())
            alive.append(t)
            return t

        x = torch.zeros(1, 1, *shape, dtype=inputs, device=device)
        y = torch.zeros(1, dtype=torch.long, device=device)
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
            model.loss(model.forward(leaves, x).flatten(0, 1), y)
    return max(1, sum(kept.values()))


def pieces(number: int, bytes_each: int, device: torch.device) -> Iterator[list[int]]:
    """The numbers from 0, in pieces of as many as the memory for one piece holds, at least one."""
    room = PIECE_BYTES
    if device.type == "cuda":
        room = torch.cuda.mem_get_info(device)[0] // 8
    size = max(1, room // bytes_each)
    for first in range(0, number, size):
        yield list(range(first, min(first + size, number)))

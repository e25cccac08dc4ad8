"""Embeddings inside ``vmap``, whose own rule reads a neighbour's table and drops `padding_idx`."""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode

from fedlab_edu.models import layers
from fedlab_edu.validate import require


class Lookups(TorchFunctionMode):
    """Within this context ``F.embedding`` checks its ids, on the CPU, and can be batched.

    Raises:
        ValueError: an id outside the table; an option that depends on the other examples or
            changes the table.
    """

    def __init__(self, batched: bool) -> None:
        super().__init__()
        self.batched, self.used = batched, False

    def __torch_function__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        if func is not F.embedding:
            return func(*args, **(kwargs or {}))
        self.used = True
        return self._look_up(*args, **(kwargs or {}))

    def _look_up(
        self, input: Tensor, weight: Tensor, padding_idx: int | None = None,
        max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Tensor:  # fmt: skip
        require(max_norm is None, "max_norm of F.embedding", max_norm, "None")
        require(not scale_grad_by_freq, "scale_grad_by_freq of F.embedding", True, "False")
        if self.batched:
            return _Lookup.apply(input, weight, padding_idx)  # type: ignore[no-untyped-call]
        layers.check_ids(input, len(weight))
        return F.embedding(input.long(), weight, padding_idx)


class _Lookup(torch.autograd.Function):
    """``F.embedding``, which ``vmap`` replaces by `layers.embedding`."""

    @staticmethod
    def forward(x: Tensor, weight: Tensor, padding: int | None) -> Tensor:
        return F.embedding(x, weight, padding)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """Save nothing: autograd sees the operations of `vmap`."""

    @staticmethod
    def vmap(
        info: Any, dims: tuple[int | None, ...], x: Tensor, weight: Tensor, padding: int | None
    ) -> tuple[Tensor, int | None]:
        if dims[1] is None:  # frozen: one table for all
            layers.check_ids(x, len(weight))
            return F.embedding(x.long(), weight, padding), dims[0]
        B = info.batch_size
        x = x.expand(B, *x.shape) if dims[0] is None else x.movedim(dims[0], 0)
        return layers.embedding(x, weight.movedim(dims[1], 0), padding), 0

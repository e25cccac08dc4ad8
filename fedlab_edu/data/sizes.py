"""Sizes of a federation: what a server may know of its clients' data."""

from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from fedlab_edu.validate import require_type, whole


@dataclass(frozen=True, eq=False)
class Sizes:
    """The sizes and the kind of N clients' data, without an example.

    Fields:
        train, val: numbers of training and of validation examples.
        classes: how many; 0 for regression.
        dtype: of inputs that are floats, and of the model; None for inputs that are whole numbers.
    """

    train: Int[Tensor, " N"]
    val: Int[Tensor, " N"]
    classes: int
    dtype: torch.dtype | None = torch.float32

    def __len__(self) -> int:
        return len(self.train)

    def sample(
        self, clients: int, gen: torch.Generator, replacement: bool = False
    ) -> Int[Tensor, " B"]:
        """Draw B clients for one round, uniformly; with replacement one may be drawn twice."""
        require_type("gen", gen, torch.Generator, "torch.Generator().manual_seed(0)")
        if replacement:
            return torch.randint(len(self), (whole("clients", clients, 1),), generator=gen)
        allowed = f"a whole number from 1 to {len(self)}, all there are"
        clients = whole("clients", clients, 1, len(self), allowed)
        return torch.randperm(len(self), generator=gen)[:clients].clone()

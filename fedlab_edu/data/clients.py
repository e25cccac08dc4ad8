"""Clients and their examples: `Clients`, and a `Federation` with three data sets each."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from jaxtyping import Int
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from fedlab_edu.seeds import check_generator
from fedlab_edu.tensors import as_indices, usable_device
from fedlab_edu.validate import require, require_all, updated, whole


@dataclass(frozen=True, eq=False, repr=False)
class Clients:
    """The examples of N clients: client i owns the rows ``rows[i]`` of x and y.

    Fields:
        x: (M, ...), the inputs of all clients; y: (M,), the targets. Images of uint8 (M, C, H, W)
            take a byte a pixel; `inputs` returns floats.
        rows: N tensors of row numbers (n_i,), on the CPU; sizes may differ and may be 0.
    """

    x: Tensor
    y: Tensor
    rows: tuple[Tensor, ...]

    def __post_init__(self) -> None:
        for name, value in (("x", self.x), ("y", self.y)):
            ok = isinstance(value, Tensor) and value.dim() > 0
            require(ok, name, value, "a tensor of all clients' examples")
        for own in self.rows:
            ok = isinstance(own, Tensor) and own.dtype == torch.int64 and own.dim() == 1
            require(ok, "rows", own, "an int64 tensor (n_i,) for each client")

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        shape, kind = tuple(self.x.shape[1:]), str(self.x.dtype).removeprefix("torch.")
        return f"Clients({len(self)} clients, {self.n.sum()} examples of shape {shape}, {kind})"

    @cached_property
    def n(self) -> Int[Tensor, " N"]:
        """Number of examples of each client."""
        return torch.tensor([r.shape[0] for r in self.rows])  # len is twice as slow

    def __getitem__(self, clients: Sequence[int] | Tensor) -> "Clients":
        """Select clients by number, in the order given; examples are shared, not copied."""
        chosen = as_indices("clients", clients, len(self))
        require(chosen.dim() == 1, "shape of clients", tuple(chosen.shape), "(B,)")
        rows = tuple(self.rows[i] for i in chosen.tolist())
        return updated(self, rows=rows, n=self.n[chosen])

    def inputs(self, rows: Int[Tensor, "*b"]) -> Tensor:
        """Return the inputs (*b, ...) in these rows; images of uint8 as floats in [0, 1]."""
        x = self.x.index_select(0, rows.flatten()).view(*rows.shape, *self.x.shape[1:])
        pixels = self.x.dtype == torch.uint8 and self.x.dim() == 4
        return x.to(torch.get_default_dtype()).div_(255) if pixels else x

    def examples(self, client: int) -> tuple[Tensor, Tensor]:
        """Return one client's inputs (n_i, ...) and targets (n_i,)."""
        rows = self.rows[whole("client", client, 0, len(self) - 1)].to(self.x.device)
        return self.inputs(rows), self.y[rows]

    def padded(self) -> tuple[Tensor, Tensor, Int[Tensor, " N"]]:
        """Return x (N, m, ...), y (N, m) and n (N,), padded with each client's first example."""
        ok = len(self) and self.n.min() > 0
        require(ok, "clients", self.n, "at least one example for each client, at least one")
        real = pad_sequence(list(self.rows), batch_first=True, padding_value=-1)
        rows = torch.where(real >= 0, real, real[:, :1]).to(self.x.device)
        return self.inputs(rows), self.y[rows], self.n

    def to(self, device: str | torch.device, dtype: torch.dtype | None = None) -> "Clients":
        """Move the examples to a device; dtype applies to inputs and targets that are floats."""
        ok = dtype is None or (isinstance(dtype, torch.dtype) and dtype.is_floating_point)
        require(ok, "dtype", dtype, "a dtype of floats, such as torch.float64")
        x, y = (part.to(usable_device(device)) for part in (self.x, self.y))
        x, y = (t.to(dtype or t.dtype) if t.is_floating_point() else t for t in (x, y))
        for name, t in (("x", x), ("y", y)) if dtype else ():
            require(t.isfinite().all(), f"{name} in {dtype}", "not finite", "numbers that it has")
        return replace(self, x=x, y=y)


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
        check_generator(gen)
        if replacement:
            return torch.randint(len(self), (whole("clients", clients, 1),), generator=gen)
        allowed = f"a whole number from 1 to {len(self)}, all there are"
        clients = whole("clients", clients, 1, len(self), allowed)
        return torch.randperm(len(self), generator=gen)[:clients].clone()


@dataclass(frozen=True, eq=False, repr=False)
class Federation:
    """N clients, each with data for training (T_i), validation (V_i) and testing (E_i).

    Fields:
        names: of the clients.
        train: at least one example for each client.
        classes: the number of classes; 0 if the targets are floats (regression).
        labels: the names of the classes, or () if they have none.

    Source: Khodak et al. (2021), section 2.
    """

    train: Clients
    val: Clients
    test: Clients
    names: tuple[str, ...]
    classes: int
    labels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "classes", whole("classes", self.classes, 0))
        ok, allowed = len(self.labels) in (0, self.classes), f"{self.classes}, as many as classes"
        require(ok, "labels", len(self.labels), allowed)
        sizes = {len(self.train), len(self.val), len(self.test), len(self.names)}
        require(sizes != {0}, "clients", 0, "at least one")
        require(len(sizes) == 1, "clients in train, val, test, names", sorted(sizes), "one number")
        for name, part in (("train", self.train), ("val", self.val), ("test", self.test)):
            _check_examples(name, part)
            _check_targets(f"targets of {name}", part.y, self.classes)
        for i, name in enumerate(self.names):
            allowed = "at least 1 after the split; leave the client out, or give it more"
            require(self.train.n[i], f"train examples of client {i} ({name})", 0, allowed)

    def __len__(self) -> int:
        return len(self.train)

    def __getitem__(self, clients: Sequence[int] | Tensor) -> "Federation":
        """Select clients by number, in the order given; examples are shared, not copied."""
        clients = as_indices("clients", clients, len(self))
        train, val, test = (part[clients] for part in (self.train, self.val, self.test))
        names = tuple(self.names[i] for i in clients.tolist())
        return replace(self, train=train, val=val, test=test, names=names)

    def __repr__(self) -> str:
        train, val, test = (int(part.n.sum()) for part in (self.train, self.val, self.test))
        sizes = f"{train} training, {val} validation, {test} test examples"
        kind = f"{self.classes} classes" if self.classes else "regression"
        return f"Federation({len(self)} clients, {kind}: {sizes})"

    @cached_property
    def sizes(self) -> Sizes:
        """The sizes of the data, which a server may know."""
        x = self.train.x
        dtype = x.dtype if x.is_floating_point() else None
        return Sizes(self.train.n, self.val.n, self.classes, dtype)

    def sample(
        self, clients: int, gen: torch.Generator, replacement: bool = False
    ) -> Int[Tensor, " B"]:
        """Draw B clients for one round, see `Sizes.sample`."""
        return self.sizes.sample(clients, gen, replacement)

    def to(self, device: str | torch.device, dtype: torch.dtype | None = None) -> "Federation":
        """Move the federation to a device."""
        train = self.train.to(device, dtype)
        val, test = (  # move examples that the parts share once
            replace(part, x=train.x, y=train.y)
            if part.x is self.train.x and part.y is self.train.y
            else part.to(device, dtype)
            for part in (self.val, self.test)
        )
        return replace(self, train=train, val=val, test=test)


def _check_examples(name: str, part: Clients) -> None:
    M = len(part.x)
    require(len(part.y) == M, f"targets of {name}", len(part.y), f"{M}, as many as inputs")
    rows = torch.cat(part.rows)
    inside = (rows >= 0) & (rows < M)
    require_all(inside, f"rows of {name}", rows, f"numbers from 0 to {M - 1}")


def _check_targets(name: str, y: Tensor, classes: int) -> None:
    if y.is_floating_point():
        allowed = "whole numbers, as y.long(), if there are classes; for regression classes=0"
        require(y.dim() > 1 or classes < 2, name, y, allowed)
        return
    require(y.shape[1:] != (1,), f"shape of {name}", tuple(y.shape), f"{(len(y),)}: y[:, 0]")
    known = not len(y) or (y.min() >= 0 and y.max() < classes)
    if not known:  # sort the targets, perhaps millions, for the message only
        allowed = f"from 0 to {classes - 1}" if classes else "floats, as there are no classes"
        require(known, name, y.unique(), allowed)

"""Partition of examples among clients, and of each client's into train, validation and test."""

from collections.abc import Iterable, Sequence
from math import inf
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

from fedlab_edu.data.arrays import as_inputs, as_pairs, as_rows, as_targets
from fedlab_edu.data.clients import Clients, Federation
from fedlab_edu.seeds import check_default_device, check_generator
from fedlab_edu.validate import check_index, number, require, whole

FRACTIONS = (0.8, 0.1, 0.1)


def iid(examples: int, clients: int, gen: torch.Generator) -> list[Tensor]:
    """Shuffle all examples and deal them out in parts whose sizes differ by 1 at most."""
    examples = whole("examples", examples, 1)
    allowed = f"from 1 to {examples}, the examples"
    clients = whole("clients", clients, 1, examples, allowed)
    check_generator(gen)
    return list(torch.randperm(examples, generator=gen).tensor_split(clients))


def by_group(group: Any, parts: int = 1) -> list[Tensor]:
    """Make each group (a writer, a role) one client, or ``parts`` clients of consecutive examples.

    Args:
        group: the group of each of M examples, a whole number or a string; the clients are in their
            order.
    """
    numbers = _classes("group", group)
    sizes = numbers.unique(return_counts=True)[1]
    smallest = int(sizes.min())
    allowed = f"from 1 to {smallest}, the smallest group"
    parts = whole("parts", parts, 1, smallest, allowed)
    groups = numbers.argsort(stable=True).split(sizes.tolist())
    return [rows for group in groups for rows in group.tensor_split(parts)]


def dirichlet(
    y: Any, clients: int, alpha: float, gen: torch.Generator, minimum: int = 2, tries: int = 10_000
) -> list[Tensor]:
    """Divide each class among the clients by a draw from Dirichlet(alpha, ...), for label skew.

    y has the class of each of M examples, a whole number or a string.
    A small alpha gives each class to few clients; as alpha grows, clients become alike. Draws that
    leave a client fewer than ``minimum`` examples are redrawn, which conditions the distribution on
    enough examples for every client; after ``tries`` of them it gives up.

    Source: Yurochkin et al. (2019), who draw the clients' shares of each class; Hsu, Qi and Brown
    (2019) draw each client's shares of the classes instead.
    """
    y, clients, tries = _classes("y", y), whole("clients", clients, 1), whole("tries", tries, 1)
    require(0 < number(alpha) < inf, "alpha", alpha, "a finite number above 0")
    minimum = whole("minimum", minimum, 0)
    allowed = f"up to {len(y) // max(1, minimum)}, with {minimum} of {len(y)} examples each"
    require(clients * minimum <= len(y), "clients", clients, allowed)
    check_generator(gen)
    classes, sizes = y.unique(return_counts=True)
    # NumPy's sampler stays accurate for small alpha, but needs its own generator
    rng = np.random.default_rng(int(torch.randint(2**63 - 1, (1,), generator=gen)))
    for _ in range(tries):
        share = rng.dirichlet(np.full(clients, float(alpha)), size=len(classes))  # (C, N)
        ends = np.rint(share.cumsum(1) * sizes.numpy()[:, None]).astype(int)  # (C, N)
        ends[:, -1] = sizes
        if np.diff(ends, axis=1, prepend=0).sum(0).min() >= minimum:
            break
    else:
        allowed = f"a value at which {clients} clients get {minimum} of {len(y)} examples each"
        require(False, "alpha", alpha, allowed + f" (none of {tries} draws did)")
    each = [
        rows[torch.randperm(len(rows), generator=gen)].tensor_split(torch.from_numpy(end[:-1]))
        for rows, end in zip(by_group(y), ends, strict=True)
    ]
    return [torch.cat(chunks) for chunks in zip(*each, strict=True)]


def split(n: int, fractions: Sequence[float] = FRACTIONS, gap: int = 0) -> list[tuple[int, int]]:
    """Return the bounds [start, stop) of train, validation and test among n ordered examples.

    The cuts are ``floor((1 - val - test) n)`` and ``floor((1 - test) n)``. After each, ``gap``
    examples are dropped, because neighbouring windows of text overlap.
    """
    n, gap = whole("n", n, 0), whole("gap", gap, 0)
    _, val, test = _checked(fractions)
    a, b = (int(part * n + 1e-9) for part in (1.0 - val - test, 1.0 - test))  # 1 - 0.4 - 0.4 < 0.2
    return [(0, a), (min(b, a + gap), b), (min(n, b + gap), n)]


def _checked(fractions: Sequence[float]) -> list[float]:
    ok = isinstance(fractions, Sequence | np.ndarray | Tensor) and len(fractions) == 3
    shares = [number(share) for share in fractions] if ok else []
    ok = ok and min(shares) >= 0 and abs(sum(shares) - 1) < 1e-9
    require(ok, "fractions", fractions, "three numbers of at least 0 with sum 1")
    return shares


def enough(n: int, fractions: Sequence[float] = FRACTIONS) -> bool:
    """Return whether each part of the split gets at least one example, before rounding down.

    Source: the client filter of Khodak et al. (2021)'s code, ``n >= 1 / min(fractions)``.
    """
    n, (_, val, test) = whole("n", n, 0), _checked(fractions)
    return n * min(part for part in (1.0 - val - test, val, test) if part > 1e-9) > 1 - 1e-9


def federate(
    x: Any, y: Any = None, rows: Any = None, classes: int | None = None,
    fractions: Sequence[float] = FRACTIONS, gen: torch.Generator | None = None, gap: int = 0,
    names: Iterable[Any] | None = None,
) -> Federation:  # fmt: skip
    """Build a federation of clients that own the given rows of x (M, ...) and y (M,).

    Args:
        x: tensor, array, columns of a table, or lists. Floats keep their precision, but Python's
            become PyTorch's default; whole numbers (M, T) are tokens. Images are floats, or uint8
            (M, C, H, W), see `Clients.inputs`. Or a map-style ``Dataset`` of pairs, without y:
            ``federate(data, rows=rows)``. Tensors x and y are not copied: do not write into them
            later.
        y: class numbers; or strings, whose classes are in alphabetical order (`Federation.labels`);
            or floats, for regression, which get the precision of x.
        rows: for each client the numbers of its examples, each once; clients may share examples.
        classes: how many; by default the highest class number plus 1. 0 means regression, and is
            the default for floats.
        fractions, gap: see `split`.
        gen: shuffles each client's rows before the split. Without it the first are for training and
            the last for testing.
        names: of the clients; the default is "0", "1", ...
    """
    check_default_device()
    if isinstance(x, Dataset):
        require(y is None, "y", y, "None, as x is a Dataset of pairs: federate(data, rows=rows)")
        x, y = as_pairs(x)
    require(y is not None, "y", y, "targets, unless x is a Dataset of pairs")
    check_index(x, y)
    table, x, (y, labels) = x, as_inputs(x), as_targets(y)
    real = y.is_floating_point() or (isinstance(classes, int) and classes == 0)
    precision = x.dtype if x.is_floating_point() else torch.get_default_dtype()
    y = y.to(x.device, precision if real else y.dtype)
    require(y.isfinite().all(), f"y in {y.dtype}", "not finite", "numbers that it has")
    require(len(y) == len(x), "targets y", len(y), f"{len(x)}, as many as inputs x")
    ok, allowed = y.dim() <= x.dim(), f"{(len(x),)}, a target for each example: x comes first"
    require(ok, "shape of y", tuple(y.shape), allowed)
    if classes is None:
        classes = 0 if real else len(labels) or int(y.max()) + 1
    owned = as_rows(rows, table, len(x))
    if gen is not None:
        check_generator(gen)
        owned = tuple(r[torch.randperm(len(r), generator=gen)] for r in owned)
    bounds = [split(len(r), fractions, gap) for r in owned]
    train, val, test = (
        Clients(x, y, tuple(r[slice(*b[part])] for r, b in zip(owned, bounds, strict=True)))
        for part in range(3)
    )
    ok = names is None or (isinstance(names, Iterable) and not isinstance(names, str | bytes))
    require(ok, "names", names, "a name for each client")
    known = tuple(map(str, range(len(owned)) if names is None else names))
    return Federation(train, val, test, known, classes, labels)


def _classes(name: str, values: Any) -> Tensor:
    """Return class numbers (M,) on the CPU; strings are numbered in alphabetical order."""
    allowed = "a whole number below 2^63 or a string for each example"
    found = as_targets(values, name, allowed)[0].cpu()
    ok = found.dim() == 1 and not found.is_floating_point()
    require(ok, name, values, allowed)
    return found

"""Partition of examples among clients, and of each client's into train, validation and test."""

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Integer
from torch import Tensor

from fedlab_edu.data.clients import Clients, Federation
from fedlab_edu.validate import require

FRACTIONS = (0.8, 0.1, 0.1)


def iid(examples: int, clients: int, gen: torch.Generator) -> list[Tensor]:
    """Shuffle all examples and deal them out in parts whose sizes differ by 1 at most.

    Raises:
        ValueError: fewer examples than clients.
    """
    require(1 <= clients <= examples, "clients", clients, f"from 1 to {examples}, the examples")
    return list(torch.randperm(examples, generator=gen).tensor_split(clients))


def by_group(group: Integer[Tensor, " M"], parts: int = 1) -> list[Tensor]:
    """Make each group (a writer, a role) one client, or ``parts`` clients of consecutive examples.

    Raises:
        ValueError: a group with fewer examples than parts.
    """
    groups, sizes = group.unique(return_counts=True)
    smallest = int(sizes.min())
    require(1 <= parts <= smallest, "parts", parts, f"from 1 to {smallest}, the smallest group")
    return [rows for g in groups for rows in (group == g).nonzero()[:, 0].tensor_split(parts)]


def dirichlet(
    y: Integer[Tensor, " M"],
    clients: int,
    alpha: float,
    gen: torch.Generator,
    minimum: int = 2,
    tries: int = 10_000,
) -> list[Tensor]:
    """Divide each class among the clients by a draw from Dirichlet(alpha, ...), for label skew.

    A small alpha gives each class to few clients; as alpha grows, clients become alike. Draws that
    leave a client fewer than ``minimum`` examples are redrawn, which conditions the distribution on
    enough examples for every client.

    Raises:
        ValueError: an argument out of range, or no acceptable draw in ``tries``.

    Source: Yurochkin et al. (2019), who draw the clients' shares of each class; Hsu, Qi and Brown
    (2019) draw each client's shares of the classes instead.
    """
    require(clients >= 1, "clients", clients, "at least 1")
    require(0 < alpha < float("inf"), "alpha", alpha, "a finite number above 0")
    require(minimum >= 0, "minimum", minimum, "at least 0")
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
    parts: list[list[Tensor]] = [[] for _ in range(clients)]
    for c, end in zip(classes, ends, strict=True):
        rows = (y == c).nonzero()[:, 0]
        rows = rows[torch.randperm(len(rows), generator=gen)]
        for part, chunk in zip(parts, rows.tensor_split(torch.from_numpy(end[:-1])), strict=True):
            part.append(chunk)
    return [torch.cat(part) for part in parts]


def split(n: int, fractions: Sequence[float] = FRACTIONS, gap: int = 0) -> list[tuple[int, int]]:
    """Return the bounds [start, stop) of train, validation and test among n ordered examples.

    The cuts are ``int((1 - val - test) n)`` and ``int((1 - test) n)``. After each, ``gap`` examples
    are dropped, because neighbouring windows of text overlap.

    Raises:
        ValueError: fractions that are not three numbers of at least 0 with sum 1.
    """
    require(n >= 0, "n", n, "at least 0")
    require(gap >= 0, "gap", gap, "at least 0")
    ok = len(fractions) == 3 and min(fractions) >= 0 and abs(sum(fractions) - 1) < 1e-9
    require(ok, "fractions", tuple(fractions), "three numbers of at least 0 with sum 1")
    _, val, test = fractions
    a, b = int((1.0 - val - test) * n), int((1.0 - test) * n)
    return [(0, a), (min(b, a + gap), b), (min(n, b + gap), n)]


def enough(n: int, fractions: Sequence[float] = FRACTIONS) -> bool:
    """Return whether each part of the split gets at least one example, before rounding down.

    Source: the client filter of Khodak et al. (2021)'s code, ``n >= 1 / min(fractions)``.
    """
    _, val, test = fractions
    return not n < 1.0 / min(1.0 - val - test, val, test)


def federate(
    x: Tensor,
    y: Tensor,
    rows: Sequence[Tensor],
    classes: int,
    fractions: Sequence[float] = FRACTIONS,
    gen: torch.Generator | None = None,
    gap: int = 0,
    names: Sequence[str] | None = None,
) -> Federation:
    """Build a federation of clients that own the given rows of x (M, ...) and y (M,).

    A generator shuffles each client's rows before the split; without one the first are for
    training and the last for testing.

    Raises:
        ValueError: a client with no training data.
    """
    if gen is not None:
        rows = [r[torch.randperm(len(r), generator=gen)] for r in rows]
    bounds = [split(len(r), fractions, gap) for r in rows]
    train, val, test = (
        Clients(x, y, tuple(r[slice(*b[part])] for r, b in zip(rows, bounds, strict=True)))
        for part in range(3)
    )
    return Federation(train, val, test, tuple(names or map(str, range(len(rows)))), classes)

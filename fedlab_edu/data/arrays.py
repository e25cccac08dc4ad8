"""Arrays of your own as tensors: inputs, targets with the names of their classes, and rows."""

from collections.abc import Mapping
from numbers import Integral, Number
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset, IterableDataset, TensorDataset

from fedlab_edu.validate import require, require_all

_FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
_UNSIGNED = (torch.uint16, torch.uint32, torch.uint64)  # PyTorch has few operations on them
_WHOLE = (torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, *_UNSIGNED)
_NUMBERS = "numbers of one shape: a tensor, an array, a column of a table, or a list"
_TARGETS = "class numbers, floats for a regression, or strings, one for each example"


def as_pairs(data: Dataset[Any]) -> tuple[Any, Any]:
    """Return the inputs and the targets of a map-style data set, with a length, of pairs (x, y)."""
    allowed = "a Dataset with a length, whose examples are pairs (x, y)"
    if isinstance(data, TensorDataset) and len(data.tensors) == 2:
        return data.tensors
    ok = hasattr(data, "__len__") and not isinstance(data, IterableDataset)
    require(ok, "x", type(data).__name__, allowed)
    pairs = [data[i] for i in range(len(data))]  # type: ignore[arg-type]
    for i, pair in enumerate(pairs):
        ok = isinstance(pair, tuple | list) and len(pair) == 2
        require(ok, f"x[{i}]", type(pair).__name__, allowed)
    return [x for x, _ in pairs], [y for _, y in pairs]


def as_inputs(x: Any, name: str = "x") -> Tensor:
    """Convert inputs (M, ...) to a tensor: floats, tokens (M, T), or uint8 images (M, C, H, W)."""
    found = _examples(name, x, _NUMBERS)
    kind = str(found.dtype).removeprefix("torch.")
    ok, allowed = found.dtype != torch.bool, "floats, or whole numbers, which are tokens (M, T)"
    require(ok, f"dtype of {name}", kind, allowed)
    allowed = "floats where an example has several axes, as x / 255.0 for images, or uint8 images"
    ok = found.is_floating_point() or found.dim() < 3
    ok = ok or (found.dtype == torch.uint8 and found.dim() == 4)
    require(ok, f"dtype of {name}", kind, allowed)
    return found


def as_targets(y: Any, name: str = "y", allowed: str = _TARGETS) -> tuple[Tensor, tuple[str, ...]]:
    """Convert targets (M, ...), and return the names of the classes, () if they have none.

    Strings become the numbers of their classes in alphabetical order, and True and False 1 and 0.
    Whole numbers are class numbers, and become int64. Floats stay floats.
    """
    if (texts := _texts(y)) is not None:
        labels = sorted(set(texts))
        number = {label: i for i, label in enumerate(labels)}
        return torch.tensor([number[text] for text in texts]), tuple(labels)
    found = _examples(name, y, allowed)
    return (found if found.is_floating_point() else found.long()), ()


def as_rows(rows: Any, x: Any, examples: int) -> tuple[Tensor, ...]:
    """Convert row numbers to tensors (n_i,) on the CPU.

    Refuse a row twice in one client, since both sides of a split could get it, and labels of the
    rows of a table x that are no row numbers.
    """
    allowed = "a list of each client's row numbers, as the values() of a dictionary"
    require(not isinstance(rows, Mapping), "rows", rows, allowed)
    allowed = "the row numbers of each client: iid(len(x), 10, gen), or [[0, 1], [2, 3]]"
    try:
        each = list(rows)
    except TypeError:
        require(False, "rows", rows, allowed)
    labels: Any = getattr(x, "index", None)
    if hasattr(labels, "equals") and not np.array_equal(labels, np.arange(examples)):
        for i, own in enumerate(each):
            allowed = "row numbers, as of df.groupby(...).indices; an Index has labels of rows"
            require(not hasattr(own, "get_indexer"), f"rows of client {i}", own, allowed)
    return tuple(_rows(f"rows of client {i}", own, examples) for i, own in enumerate(each))


def _rows(name: str, own: Any, examples: int) -> Tensor:
    allowed = f"a list of whole numbers from 0 to {examples - 1}, each once, as of by_group(owners)"
    objects = getattr(getattr(own, "dtype", None), "kind", None) == "O"
    own = own.tolist() if objects else own
    found = _tensor(name, own, allowed).cpu()
    flags = isinstance(own, list | tuple) and any(isinstance(row, bool) for row in own)
    ok = found.dim() == 1 and not (found.is_floating_point() or found.dtype == torch.bool or flags)
    require(ok or found.shape == (0,), name, own, allowed)
    found = found.long().clone()
    require_all((found >= 0) & (found < examples), name, found, allowed)
    if not (found[1:] > found[:-1]).all():
        seen, times = found.unique(return_counts=True)
        require(len(seen) == len(found), name, seen[times > 1], allowed)
    return found


def _texts(values: Any) -> list[str] | None:
    """Return the strings of a list or column, or None if not all its values are strings."""
    if isinstance(values, Tensor):
        return None
    if not isinstance(values, list | tuple):
        array = np.asarray(values)
        values = array.tolist() if array.ndim == 1 and array.dtype.kind in "UOT" else []
    return list(values) if values and all(isinstance(one, str) for one in values) else None


def _examples(name: str, values: Any, allowed: str) -> Tensor:
    """Convert finite numbers, at least one."""
    found = _tensor(name, values, allowed)
    require(found.dim() and found.numel(), name, values, f"at least one example: {allowed}")
    if found.is_floating_point() and not (finite := found.isfinite()).all():
        require_all(finite.flatten(), name, found.flatten(), "finite numbers")
    return found


def _tensor(name: str, values: Any, allowed: str) -> Tensor:
    """Convert numbers to a tensor; Python's floats get PyTorch's default precision."""
    if isinstance(values, list | tuple) and any(isinstance(one, Tensor) for one in values):
        try:
            values = torch.stack([torch.as_tensor(one) for one in values])
        except (TypeError, ValueError, RuntimeError):  # of several shapes, or among other values
            require(False, name, values, allowed)
    if isinstance(values, Tensor):
        ok = not (values.is_nested or values.is_meta) and values.layout == torch.strided
        kind = "nested" if values.is_nested else f"{values.layout}, {values.dtype}, {values.device}"
        require(ok and values.dtype in _FLOATS + _WHOLE, name, kind, allowed)
        if values.dtype in _UNSIGNED:
            return _from_numpy(name, values.cpu().numpy(), allowed).to(values.device)
        values = values.detach()
    found = values if isinstance(values, Tensor) else _from_numpy(name, values, allowed)
    narrow = found.dtype in (torch.bool, torch.uint8) or found.is_floating_point()
    return found if narrow else found.long()


def _from_numpy(name: str, values: Any, allowed: str) -> Tensor:
    try:
        array, listed = np.asarray(values), values
        if array.dtype.kind == "O":  # NumPy leaves columns of several kinds so
            listed = array.tolist()
            array = np.asarray(listed)
        if array.dtype.kind == "f" and _all_whole(listed):  # such as 0 beside 2^63
            array = np.array(values, dtype=object)
    except (TypeError, ValueError):  # lists of several lengths
        array = np.empty(0, dtype=object)
    if array.dtype.kind == "O" and array.size:
        fine = np.array([isinstance(one, Number | str) for one in array.flat])
        require_all(fine, name, values if array.ndim < 2 else [*array.flat], allowed)
    ok = array.dtype.kind in "biuf" and array.itemsize <= 8 and not np.ma.is_masked(values)
    ok = ok and not (array.dtype.kind == "u" and array.size and array.max() >= 2**63)
    require(ok, name, values, allowed)
    unsigned = array.dtype.kind == "u" and array.itemsize > 1
    native = np.int64 if unsigned else array.dtype.newbyteorder("=")
    found = torch.from_numpy(np.array(array, dtype=native, order="C"))  # a copy
    leaf = values
    while isinstance(leaf, list | tuple) and leaf:
        leaf = leaf[0]
    python = type(leaf) in (int, float) and found.is_floating_point()
    return found.to(torch.get_default_dtype()) if python else found


def _all_whole(values: Any) -> bool:
    """Return whether a list has whole numbers only."""
    if not isinstance(values, list | tuple):
        return isinstance(values, Integral)
    return bool(values) and all(map(_all_whole, values))

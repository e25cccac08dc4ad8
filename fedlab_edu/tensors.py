"""Tensors and devices."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import torch
from jaxtyping import Float64, Int64
from torch import Tensor

from fedlab_edu.validate import require


def usable_device(device: str | torch.device) -> torch.device:
    """Return the device, if this machine, and this build of PyTorch, can use it."""
    gpus = torch.cuda.device_count()
    try:
        found = torch.device(device)
        ok = found.type == "cpu" or (found.type == "cuda" and (found.index or 0) < gpus)
    except (RuntimeError, TypeError):
        ok = False
    allowed = "'cpu'" + "".join(f", 'cuda:{i}'" for i in range(gpus))
    require(ok, "device", str(device), allowed + " (this PyTorch sees no CUDA GPU)" * (not gpus))
    return found


def as_indices(name: str, values: Any, count: int) -> Int64[Tensor, "*shape"]:
    """Convert to whole numbers from 0 to ``count - 1``; refuse masks, fractions and scalars."""
    try:
        given = torch.as_tensor(values)
    except (TypeError, ValueError, RuntimeError):
        given = torch.tensor(0)
    exact = not (given.is_floating_point() or given.is_complex() or given.dtype == torch.bool)
    found = given.long() if exact else given.new_zeros(given.shape, dtype=torch.long)
    ok = given.dim() > 0
    if ok and given.numel():
        low, high = found.aminmax()
        ok = exact and int(low) >= 0 and int(high) < count
    require(ok, name, values, f"whole numbers from 0 to {count - 1}, in a list")
    return found


def as_float64(values: Any, name: str = "values") -> Tensor:
    """Convert to a float64 tensor; refuse texts, gaps, complex numbers and ragged lists."""
    if isinstance(values, Tensor) and values.dtype == torch.float64:
        return values
    found = None
    if not str(getattr(values, "dtype", "")).startswith(("torch.complex", "complex")):
        with suppress(TypeError, ValueError, RuntimeError):
            found = torch.as_tensor(values, dtype=torch.float64)
    require(found is not None, name, values, "real numbers of one shape")
    assert found is not None
    return found


def as_array(values: Any, name: str) -> Float64[np.ndarray, "*shape"]:
    """Convert to a float64 array of NumPy's; refuse what `as_float64` does, and masked values."""
    if isinstance(values, Tensor):
        return as_float64(values, name).detach().cpu().numpy()
    found = None
    with suppress(TypeError, ValueError):
        array = np.asarray(values)
        if array.dtype.kind != "c" and not np.ma.is_masked(values):
            found = np.asarray(array, np.float64)
    require(found is not None, name, values, "real numbers of one shape")
    assert found is not None
    return found


@contextmanager
def read_only(reader: str, **given: Tensor) -> Iterator[None]:
    """Raise a ValueError if the code inside, the ``reader``, writes into one of the tensors.

    PyTorch counts its own writes; those through ``.data`` or a NumPy array are not seen.
    """
    before = {name: t.is_inference() or t._version for name, t in given.items()}
    yield
    for name, t in given.items():
        if not t.is_inference() and t._version != before[name]:
            allowed = f"the same; write into a copy, {name}.clone()"
            require(False, f"{name} after {reader}", "changed", allowed)

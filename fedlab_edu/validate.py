"""One sentence for every refusal: which argument, the value seen, what is allowed, what lacks."""

import math
from importlib import import_module
from numbers import Integral
from operator import index
from types import ModuleType
from typing import Any, SupportsFloat

import torch
from torch import Tensor

MOST = 1_000_000  # values, rows, arms or brackets in one list: more are a slip, and fill the memory

_LONGEST = 500  # letters of a value in a message


def require(ok: object, argument: str, value: object, allowed: str) -> None:
    """Unless ``ok``, raise a ``ValueError`` that names argument, value seen and what is allowed."""
    if not ok:
        shown = repr(value.tolist() if isinstance(value, Tensor) else value)
        if len(shown) > _LONGEST:
            shown = f"{shown[:_LONGEST]}..."
        raise ValueError(f"{argument} is {shown}; allowed: {allowed}")


def number(value: Any) -> float:
    """As a number of Python's, for files hold none of NumPy's; NaN for what is no number."""
    if type(value) is float:  # most are, and asking a protocol or an abstract class takes longer
        return value
    try:
        real = float(value) if isinstance(value, SupportsFloat) else math.nan
    except (TypeError, ValueError, OverflowError, RuntimeError):
        return math.nan
    return int(value) if isinstance(value, Integral) else real


def whole(name: str, value: Any, least: int, most: int | None = None) -> int:
    """As an ``int`` of Python's.

    Raises:
        ValueError: no whole number, or one out of range.
    """
    try:
        seen = index(value)
    except TypeError:
        seen = least - 1
    allowed = f"a whole number of at least {least}"
    allowed += "" if most is None else f", {most:,} at most"
    require(least <= seen and (most is None or seen <= most), name, value, allowed)
    return seen


def check_shares(**shares: Any) -> None:
    """Refuse what is not a number from 0 to 1."""
    for name, share in shares.items():
        require(0 <= number(share) <= 1, name, share, "a number from 0 to 1")


def extra(package: str, group: str) -> ModuleType:
    """A package that an extra of this one brings, imported now.

    Raises:
        ModuleNotFoundError: it is not installed; the message says how to get it.
    """
    try:
        return import_module(package.lower())
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"{package} is missing: pip install -e '.[{group}]'") from error


def usable_device(device: str | torch.device) -> torch.device:
    """The device, or a ``ValueError`` that says why this machine cannot use it.

    Raises:
        ValueError: an unknown device, or a GPU on a machine (or in a build of PyTorch) without one.
    """
    try:
        found = torch.device(device)
    except RuntimeError:
        found = None
    gpus = torch.cuda.device_count()
    allowed = "'cpu'" + "".join(f", 'cuda:{i}'" for i in range(gpus))
    if not gpus:
        allowed += " (this PyTorch sees no CUDA GPU)"
    ok = found is not None and (
        found.type == "cpu" or (found.type == "cuda" and (found.index or 0) < gpus)
    )
    require(ok, "device", str(device), allowed)
    assert found is not None
    return found


def as_float64(values: Any) -> Tensor:
    """Convert to a float64 tensor."""
    return torch.as_tensor(values, dtype=torch.float64)

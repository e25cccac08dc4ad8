"""Checks of arguments, whose messages name the argument, its value and what is allowed."""

import math
from importlib import import_module
from numbers import Integral
from operator import index
from types import ModuleType
from typing import Any, SupportsFloat

MOST = 1_000_000  # values, rows, arms or brackets in a list; more is a mistake that fills memory

_LONGEST = 500  # characters of a value in a message


def require(ok: object, argument: str, value: object, allowed: str) -> None:
    """Raise a ``ValueError`` with argument, value and what is allowed, unless ``ok``."""
    if not ok:
        shown = repr(value.tolist() if hasattr(value, "tolist") else value)
        if len(shown) > _LONGEST:
            shown = f"{shown[:_LONGEST]}..."
        raise ValueError(f"{argument} is {shown}; allowed: {allowed}")


def number(value: Any) -> float:
    """Convert to a built-in number, as checkpoints store no NumPy scalars; NaN if impossible."""
    if type(value) is float:  # the common case; isinstance of a protocol is slow
        return value
    try:
        real = float(value) if isinstance(value, SupportsFloat) else math.nan
    except (TypeError, ValueError, OverflowError, RuntimeError):
        return math.nan
    return int(value) if isinstance(value, Integral) else real


def whole(name: str, value: Any, least: int, most: int | None = None) -> int:
    """Convert to a built-in ``int``.

    Raises:
        ValueError: not a whole number, or out of range.
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
    """Raise ``ValueError`` for anything but numbers from 0 to 1."""
    for name, share in shares.items():
        require(0 <= number(share) <= 1, name, share, "a number from 0 to 1")


def extra(package: str, group: str) -> ModuleType:
    """Import and return a package of an optional extra.

    Raises:
        ModuleNotFoundError: it is not installed; the message says how to install it.
    """
    try:
        return import_module(package.lower())
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"{package} is missing: pip install -e '.[{group}]'") from error

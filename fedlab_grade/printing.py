"""Values as text, for messages."""

import math
from typing import Any

import numpy as np
from torch import Tensor

SHOWN = 24  # tensors, arrays and lists with at most so many entries are printed in full


def kind(value: object) -> str:
    """Return what a value is, with its article: a tensor, an array, or the name of its type."""
    if isinstance(value, Tensor):
        return "a tensor"
    if type(value) is np.ndarray:  # a matrix or a masked array is refused where an array is asked
        return "an array"
    if value is None:
        return "None"
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def show(value: Any, digits: int = 5) -> str:
    """Return numbers, tensors, arrays and lists of these as text: in full, or their size."""
    if isinstance(value, Tensor | np.ndarray) and _size(value) > SHOWN:
        return f"{kind(value)} of shape {tuple(value.shape)}"
    if isinstance(value, list | tuple):
        size = sum(_size(part) for part in value)
        if max(size, len(value)) > SHOWN:
            return f"a list of {len(value)} entries"
    return _text(value, digits)


def _text(value: Any, digits: int) -> str:
    if isinstance(value, Tensor | np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return f"[{', '.join(_text(part, digits) for part in value)}]"
    if isinstance(value, float | complex):
        return f"{value:.{digits}g}"
    return f"{value}" if isinstance(value, int) else kind(value)


def _size(value: object) -> int:
    return math.prod(value.shape) if isinstance(value, Tensor | np.ndarray) else 1


def printable(value: object) -> str:
    """Return a short argument as text: a word, a number, a tensor, an array or a list of numbers.

    A longer list becomes "40 numbers", and anything else "".
    """
    if isinstance(value, list | tuple) and all(isinstance(x, int | float) for x in value):
        return f"[{', '.join(map(str, value))}]" if len(value) <= SHOWN else f"{len(value)} numbers"
    if isinstance(value, Tensor | np.ndarray):
        return show(value) if _size(value) <= SHOWN else ""
    if isinstance(value, str):
        return repr(value) if len(value) <= SHOWN else ""
    return f"{value}" if isinstance(value, int | float) else ""

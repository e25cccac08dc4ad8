"""Compare an answer with what is wanted: first its type, then dtype and shape, last the values."""

from typing import Any, NamedTuple, TypeGuard

import numpy as np
import torch
from torch import Tensor

from fedlab_grade.printing import SHOWN, kind, show

Array = np.ndarray
Value = Tensor | Array | float | str | list | tuple  # lists hold tensors, or numbers

RTOL, ATOL = 1e-6, 1e-8  # the answers are float64; a step in float32 on the way is no mistake
COARSE = 1e-4, 1e-5  # of answers in float32
HUGE = 2**62  # larger ints do not fit into an array

NAMES: dict[type, str] = {int: "an int", float: "a number"}
WHOLE = (
    "an int is asked for: // is the division without remainder, math.ceil gives an int where "
    "np.ceil gives a float, and int(x) is the whole number in a float x"
)
NOT_FINITE = (
    "inf and NaN come from a division by 0, the log of 0, exp of a large number, inf minus inf, or "
    "numbers that grow without end"
)


class Fault(NamedTuple):
    """A text on what came and what was expected, to follow "returned"; and the likely mistake."""

    text: str
    likely: str = ""


def fault_of(got: Any, want: Value) -> Fault | None:
    """Return how an answer, once converted, differs from what is wanted; None if only by rounding.

    Ints must be equal. Infinities and NaN are equal to themselves.
    """
    is_coarse = str(getattr(got, "dtype", "")).endswith(("float32", "float16"))
    got = convert(got, want)
    if fault := form_fault(got, want):
        return fault
    if isinstance(want, str):
        return None if got == want else Fault(f"{got[:80]!r}, expected {want!r}")
    if isinstance(want, list | tuple) and len(got) != len(want):
        return Fault(f"{show(got)}, expected {show(want)}")
    if not _holds_tensors(want):
        return _value_fault(got, want, COARSE if is_coarse else (RTOL, ATOL))
    for i, (g, w) in enumerate(zip(got, want, strict=True)):
        if entry := fault_of(g, w):
            return Fault(f"a list in which entry {i} is {entry.text}", entry.likely)
    return None


def form_fault(got: object, like: Value) -> Fault | None:
    """Return how the form of an answer differs from that of ``like``; None if it does not.

    The form is the type, and for tensors and arrays dtype and shape; a list may have any length.
    Tensors and arrays count as numbers if they have no axes, and as lists if they have one.
    """
    if isinstance(like, Tensor | Array):
        return _block_fault(got, like)
    if isinstance(like, list | tuple):
        return _list_fault(got) if _holds_tensors(like) else _numbers_fault(got, like)
    if isinstance(like, str):
        text = type(plain(got, like)) is str
        return None if text else Fault(f"{kind(got)}, expected a text", mistaken(got))
    asked = _asked(like)
    if odd := _misfit(plain(got, like), asked):
        return Fault(f"{odd.text}, expected {NAMES[asked]}", odd.likely or mistaken(got))
    return None


def convert(got: Any, like: Value) -> Any:
    """Return an answer in the type and dtype of ``like``, if that changes no number; else as it is.

    Numbers may come in a list for an array, and in another dtype; whole floats may stand for ints.
    """
    got = plain(got, like)
    if form_fault(got, like) is None:
        return got
    if _holds_tensors(like):
        return [convert(x, like[0]) for x in got] if type(got) in (list, tuple) else got
    wanted = np.asarray(like).dtype
    try:
        numbers = np.asarray(got)
    except Exception:  # what a student returns may be anything
        return got
    fits = numbers.ndim == np.ndim(like) or (numbers.ndim and isinstance(like, Tensor | Array))
    if not fits or numbers.dtype.kind not in "iuf" or wanted.kind not in "iuf":
        return got
    if wanted.kind != "f" and not (np.isfinite(numbers) & (numbers == np.rint(numbers))).all():
        return got
    if isinstance(like, Tensor):
        return torch.from_numpy(numbers.astype(wanted))
    number = wanted.kind == "f" and not isinstance(like, Array)
    return got if number else plain(numbers.astype(wanted), like)


def type_fault(got: Any, like: Value) -> Fault | None:
    """Return the fault of an answer that had to be converted; None of any other."""
    fault = form_fault(got, like)
    if fault or not _holds_tensors(like):
        return fault
    return next((f for g, w in zip(got, like, strict=False) if (f := form_fault(g, w))), None)


def plain(got: Any, like: Value) -> Any:
    """Return an answer that has the form of ``like`` as that type; any other as it is.

    Tensors come without their graph, on the CPU.
    """
    if isinstance(like, Tensor):
        return got.detach().cpu() if isinstance(got, Tensor) else got
    if isinstance(like, Array):
        return np.asarray(got) if isinstance(got, np.generic) else got
    if _holds_tensors(like):
        return got
    axes = 1 if isinstance(like, list | tuple) else 0
    if isinstance(got, Tensor | Array | np.generic) and got.ndim == axes:
        got = got.tolist()
    if isinstance(like, list | tuple):
        is_list = type(got) in (list, tuple)
        return [plain(entry, _asked(*like)()) for entry in got] if is_list else got
    fits = type(got) is int and abs(got) < HUGE and isinstance(like, float)
    return float(got) if fits else got


def _asked(*like: float) -> type:
    """Return the type of some numbers: float if one of them is."""
    return float if any(isinstance(x, float) for x in like) else int


def _holds_tensors(like: Value) -> TypeGuard[list | tuple]:
    return isinstance(like, list | tuple) and any(isinstance(x, Tensor) for x in like)


def _list_fault(got: object) -> Fault | None:
    """Return why an answer is no list of tensors; None if it is one."""
    if not isinstance(got, list | tuple):
        return Fault(f"{kind(got)}, expected a list of tensors", _instead(got, "a list"))
    for part in got:
        if not isinstance(part, Tensor):
            text = f"a list with {kind(part)} in it, expected tensors"
            return Fault(text, _instead(part, "a tensor"))
    return None


def _numbers_fault(got: object, like: list | tuple) -> Fault | None:
    numbers, asked = plain(got, like), _asked(*like)
    if type(numbers) is not list:
        return Fault(f"{kind(got)}, expected a list of numbers", _instead(got, "a list"))
    for number in numbers:
        if odd := _misfit(number, asked):
            text = f"a list with {odd.text} in it, expected {NAMES[asked]} in each place"
            return Fault(text, odd.likely)
    return None


def _misfit(value: object, asked: type) -> Fault | None:
    """Return what a value is that is not the number asked for; None if it is."""
    if type(value) is float:
        likely = WHOLE if np.isfinite(value) else NOT_FINITE
        return None if asked is float else Fault(f"the float {value}", likely)
    if type(value) is not int:
        return Fault(kind(value))
    return Fault("an int of more than 18 digits") if abs(value) >= HUGE else None


def _block_fault(got: Any, like: Tensor | Array) -> Fault | None:
    got, a_noun = plain(got, like), kind(like)
    if not (isinstance(got, Tensor) if isinstance(like, Tensor) else type(got) is Array):
        expected = f"expected {a_noun} of shape {tuple(like.shape)}"
        return Fault(f"{kind(got)}, {expected}", _instead(got, a_noun))
    if got.dtype != like.dtype:
        types = [str(x.dtype).removeprefix("torch.")[:40] for x in (got, like)]
        likely = "the answer should have the dtype of the arguments, "
        likely = likely if isinstance(like, Tensor) else "the numbers asked for are "
        return Fault(f"{a_noun} of dtype {types[0]}, expected {types[1]}", f"{likely}{types[1]}")
    if got.shape != like.shape:
        shapes = f"{a_noun} of shape {tuple(got.shape)}, expected {tuple(like.shape)}"
        axes = "1 dimension" if got.ndim == 1 else f"{got.ndim} dimensions"
        dims = f"the answer has {axes} instead of {like.ndim}"
        return Fault(shapes, dims if got.ndim != like.ndim else "")
    return None


def _value_fault(got: Any, want: Any, tolerances: tuple[float, float]) -> Fault | None:
    """Compare values of the same form; lists hold numbers."""
    g, w = _as_array(got), _as_array(want)
    with np.errstate(all="ignore"):
        right = g == w if g.dtype.kind in "iub" else np.isclose(g, w, *tolerances, equal_nan=True)
    if right.all():
        return None
    likely = NOT_FINITE if (~right & ~np.isfinite(g)).any() else ""
    at = tuple(np.argwhere(~right)[0].tolist())
    pair = (got, want) if g.size <= SHOWN else (g[at].item(), w[at].item())
    digits = 5 if show(pair[0]) != show(pair[1]) else 9
    shown, expected = (show(value, digits) for value in pair)
    if g.size > SHOWN:
        text = f"{kind(got)} with {(~right).sum()} wrong entries of {g.size}: "
        return Fault(f"{text}entry {list(at)} is {shown}, expected {expected}", likely)
    finite = "finite numbers: " if g.ndim and likely and np.isfinite(w).all() else ""
    return Fault(f"{shown}, expected {finite}{expected}", likely)


def _as_array(value: Any) -> Array:
    if not isinstance(value, Tensor):
        return np.asarray(value)
    value = value.detach().cpu().resolve_conj().resolve_neg()
    return (value.double() if value.is_floating_point() else value).numpy()


def _instead(got: object, want: str) -> str:
    return mistaken(got) or f"{want} is asked for, not {kind(got)}"


def mistaken(got: object) -> str:
    """Return the mistake that the mere type of an answer gives away; "" if it gives none away."""
    if got is None:
        return "there is no `return`"
    if type(got).__name__ == "coroutine":
        return "`async def` makes it so: write `def`"
    return ""

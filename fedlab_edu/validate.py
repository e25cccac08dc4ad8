"""Checks of arguments, whose messages name the argument, its value and what is allowed."""

import math
from collections.abc import Callable, Iterable
from dataclasses import fields
from importlib import import_module
from numbers import Integral
from operator import index
from types import ModuleType, NoneType
from typing import Any, Literal, SupportsFloat, TypeVar, get_args, get_origin

_T = TypeVar("_T")

MOST = 1_000_000  # values, rows, arms or brackets in a list; more is a mistake that fills memory

_VALUES = 8  # of a column, list or tensor in a message
_LONGEST = 500  # characters of a value in a message
_BRACKETS: dict[Any, str] = {list: "[]", tuple: "()", set: "{}", frozenset: "{}", dict: "{}"}


def require(ok: object, argument: str, value: object, allowed: str) -> None:
    """Raise a ``ValueError`` with argument, value and what is allowed, unless ``ok``."""
    if not ok:
        raise ValueError(f"{argument} is {shown(value)}; allowed: {allowed}")


def require_all(ok: Any, argument: str, values: Any, allowed: str) -> None:
    """Raise the same error unless a tensor ``ok``, one entry for each value, is all true.

    Of more than eight values the message shows only those that are not allowed.
    """
    if ok.ndim and len(ok) > _VALUES and not ok.all():
        wrong = [value for value, fine in zip(values, ok, strict=True) if not fine]
        require(False, f"{argument} ({len(wrong):,} of {len(ok):,} values)", wrong, allowed)
    require(ok.all(), argument, values, allowed)


def require_type(name: str, value: object, kind: type, example: str) -> None:
    """Raise the same error, with the type of the value, unless it is a ``kind``."""
    if not isinstance(value, kind):
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        require(False, name, type(value).__name__, f"{article} {kind.__name__}: {example}")


def check_index(x: Any, y: Any) -> None:
    """Refuse columns of tables whose rows have the same labels in another order."""
    one: Any = getattr(x, "index", None)
    other: Any = getattr(y, "index", None)
    if hasattr(one, "equals") and hasattr(other, "equals"):
        ok = one.equals(other) or not one.isin(other).all()
        allowed = "the labels of x in their order; or arrays, as y.to_numpy(), which have none"
        require(ok, "index of y", other, allowed)


def shown(value: object) -> str:
    """Return the ``repr`` of a value in one line; of arrays and lists the first eight values."""
    try:
        text = " ".join(map(str.strip, _cut(value, [_VALUES]).splitlines()))
    except Exception:  # such as a sparse tensor; a message must not end in another error
        text = f"a {type(value).__name__}"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _cut(value: Any, left: list[int]) -> str:
    """Return the ``repr`` of a value; ``left`` counts down the values to show."""
    kind: Any = type(value)
    if kind.__name__ == "DataFrame":
        value = value.head(_VALUES).to_numpy()
    if hasattr(value, "tolist"):  # a tensor, array or column; a long one is not made into a list
        kind, value = (list, value[: _VALUES + 1]) if value.ndim else (None, value.tolist())
    if kind not in _BRACKETS or not len(value):
        left[0] -= 1
        return repr(value.tolist() if hasattr(value, "tolist") else value)
    parts = []
    for one in value:
        if left[0] <= 0:
            parts.append("...")
            break
        key = f"{one!r}: " if kind is dict else ""
        parts.append(key + _cut(value[one] if kind is dict else one, left))
    comma = "," if kind is tuple and len(parts) == 1 else ""
    return f"{_BRACKETS[kind][0]}{', '.join(parts)}{comma}{_BRACKETS[kind][1]}"


def number(value: Any) -> float:
    """Convert to a built-in number, as checkpoints store no NumPy scalars; NaN if impossible."""
    if type(value) is float:  # the common case; isinstance of a protocol is slow
        return value
    try:
        real = float(value) if isinstance(value, SupportsFloat) else math.nan
    except (TypeError, ValueError, OverflowError, RuntimeError):
        return math.nan
    return int(value) if isinstance(value, Integral) else real


def whole(
    name: str, value: Any, least: int, most: int | None = None, allowed: str | None = None
) -> int:
    """Convert to a built-in ``int``; True and False are refused.

    ``allowed`` replaces the words for the range.
    """
    try:
        seen = least - 1 if isinstance(value, bool) else index(value)
    except TypeError:
        seen = least - 1
    limit = "" if most is None else f", {most:,} at most"
    allowed = allowed or f"a whole number of at least {least}{limit}"
    require(least <= seen and (most is None or seen <= most), name, value, allowed)
    return seen


def real(allowed: str, ok: Callable[[float], bool]) -> Callable[[str, Any], float]:
    """Return the rule that converts to ``float``, and refuses all numbers but those allowed."""

    def rule(name: str, value: Any) -> float:
        require(ok(number(value)), name, value, allowed)
        return float(value)

    return rule


share = real("a number from 0 to 1", lambda x: 0 <= x <= 1)
positive = real("a finite number above 0", lambda x: 0 < x < math.inf)
not_negative = real("a finite number of at least 0", lambda x: 0 <= x < math.inf)


def one_of(allowed: Iterable[Any]) -> Callable[[str, Any], Any]:
    """Return the function that returns a value, and refuses all but the allowed ones."""
    options = tuple(allowed)  # a value that cannot be hashed is compared, too

    def rule(name: str, value: Any) -> Any:
        require(value in options, name, value, ", ".join(map(repr, options)))
        return value

    return rule


class Checked:
    """A base of frozen dataclasses that checks the fields by their annotations.

    ``Annotated[float, share]`` stores what ``share(name, value)`` returns, ``Literal`` lists the
    allowed values, and ``bool`` takes True and False only. An optional field may be None.
    """

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]
            name, hint, parts = field.name, field.type, get_args(field.type)
            seen = getattr(self, name)
            if seen is None and NoneType in parts:
                continue
            for rule in getattr(parts[0] if NoneType in parts else hint, "__metadata__", ()):
                object.__setattr__(self, name, rule(name, seen))
            if get_origin(hint) is Literal:
                one_of(parts)(name, seen)
            require(hint is not bool or isinstance(seen, bool), name, seen, "True, False")


def updated(value: _T, **new: Any) -> _T:
    """Do ``dataclasses.replace`` with fields that are known to be allowed, without checks."""
    copy = object.__new__(type(value))
    vars(copy).update(vars(value), **new)
    return copy


def extra(package: str, group: str) -> ModuleType:
    """Import and return a package of an optional extra, or say how to install it."""
    try:
        return import_module(package.lower().replace("-", "_"))
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"{package} is missing: pip install 'fedlab_edu[{group}]'"
        ) from error

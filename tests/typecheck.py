"""The type checker of signatures, types and shapes: beartype, to which an int is a float as well.

A function is checked in its first calls of each test only: a simulation calls it thousands of
times, in the same way. A function within a function is checked only if it names shapes. Its checks
would be compiled each time that it is defined, which takes 2 milliseconds, more than a step of
training.
"""

import functools
import inspect
from collections import Counter
from collections.abc import Callable
from typing import Any

import jaxtyping
from beartype import BeartypeConf, beartype

LIMIT = 10  # calls of a function in a test that are checked
typechecker = beartype(conf=BeartypeConf(is_pep484_tower=True))
calls: Counter[Callable[..., Any]] = Counter()  # in this test
_decorator = jaxtyping.jaxtyped


def jaxtyped(*, typechecker: Callable[..., Any]) -> Callable[..., Any]:
    """Return the decorator that jaxtyping's import hook puts before functions and classes."""
    decorate = _decorator(typechecker=typechecker)

    def decorated(item: Any) -> Any:
        inner = "<locals>" in getattr(item, "__qualname__", "")
        if inner and "jaxtyping" not in repr(item.__annotations__):
            return item
        checked = decorate(item)
        return _first_calls(checked, item) if inspect.isfunction(item) else checked

    return decorated


def _first_calls(checked: Callable[..., Any], plain: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that is checked in its first calls."""

    @functools.wraps(plain)
    def function(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        calls[plain] += 1
        return (checked if calls[plain] <= LIMIT else plain)(*args, **kwargs)

    return function

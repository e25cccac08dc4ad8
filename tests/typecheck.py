"""The type checker of signatures, types and shapes: beartype, to which an int is a float as well.

A function within a function is checked only if it names shapes. Its checks would be compiled each
time that it is defined, which takes 2 milliseconds, more than a step of training.
"""

from collections.abc import Callable
from typing import Any

import jaxtyping
from beartype import BeartypeConf, beartype

typechecker = beartype(conf=BeartypeConf(is_pep484_tower=True))
_decorator = jaxtyping.jaxtyped


def jaxtyped(*, typechecker: Callable[..., Any]) -> Callable[..., Any]:
    """Return the decorator that jaxtyping's import hook puts before functions and classes."""
    decorate = _decorator(typechecker=typechecker)

    def decorated(item: Any) -> Any:
        inner = "<locals>" in getattr(item, "__qualname__", "")
        return item if inner and "jaxtyping" not in repr(item.__annotations__) else decorate(item)

    return decorated

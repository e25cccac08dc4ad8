"""Registry of the classes that a file of a run or a search may hold."""

from importlib import import_module
from typing import TypeVar

_T = TypeVar("_T", bound=type)
_STORABLE: set[type] = set()


def storable(cls: _T) -> _T:
    """Allow files to hold values of this class, whose creation must have no side effects."""
    _STORABLE.add(cls)
    return cls


def storable_classes() -> list[type]:
    """Return the storable classes of all modules imported so far."""
    return list(_STORABLE)


def import_home(name: str) -> bool:
    """Import the module of a class of ours, such as fedlab_edu.rounds.run.Run; False for others."""
    module = name.rpartition(".")[0]
    if not module.startswith("fedlab_edu."):
        return False
    try:
        import_module(module)
    except ImportError:
        return False
    return name in {f"{cls.__module__}.{cls.__qualname__}" for cls in _STORABLE}

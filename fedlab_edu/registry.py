"""The classes that a file of a run or a search may hold: each joins by the decorator `storable`."""

from importlib import import_module
from typing import TypeVar

_T = TypeVar("_T", bound=type)
_STORABLE: set[type] = set()


def storable(cls: _T) -> _T:
    """Allow files to hold values of this class. Making one from a file must have no effect."""
    _STORABLE.add(cls)
    return cls


def storable_classes() -> list[type]:
    """Return all classes that have joined so far: those of modules that have been imported."""
    return [*_STORABLE]


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

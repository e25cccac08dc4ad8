"""Of the package, only the grader is found by its name, as in bubblewrap's view.

This file is run by its path, before anything of the package is imported. Code that undoes what it
does, or reads files by their paths, is stopped by Landlock, and without that by nothing.
"""

import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path


class Bare(MetaPathFinder):
    """Finds ``fedlab_edu``, empty, and in it ``grading`` as it lies on the disk."""

    def __init__(self, grading: Path) -> None:
        self._grading = grading

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        package, _, rest = name.partition(".")
        if name == "fedlab_edu":
            spec = ModuleSpec(name, None, is_package=True)
            spec.submodule_search_locations = []
            return spec
        if name == "fedlab_edu.grading":
            return spec_from_file_location(name, self._grading / "__init__.py")
        if package == "fedlab_edu" and not rest.startswith("grading."):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None


def install(package: str) -> None:
    """Hide the rest of the package, and what lies beside a working copy of it."""
    sys.meta_path.insert(0, Bare(Path(package, "grading")))
    beside = str(Path(package).parent)
    sys.path[:] = [p for p in sys.path if p != beside or p.endswith("-packages")]

"""Find the grader by its name but not the course, as in bubblewrap's view.

This file is run by its path, before anything of the package is imported. Code that undoes what it
does, or reads files by their paths, is stopped by Landlock, and without that by nothing.
"""

import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path


class Bare(MetaPathFinder):
    """A finder of ``fedlab_grade`` where it lies on the disk, and of no ``fedlab_edu``."""

    def __init__(self, package: Path) -> None:
        self._init = package / "__init__.py"

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name == "fedlab_grade":
            return spec_from_file_location(name, self._init)
        if name.partition(".")[0] == "fedlab_edu":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return None


def install(package: str) -> None:
    """Hide ``fedlab_edu``, and what lies beside a working copy of the package."""
    sys.meta_path.insert(0, Bare(Path(package)))
    beside = str(Path(package).parent)
    sys.path[:] = [p for p in sys.path if p != beside or p.endswith("-packages")]

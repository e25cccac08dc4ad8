"""The texts of the modules that a live cell needs, as MicroPython can read them."""

import ast
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Iterable, Iterator

PACKAGE = "fedlab_edu"


def collect(name: str, into: dict[str, str]) -> None:
    """Add the text of a module, and of the modules of the package that it imports.

    Raises:
        ValueError: a module imports what a browser does not have; the message names both.
    """
    if name in into:
        return
    text = inspect.getsource(importlib.import_module(name))
    tree = ast.parse(text)
    into[name] = _with_fields(text, tree)
    for imported in _imports(tree):
        if imported.partition(".")[0] == PACKAGE:
            collect(imported, into)
        elif imported.partition(".")[0] not in sys.stdlib_module_names:
            raise ValueError(f"{name} imports {imported}, which the browser does not have")


def standard(modules: Iterable[str]) -> list[str]:
    """Return what texts import of the standard library, but for `math`; see run.py."""
    every = {one for text in modules for one in _imports(ast.parse(text))}
    return sorted(one for one in every - {"math"} if one.partition(".")[0] != PACKAGE)


def _with_fields(text: str, tree: ast.Module) -> str:
    """Name the fields of each NamedTuple in its class line: MicroPython forgets annotations."""
    lines = text.splitlines()
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and "NamedTuple" in map(ast.unparse, node.bases):
            fields = [
                ast.unparse(one.target) for one in node.body if isinstance(one, ast.AnnAssign)
            ]
            line = lines[node.lineno - 1]
            lines[node.lineno - 1] = line.replace(
                "(NamedTuple)", f"(NamedTuple({node.name!r}, {fields}))"
            )
    return "\n".join(lines) + "\n"


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for one in node.names:
                whole = f"{node.module}.{one.name}"
                yield whole if _is_module(whole) else node.module


def _is_module(name: str) -> bool:
    try:
        return name.startswith(PACKAGE) and importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False

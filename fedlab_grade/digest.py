"""Find the files that decide an assignment's tests, and hash them."""

import ast
import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence, Set
from fnmatch import fnmatchcase
from pathlib import Path


def digest(
    tests: Path, files: Sequence[Path], source: Path | None, apart: Iterable[Path], more: str
) -> str:
    """Return the SHA-256 of all that can have a part in a test.

    These are the tests, conftest.py, the modules and packages beside them which they import, and
    the files and folders beside them which they name: in quotes, as a part of a path in quotes, or
    by a pattern (`_quoted`).

    Args:
        files: the tests, and the modules beside them which they import.
        source: the solution, which has no part; apart: nor have these files and folders.
        more: a text to hash first.
    """
    home = tests.parent
    conftest = home / "conftest.py"
    modules = {*files, *(with_imports(conftest) if conftest.is_file() else ())}
    packages = {name.partition(".")[0] for path in modules for name in _imports(path)}
    named = [*packages, *(pattern for path in modules for pattern in _quoted(path))]
    left_out = {path.resolve() for path in apart}
    found = set(modules)
    for path in home.iterdir():
        if path == source or path.stem == "mutants" or path.name.startswith("."):
            continue
        names = [path.name, *([path.stem] if path.suffix == ".py" else [])]
        if any(fnmatchcase(name, pattern) for name in names for pattern in named):
            found.update(_below(path, left_out))
    total = hashlib.sha256(more.encode())
    for path in sorted(found):
        total.update(str(path.relative_to(home)).encode("utf-8", "surrogateescape") + b"\0")
        with path.open("rb") as file:
            total.update(hashlib.file_digest(file, "sha256").digest())
    return total.hexdigest()


def with_imports(module: Path) -> tuple[Path, ...]:
    """Return a module and those beside it which it imports, directly or not."""
    found, todo = [module], [module]
    while todo:
        for name in _imports(todo.pop()):
            path = module.parent / f"{name}.py"
            if path.is_file() and path not in found:
                found.append(path)
                todo.append(path)
    return tuple(found)


def _imports(path: Path) -> list[str]:
    names: list[str] = []
    for node in ast.walk(_parsed(path)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.append(node.module)
    return names


def _quoted(path: Path) -> set[str]:
    """Return patterns of the file names in a module: the parts of paths among its strings.

    What is filled in is a star, as in f"case_{i}.json"; an ending alone, as in ".json", is that of
    any file. A pattern without a letter or digit is left out, for it would fit all.
    """
    found: set[str] = set()
    nodes = list(ast.walk(_parsed(path)))
    filled = [node for node in nodes if isinstance(node, ast.JoinedStr)]
    pieces = {part for node in filled for part in node.values}
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            parts = [p.value if isinstance(p, ast.Constant) else "*" for p in node.values]
            text = "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in pieces:
            text = re.sub(r"%[-\d.]*[a-z]|\{[^{}]*\}", "*", node.value)
        else:
            continue
        found.update(re.split(r"[/\\]", text))
    return {f"*{p}" if p.startswith(".") else p for p in found if re.search(r"\w", p)}


def _below(path: Path, apart: Set[Path]) -> Iterator[Path]:
    """Yield the files in a folder, or the file itself, without what is apart."""
    if path.resolve() in apart:
        return
    if path.is_dir():
        for inner in path.iterdir():
            if not (inner.is_symlink() and inner.is_dir()):  # it could lead back to here
                yield from _below(inner, apart)
    elif path.is_file() and path.suffix != ".pyc":
        yield path


def _parsed(path: Path) -> ast.Module:
    try:
        return ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):
        return ast.Module([], [])  # running it says what is wrong

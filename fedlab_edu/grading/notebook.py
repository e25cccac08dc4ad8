"""A notebook becomes a module: imports, functions, classes and plain constants of its code cells.

What else is in a notebook (experiments, magics, plots, a stray ``exit()``) has no part in grading,
and cells may be copied, moved or broken. The last definition of a name counts, as it does where
all cells run from the top. The same conversion serves at home and in grading.

This file needs nothing but the standard library, and no other file of the package: grading runs it
as a program of its own, so that a text made to break Python's parser breaks that program only.

    python -I notebook.py NAMES < NOTEBOOK > JSON
"""

import ast
import builtins
import json
import re
import subprocess
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

SECONDS = 20.0  # for one notebook, which takes a few hundredths of one
MEMORY = 1 << 30  # bytes of address space, likewise
CONFLICT = "<<<<<<<"
COUNTS = "only imports, functions, classes and plain constants count"

_MAGIC = re.compile(r"^\s*[%!?]|^\s*[\w.]+\?{1,2}\s*$")
_ASSIGNED = re.compile(r"^(\s*\w+\s*=\s*)[%!]")
_Import = ast.Import | ast.ImportFrom
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class NotANotebook(ValueError):
    """Why a text cannot be read as a notebook, to follow "the notebook"."""


@dataclass
class Module:
    """The text of the module, and what its author should know about how it came about."""

    source: str
    notes: list[str] = field(default_factory=list)


def convert(text: str, names: Collection[str] = ()) -> Module:
    """The module in a notebook of any version of the format.

    Args:
        names: what the assignment asks for; notes are about these.

    Raises:
        NotANotebook: it is none.
    """
    taken: list[str] = []
    notes: list[str] = []
    known = set(dir(builtins))
    defined: dict[str, int] = {}  # asked-for name -> cell
    dropped: dict[str, int] = {}  # assigned, but not a constant -> cell
    changed: dict[str, int] = {}  # kept, and then changed by a line that is not -> cell
    used: set[str] = set()  # what functions and classes look up
    for number, (kind, source) in enumerate(_cells(text), start=1):
        if kind != "code":
            for name in names:
                if re.search(rf"^\s*(def|class) {name}\b", source, re.MULTILINE):
                    notes.append(
                        f"cell {number}: {name} stands in a {kind or 'nameless'} cell, so it does "
                        "not count: make it a code cell"
                    )
            continue
        code = _without_magics(source)
        try:
            tree = ast.parse(code)
        except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
            at = getattr(error, "lineno", None)
            line = f", line {at}" if at else ""
            why = getattr(error, "msg", "") or type(error).__name__
            what = "has conflict markers of git" if CONFLICT in code else f"is not Python ({why})"
            notes.append(f"cell {number}{line}: the cell {what}, so it does not count")
            continue
        lines = code.split("\n")  # as Python counts them: no form feed, nothing of Unicode's
        for node in tree.body:
            bound = _bound(node)
            if not _is_kept(node, known):
                changed |= dict.fromkeys(known & {*bound, *_changed(node)}, number)
                dropped |= dict.fromkeys(bound, number)
                continue
            known |= set(bound)
            if not isinstance(node, ast.AugAssign):
                changed = {name: cell for name, cell in changed.items() if name not in bound}
            if isinstance(node, _Definition):
                if node.name in names and node.name in defined:
                    cells = f"cells {defined[node.name]} and {number}"
                    notes.append(f"{node.name} is defined twice ({cells}): the last one counts")
                defined[node.name] = number
                used |= _read(node) | {node.name}
            part = f"# cell {number}\n{_text(node, lines)}"
            if isinstance(node, ast.ImportFrom) and node.module == "__future__":
                taken.insert(0, part)  # Python wants it above all else
            else:
                taken.append(part)
            notes += [
                f"cell {number} needs {name}, which cell {dropped[name]} computes: {COUNTS}"
                for name in sorted(_read(node) & (dropped.keys() - known))
            ]
    notes += [
        f"cell {cell} changes {name}, which does not count: {COUNTS}"
        for name, cell in changed.items()
        if name in used
    ]
    notes += [
        f"cell {dropped[name]} has {name} within another statement: {COUNTS}"
        if name in dropped
        else f"no code cell defines {name}"
        for name in names
        if name not in known and not any(f" {name} " in note for note in notes)
    ]
    return Module("\n\n".join(taken) + "\n", notes)


def looks_like_notebook(data: bytes) -> bool:
    """Whether a file that is called a module is a notebook that was saved under its name."""
    return data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") and b'"cells"' in data


def convert_apart(text: str, names: Collection[str] = ()) -> Module:
    """As `convert`, in a process of its own with limits of time and memory.

    Raises:
        NotANotebook: it is none, or reading it breaks a limit.
    """
    command = [sys.executable, "-I", "-S", "-X", "utf8", __file__, *names]
    try:
        done = subprocess.run(
            command, input=text, capture_output=True, encoding="utf-8", timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        raise NotANotebook(f"takes longer than {SECONDS:g} seconds to read") from None
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        raise NotANotebook("is too deeply nested or too large to read") from None
    if "problem" in answer:
        raise NotANotebook(answer["problem"])
    return Module(**answer)


def _cells(text: str) -> Iterator[tuple[str, str]]:
    """(kind, source) of each cell."""
    try:
        notebook = json.loads(text)
    except ValueError as error:
        if CONFLICT in text:
            raise NotANotebook("has conflict markers of git: resolve the merge") from None
        at = f" at line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        why = f"is not a notebook (no JSON{at}): save it again in Jupyter"
        raise NotANotebook(why) from None
    except RecursionError:
        raise NotANotebook("is not a notebook: it is nested too deeply") from None
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    if cells is None and isinstance(notebook, dict):  # format 3
        sheets = notebook.get("worksheets")
        sheets = [s for s in sheets if isinstance(s, dict)] if isinstance(sheets, list) else []
        parts = [s.get("cells") for s in sheets]
        cells = [c for part in parts if isinstance(part, list) for c in part] if sheets else None
    if not isinstance(cells, list):
        raise NotANotebook("is not a notebook: it has no cells")
    for cell in cells:
        if isinstance(cell, dict):
            source = cell.get("source", cell.get("input", ""))
            source = "".join(map(str, source)) if isinstance(source, list) else str(source)
            yield str(cell.get("cell_type", "")), source.replace("\r\n", "\n").replace("\r", "\n")


def _without_magics(source: str) -> str:
    """The code with a blank line in place of each line that only IPython understands."""
    if re.match(r"\s*%%(?!time|capture|prun)", source):  # the cell is HTML, shell, a file...
        return ""
    try:
        ast.parse(source)
        return source  # so that a % at the beginning of a continued line stays
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        pass
    lines = source.split("\n")
    return "\n".join(
        _ASSIGNED.sub(r"\1None #", line) if not _MAGIC.search(line) else "" for line in lines
    )


def _is_kept(node: ast.stmt, known: set[str]) -> bool:
    if isinstance(node, _Definition | _Import):
        return True
    if isinstance(node, ast.Try):  # an import that may fail, and what to do then
        parts = [node.body, *(h.body for h in node.handlers), node.orelse, node.finalbody]
        inner = [statement for part in parts for statement in part]
        imported = {name for s in inner if isinstance(s, _Import) for name in _bound(s)}
        return isinstance(node.body[0], _Import) and all(
            isinstance(s, ast.Pass) or _is_kept(s, known | imported) for s in inner
        )
    if isinstance(node, ast.AugAssign):
        return (
            isinstance(node.target, ast.Name)
            and not isinstance(node.op, ast.Pow)
            and _is_constant(node.value)
            and _loaded(node.value) | {node.target.id} <= known
        )
    if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
        return False
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    plain = all(isinstance(t, ast.Name | ast.Tuple) for t in targets)
    return plain and _is_constant(node.value) and _loaded(node.value) <= known


def _is_constant(value: ast.expr) -> bool:
    """Nothing is called and nothing is repeated; a function without a name may do both."""
    busy = (ast.Call, ast.Await, ast.Yield, ast.YieldFrom, ast.Subscript)
    loops = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.NamedExpr, ast.Pow)
    return not any(isinstance(node, busy + loops) for node in _outside_lambdas(value))


def _outside_lambdas(value: ast.AST) -> Iterator[ast.AST]:
    yield value
    if not isinstance(value, ast.Lambda):
        for child in ast.iter_child_nodes(value):
            yield from _outside_lambdas(child)


def _loaded(value: ast.AST) -> set[str]:
    """The names that are looked up when the line runs."""
    return {n.id for n in _outside_lambdas(value) if isinstance(n, ast.Name)}


def _read(node: ast.AST) -> set[str]:
    """All names that are looked up, then or later, and not bound inside."""
    inner = [n for n in ast.walk(node) if isinstance(n, ast.Name | ast.arg)]
    bound = {n.arg for n in inner if isinstance(n, ast.arg)}
    bound |= {n.id for n in inner if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return {n.id for n in inner if isinstance(n, ast.Name)} - bound


def _bound(node: ast.stmt) -> list[str]:
    if isinstance(node, _Definition):
        return [node.name]
    if isinstance(node, _Import):
        return [(alias.asname or alias.name).partition(".")[0] for alias in node.names]
    inner = [n for child in ast.iter_child_nodes(node) for n in _here(child)]
    names = [name for n in inner if isinstance(n, _Definition | _Import) for name in _bound(n)]
    return names + [n.id for n in inner if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]


def _here(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all within it, except what is inside of functions and classes."""
    yield node
    if not isinstance(node, _Definition | ast.Lambda):
        for child in ast.iter_child_nodes(node):
            yield from _here(child)


def _changed(node: ast.stmt) -> Iterator[str]:
    """The names to whose entries or attributes a statement assigns."""
    for inner in _here(node):
        if isinstance(inner, ast.Attribute | ast.Subscript) and isinstance(inner.ctx, ast.Store):
            base: ast.AST = inner
            while isinstance(base, ast.Attribute | ast.Subscript):
                base = base.value
            if isinstance(base, ast.Name):
                yield base.id


def _text(node: ast.stmt, lines: list[str]) -> str:
    """The lines of a statement, without others that stand on them behind a semicolon."""
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
    part = [line.encode() for line in lines[first - 1 : node.end_lineno]]  # columns are bytes
    if part[-1][node.end_col_offset :].lstrip().startswith(b";"):
        part[-1] = part[-1][: node.end_col_offset]
    if first == node.lineno:
        part[0] = part[0][node.col_offset :]
    text = b"\n".join(part).decode()
    if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign) and _may_raise(node):
        # As in Jupyter, where all that follows can be run nevertheless.
        return f"try: {text}\nexcept Exception: pass"
    return text


def _may_raise(node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> bool:
    if not isinstance(node, ast.Assign) or any(isinstance(t, ast.Tuple) for t in node.targets):
        return True
    plain = (ast.Constant, ast.List, ast.Tuple, ast.expr_context)
    return not all(isinstance(n, plain) for n in ast.walk(node.value))


def main(names: list[str]) -> None:
    """Read a notebook from standard input, and print the module, or the problem, as JSON."""
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    except (ImportError, ValueError, OSError):
        pass  # Windows has no such limit
    try:
        answer = vars(convert(sys.stdin.read(), names))
    except (NotANotebook, MemoryError, RecursionError) as error:
        answer = {"problem": str(error) or "is too deeply nested or too large to read"}
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1:])

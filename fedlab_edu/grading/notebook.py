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
import keyword
import re
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

SECONDS = 20.0  # for one notebook, which takes a few hundredths of one
MEMORY = 1 << 30  # bytes of address space, likewise
LINE = 80  # characters of a student's line that are shown
CONFLICT = "<<<<<<<"
BROKEN = "cannot be read"
MISSING = "no code cell defines"
COUNTS = "only imports, functions, classes and plain constants count"

_MAGIC = re.compile(r"^\s*[%!?]|^\s*[\w.]+\?{1,2}\s*$")
_ASSIGNED = re.compile(r"^(\s*\w+\s*=\s*)[%!]")
# What is nearly a definition too: Def, define, function; and a name that gets a lambda.
_DEFINES = re.compile(
    r"^[ \t]*+(?:async[ \t]++)?(?:(class|def\w*|func\w*)[ \t]++)?(\w++)"
    r"(?(1)|[ \t]*+=[ \t]*+lambda\b)",
    re.MULTILINE | re.IGNORECASE,
)
_RAISES = {
    "def": "def {0}(*_, **__):\n    raise SyntaxError(_broken_{0})",
    "class": "class {0}:\n    def __init__(self, *_, **__):\n"
    "        raise SyntaxError(_broken_{0})",
}
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

    What a cell defines that Python cannot read, and no other cell does, raises the reason when it
    is called. In Jupyter, too, a broken cell is lost and the others run; so a broken answer costs
    its own question, and not those that are right. As a module the same text would cost them all.

    Args:
        names: what the assignment asks for; notes are about these.

    Raises:
        NotANotebook: it is none; or it has none of the names, and one stands in a broken cell.
    """
    notes: list[str] = []
    outside: dict[str, str] = {}  # name -> note on the text cell that holds it
    cells: list[tuple[int, str, ast.Module]] = []
    broken: dict[str, tuple[str, str]] = {}  # name -> (keyword, what is wrong with its cell)
    for number, (kind, source) in enumerate(_cells(text), start=1):
        if kind != "code":
            outside |= {
                name: f"cell {number}: {name} stands in a {kind or 'nameless'} cell, so it does "
                "not count: make it a code cell"
                for name in names
                if re.search(rf"^\s*(def|class) {name}\b", source, re.MULTILINE)
            }
            continue
        code = _without_magics(source)
        try:
            cells.append((number, code, ast.parse(code)))
        except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
            fault = _fault(number, source, error)
            notes.append(f"{fault}, so the cell does not count")
            broken |= {name: (word, fault) for word, name in _defined(code, names)}
    taken = _Taken(names, broken)
    for number, code, tree in cells:
        lines = code.split("\n")  # as Python counts them: no form feed, nothing of Unicode's
        for node in tree.body:
            taken.add(number, node, lines)
    notes += [note for name, note in outside.items() if name not in taken.made]
    lost = {name: why for name, why in broken.items() if name not in taken.made}
    asked = [name for name in names if name in lost]
    if asked and not taken.made.intersection(names):
        fault = lost[asked[0]][1]
        what = " or ".join(name for name in asked if lost[name][1] == fault)
        raise NotANotebook(
            f"cannot be run: {fault}, and no other cell defines {what}: mend that cell"
        )
    return Module(taken.source(lost), [*notes, *taken.remarks(notes)])


class _Taken:
    """What is taken from the cells, statement by statement.

    Args:
        names: what the assignment asks for.
        broken: names that cells define which Python cannot read.
    """

    def __init__(self, names: Collection[str], broken: Collection[str]) -> None:
        self.names = names
        self.parts: list[tuple[str, str]] = []  # (name if it is a stub, text)
        self.future: list[str] = []  # Python wants it above all else
        self.notes: list[str] = []
        self.known = {*dir(builtins), *broken}
        self.made: set[str] = set()  # bound by what is taken, if it is more than a stub
        self.defined: dict[str, int] = {}  # asked-for name -> cell
        self.dropped: dict[str, int] = {}  # assigned, but not a constant -> cell
        self.changed: dict[str, int] = {}  # kept, and then changed by a line that is not -> cell
        self.used: set[str] = set()  # what functions and classes look up

    def add(self, number: int, node: ast.stmt, lines: list[str]) -> None:
        """Take a statement of a cell, or pass it over."""
        bound = _bound(node)
        if not _is_kept(node, self.known):
            self.changed |= dict.fromkeys(self.known & {*bound, *_changed(node)}, number)
            self.dropped |= dict.fromkeys(bound, number)
            return
        self.known |= set(bound)
        if not isinstance(node, ast.AugAssign):
            self.changed = {name: at for name, at in self.changed.items() if name not in bound}
        stub = ""
        if isinstance(node, _Definition):
            if node.name in self.names and node.name in self.defined:
                cells = f"cells {self.defined[node.name]} and {number}"
                self.notes.append(f"{node.name} is defined twice ({cells}): the last one counts")
            self.defined[node.name] = number
            self.used |= _read(node) | {node.name}
            stub = node.name if _is_stub(node) else ""
        self.made |= set(bound) - {stub}
        part = f"# cell {number}\n{_text(node, lines)}"
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            self.future.insert(0, part)
        else:
            self.parts.append((stub, part))
        self.notes += [
            f"cell {number} needs {name}, which cell {self.dropped[name]} computes: {COUNTS}"
            for name in sorted(_read(node) & (self.dropped.keys() - self.known))
        ]

    def source(self, lost: Mapping[str, tuple[str, str]]) -> str:
        """The text of the module.

        Args:
            lost: names that only a broken cell defines, with their keyword and what is wrong.
        """
        parts = [part for stub, part in self.parts if stub not in lost]
        raises = [
            f"_broken_{name} = {fault!r}\n{_RAISES[word].format(name)}"
            for name, (word, fault) in lost.items()
        ]  # above the others: one may be the base of another class
        return "\n\n".join([*self.future, *raises, *parts]) + "\n"

    def remarks(self, notes: list[str]) -> list[str]:
        """What the author should know, where the notes before these do not say it."""
        told = self.notes + [
            f"cell {cell} changes {name}, which does not count: {COUNTS}"
            for name, cell in self.changed.items()
            if name in self.used
        ]
        return told + [
            f"cell {self.dropped[name]} has {name} within another statement: {COUNTS}"
            if name in self.dropped
            else f"{MISSING} {name}"
            for name in self.names
            if name not in self.known and not any(f" {name} " in n for n in (*notes, *told))
        ]


def _fault(number: int, source: str, error: Exception) -> str:
    """What is wrong with a cell that Python cannot read, and the line of it."""
    if any(line.startswith(CONFLICT) for line in source.split("\n")):
        return f"cell {number} has conflict markers of git (resolve the merge)"
    why = getattr(error, "msg", "") or str(error) or type(error).__name__
    at = getattr(error, "lineno", None) or 0
    line = "".join(source.split("\n")[at - 1 : at]).strip()
    place = f"cell {number}, line {at}" if at else f"cell {number}"
    return f"{place}{f': {line[:LINE]!r}' if line else ''} is not Python ({why})"


def _defined(code: str, names: Collection[str]) -> list[tuple[str, str]]:
    """(def or class, name) of what a text that is not Python was to define."""
    found = [(m[1] or "def", m[2]) for m in _DEFINES.finditer(code)]
    hidden = {*dir(builtins), *keyword.kwlist} - set(names)  # a scratch cell must not cost these
    return [
        ("class" if word.lower() == "class" else "def", name)
        for word, name in found
        if name.isidentifier() and name not in hidden
    ]


def _is_stub(node: ast.AST) -> bool:
    """Whether a function, or all those of a class, only raise NotImplementedError."""
    if isinstance(node, ast.ClassDef):
        inner = [n for n in node.body if isinstance(n, _Definition)]
        return bool(inner) and all(map(_is_stub, inner))
    assert isinstance(node, _Definition)
    last = node.body[-1]
    return (
        isinstance(last, ast.Raise)
        and last.exc is not None
        and "NotImplementedError" in ast.dump(last.exc)
        and not any(isinstance(n, ast.Return) for n in ast.walk(node))
    )


def answers(text: str) -> dict[str, str]:
    """What a module binds: name -> the code, without comments, docstrings and the signature.

    Of a text that is not Python these are the names of what it was to define, without the code.
    """
    try:
        tree = ast.parse(text)
        for node in ast.walk(tree):
            if isinstance(node, _Definition) and ast.get_docstring(node, clean=False) is not None:
                del node.body[0]
        return {
            name: "\n".join(map(ast.dump, node.body if isinstance(node, _Definition) else [node]))
            for node in tree.body
            for name in _bound(node)
        }
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return {name: BROKEN for _, name in _defined(text, ())}


def answers_apart(text: str) -> dict[str, str]:
    """As `answers`, in a process of its own with limits of time and memory."""
    try:
        return _apart(["--answers"], text)
    except NotANotebook:
        return {name: BROKEN for _, name in _defined(text, ())}


def looks_like_notebook(name: str, data: bytes) -> bool:
    """Whether a file is a notebook, by its name, or saved as one under the name of a module."""
    if name.lower().endswith(".ipynb"):
        return True
    return data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") and b'"cells"' in data


def convert_apart(text: str, names: Collection[str] = ()) -> Module:
    """As `convert`, in a process of its own with limits of time and memory.

    Raises:
        NotANotebook: it is none, or reading it breaks a limit.
    """
    answer = _apart(list(names), text)
    if "problem" in answer:
        raise NotANotebook(answer["problem"])
    return Module(**answer)


def _apart(arguments: list[str], text: str) -> dict[str, Any]:
    command = [sys.executable, "-I", "-S", "-X", "utf8", __file__, *arguments]
    try:
        done = subprocess.run(
            command, input=text, capture_output=True, encoding="utf-8", timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        raise NotANotebook(f"takes longer than {SECONDS:g} seconds to read") from None
    try:
        answer: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        raise NotANotebook("is too deeply nested or too large to read") from None
    return answer


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
    loops = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Pow)
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
    """Read a notebook from standard input, and print the module, or the problem, as JSON.

    Args:
        names: what is asked for; or ``--answers``, and the text is a module.
    """
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    except (ImportError, ValueError, OSError):
        pass  # Windows has no such limit
    try:
        text = sys.stdin.read()
        answer = answers(text) if names == ["--answers"] else vars(convert(text, names))
    except NotANotebook as error:
        answer = {"problem": str(error)}
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1:])

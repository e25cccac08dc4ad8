"""Convert the cells of a notebook to a module, with notes on what does not count."""

import ast
import builtins
import re
import warnings
from collections.abc import Collection, Iterator, Mapping

from fedlab_grade.notebook.cells import (
    UNREADABLE,
    Module,
    NotANotebook,
    cells_of,
    defined,
    fault,
    python_of,
)
from fedlab_grade.notebook.kept import Names
from fedlab_grade.notebook.names import (
    Block,
    Definition,
    bound,
    changed,
    definitions,
    deleted,
    is_stub,
    read,
)
from fedlab_grade.notebook.places import ALL_LOST, LOST, may_raise, part

BROKEN = "cannot be read"
MISSING = "no code cell defines"
COUNTS = "only imports, functions, classes and plain constants count"

_RAISES = {
    "def": "def {0}(*_, **__):\n    raise SyntaxError(_broken_{0})",
    "class": "class {0}:\n    def __init__(self, *_, **__):\n"
    "        raise SyntaxError(_broken_{0})",
}


def convert(text: str, names: Collection[str] = (), files: Collection[str] = ()) -> Module:
    """Return the module in a notebook of any version of the format.

    What a cell defines that Python cannot read, and no other cell does, raises the reason when it
    is called. In Jupyter, too, a broken cell is lost and the others run; so a broken answer costs
    its own question, and not those that are right. As a module the same text would cost them all.

    Args:
        names: what the assignment asks for; notes are about these.
        files: the names of the file that it asks for, without the ending.

    Raises:
        NotANotebook: it is none; or it has none of the names, and one stands in a broken cell.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they are about the student's text, such as "\d"
        return _convert(text, names, files)


def _convert(text: str, names: Collection[str], files: Collection[str]) -> Module:
    notes: list[str] = []
    outside: dict[str, str] = {}  # name -> note on the text cell that holds it
    cells: list[tuple[int, str, list[ast.stmt]]] = []
    broken: dict[str, tuple[str, str]] = {}  # name -> (keyword, what is wrong with its cell)
    for number, (kind, source) in enumerate(cells_of(text), start=1):
        if kind != "code":
            outside |= {
                name: f"cell {number}: {name} stands in a {kind or 'nameless'} cell, so it does "
                "not count: make it a code cell"
                for name in names
                if re.search(rf"^\s*(def|class) {name}\b", source, re.MULTILINE)
            }
            continue
        code, file = python_of(source, files)
        if file:
            notes.append(f"cell {number} writes the file {file!r}: what is in it does not count")
        try:
            body = ast.parse(code).body
        except UNREADABLE as error:
            why = fault(number, source, error)
            notes.append(f"{why}, so the cell does not count")
            broken |= {name: (word, why) for word, name in defined(code, names)}
            continue
        problems = {id(node): problem for node in body if (problem := _unreadable(node))}
        for node in (node for node in body if id(node) in problems):
            why = fault(number, source, problems[id(node)])
            notes.append(f"{why}, so it does not count")
            broken |= {
                n.name: ("class" if isinstance(n, ast.ClassDef) else "def", why)
                for n in definitions(node)
                if n.name in names or n.name not in dir(builtins)
            }
        cells.append((number, code, [node for node in body if id(node) not in problems]))
    taken = _Taken(names, broken)
    for number, code, good in cells:
        lines = code.split("\n")  # as Python counts them: no form feed, nothing of Unicode's
        for node in good:
            taken.add(number, node, lines)
    notes += [note for name, note in outside.items() if name not in taken.made]
    lost = {name: why for name, why in broken.items() if name not in taken.made}
    asked = [name for name in names if name in lost]
    if asked and not taken.made.intersection(names):
        why = lost[asked[0]][1]
        what = " or ".join(name for name in asked if lost[name][1] == why)
        raise NotANotebook(
            f"cannot be run: {why}, and no other cell defines {what}: mend that cell"
        )
    return Module(taken.source(lost), [*notes, *taken.remarks(notes)])


def _unreadable(node: ast.stmt) -> Exception | None:
    """Return the compiler's objection to a function, a class or a block that parses."""
    if isinstance(node, Definition | Block | ast.ImportFrom | ast.Assign | ast.AnnAssign):
        try:
            compile(ast.Module([node], []), "cell", "exec", dont_inherit=True)
        except UNREADABLE as error:
            top_level_await = "outside" in str(error) and not isinstance(node, Definition)
            return None if top_level_await else error
    return None


class _Taken:
    """The statements that are taken from the cells.

    Args:
        names: what the assignment asks for.
        broken: names that cells define which Python cannot read.
    """

    def __init__(self, names: Collection[str], broken: Collection[str]) -> None:
        self.names = names
        self.parts: list[tuple[str, str]] = []  # (name if it is a stub, text)
        self.future: list[str] = []  # Python wants it above all else
        self.notes: list[str] = []
        self.here = Names(broken)
        self.made: set[str] = set()  # bound by what is taken, if it is more than a stub
        self.wrapped = False  # whether something may fail while the module runs
        self.defined: dict[str, int] = {}  # asked-for name -> cell
        self.dropped: dict[str, int] = {}  # assigned, but not a constant -> cell
        self.changed: dict[str, int] = {}  # kept, and then changed by a line that is not -> cell
        self.used: set[str] = set()  # what functions and classes look up

    def add(self, number: int, node: ast.stmt, lines: list[str]) -> None:
        """Take a statement of a cell, or pass it over."""
        names = bound(node)
        if not self.here.keeps(node) or (
            isinstance(node, ast.Delete) and deleted(node, self.names)
        ):
            changes = self.here.known & {*names, *changed(node)}
            self.changed |= dict.fromkeys(changes, number)
            self.dropped |= dict.fromkeys(names, number)
            return
        self.here.bind(node)
        if not isinstance(node, ast.AugAssign):
            self.changed = {name: at for name, at in self.changed.items() if name not in names}
        for inner in definitions(node):
            if inner.name in self.names and self.defined.get(inner.name, number) != number:
                cells = f"cells {self.defined[inner.name]} and {number}"
                self.notes.append(f"{inner.name} is defined twice ({cells}): the last one counts")
            self.defined[inner.name] = number
            self.used |= read(inner) | {inner.name}
        stub = node.name if isinstance(node, Definition) and is_stub(node) else ""
        self.made |= set(names) - {stub}
        text = part(number, node, lines)
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            self.future.insert(0, text)
        else:
            self.parts.append((stub, text))
            self.wrapped |= may_raise(node)
        self.notes += [
            f"cell {number} needs {name}, which cell {self.dropped[name]} computes: {COUNTS}"
            for name in sorted(read(node) & (self.dropped.keys() - self.here.known))
        ]

    def source(self, lost: Mapping[str, tuple[str, str]]) -> str:
        """Return the text of the module.

        Args:
            lost: names that only a broken cell defines, with their keyword and what is wrong.
        """
        parts = [part for stub, part in self.parts if stub not in lost]
        raises = [
            f"_broken_{name} = {fault!r}\n{_RAISES[word].format(name)}"
            for name, (word, fault) in lost.items()
        ]  # above the others: one may be the base of another class
        asked = [name for name in self.names if name in self.here.known and name not in lost]
        first = [LOST] if self.wrapped else []
        last = [ALL_LOST.format(asked)] if self.wrapped and asked else []
        return "\n\n".join([*self.future, *first, *raises, *parts, *last]) + "\n"

    def remarks(self, notes: list[str]) -> list[str]:
        """Return what the author should know and the earlier notes do not say."""
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
            if name not in self.here.known and not any(f" {name} " in n for n in (*notes, *told))
        ]


def answers(text: str) -> dict[str, str]:
    """Return what a module binds: name -> code, without comments, docstrings and signature.

    Of a text that is not Python these are the names of what it was to define, without the code.
    """
    try:
        tree = ast.parse(text)
        for node in ast.walk(tree):
            if isinstance(node, Definition) and ast.get_docstring(node, clean=False) is not None:
                del node.body[0]
        return {
            name: "\n".join(map(ast.dump, node.body if isinstance(node, Definition) else [node]))
            for node in _statements(tree.body)
            for name in bound(node)
        }
    except UNREADABLE:
        return {name: BROKEN for _, name in defined(text, ())}


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements, and those within blocks."""
    for node in body:
        if not isinstance(node, Block):
            yield node
            continue
        if isinstance(node, ast.Try):
            for handler in node.handlers:
                yield from _statements(handler.body)
        for inner in (node.body, getattr(node, "orelse", []), getattr(node, "finalbody", [])):
            yield from _statements(inner)

"""Convert the cells of a notebook to a module, with notes on what does not count."""

import ast
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
from fedlab_grade.notebook.kept import Statement, inside, is_kept, needed_names
from fedlab_grade.notebook.names import BUILTINS, Block, Definition, bound, definitions, is_stub
from fedlab_grade.notebook.places import ALL_LOST, LOST, may_raise, part

BROKEN = "cannot be read"
MISSING = "no code cell defines"
COUNTS = "only imports, functions, classes, and assignments that an answer needs count"

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
        names: what the assignment asks for; without them all assignments count.
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
    statements: list[Statement] = []
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
        lines = code.split("\n")  # as Python counts them: no form feed, nothing of Unicode's
        for node in body:
            if problem := _unreadable(node):
                why = fault(number, source, problem)
                notes.append(f"{why}, so it does not count")
                broken |= {
                    n.name: ("class" if isinstance(n, ast.ClassDef) else "def", why)
                    for n in definitions(node)
                    if n.name in names or n.name not in BUILTINS
                }
            else:
                statements.append(Statement(number, node, lines))
    needed = needed_names(statements, names)
    kept = [s for s in statements if is_kept(s, needed)]
    made = {n for s in kept if not _is_blank(s.node) for n in bound(s.node)}
    notes += [note for name, note in outside.items() if name not in made]
    lost = {name: why for name, why in broken.items() if name not in made}
    asked = [name for name in names if name in lost]
    if asked and not made.intersection(names):
        why = lost[asked[0]][1]
        what = " or ".join(name for name in asked if lost[name][1] == why)
        told = f"cannot be run: {why}, and no other cell defines {what}: mend that cell"
        raise NotANotebook(told)
    dropped = [s for s in statements if s.sets & needed and not is_kept(s, needed)]
    remarks = _remarks(kept, dropped, names, {*broken}, notes)
    return Module(_source(kept, lost, names), [*notes, *remarks])


def _unreadable(node: ast.stmt) -> Exception | None:
    """Return the compiler's objection to a function, a class or a block that parses."""
    if isinstance(node, Definition | Block | ast.ImportFrom | ast.Assign | ast.AnnAssign):
        try:
            compile(ast.Module([node], []), "cell", "exec", dont_inherit=True)
        except UNREADABLE as error:
            top_level_await = "outside" in str(error) and not isinstance(node, Definition)
            return None if top_level_await else error
    return None


def _is_blank(node: ast.stmt) -> bool:
    return isinstance(node, Definition) and is_stub(node)


def _source(
    kept: Collection[Statement],
    lost: Mapping[str, tuple[str, str]],
    names: Collection[str],
) -> str:
    """Return the text of the module.

    Args:
        lost: names that only a broken cell defines, with their keyword and what is wrong.
    """
    future: list[str] = []
    parts: list[str] = []
    for s in kept:
        above = isinstance(s.node, ast.ImportFrom) and s.node.module == "__future__"
        if not (_is_blank(s.node) and s.sets & lost.keys()):
            (future if above else parts).append(part(s.cell, s.node, s.lines))
    raises = [
        f"_broken_{name} = {fault!r}\n{_RAISES[word].format(name)}"
        for name, (word, fault) in lost.items()
    ]  # above the others: one may be the base of another class
    known = {name for s in kept for name in s.sets}
    asked = [name for name in names if name in known and name not in lost]
    wrapped = any(may_raise(s.node) for s in kept)
    first = [LOST] if wrapped else []
    last = [ALL_LOST.format(asked)] if wrapped and asked else []
    return "\n\n".join([*future, *first, *raises, *parts, *last]) + "\n"


def _remarks(
    kept: Collection[Statement],
    dropped: Collection[Statement],
    names: Collection[str],
    broken: set[str],
    notes: Collection[str],
) -> Iterator[str]:
    """Yield what the author should know and the earlier notes do not say."""
    known = {name for s in kept for name in s.sets} | broken
    places: dict[str, int] = {}
    for s in kept:
        for inner in definitions(s.node):
            if inner.name in names and places.get(inner.name, s.cell) != s.cell:
                cells = f"cells {places[inner.name]} and {s.cell}"
                yield f"{inner.name} is defined twice ({cells}): the last one counts"
            places[inner.name] = s.cell
    computed = {name: s.cell for s in dropped for name in s.sets}
    for s in kept:
        for name in sorted(s.reads & computed.keys() - known):
            yield f"cell {s.cell} needs {name}, which cell {computed[name]} computes: {COUNTS}"
    for name, cell in computed.items():
        if name in known:
            yield f"cell {cell} changes {name}, which does not count: {COUNTS}"
    for name in names:
        if name in computed and name not in known:
            yield f"cell {computed[name]} has {name} within another statement: {COUNTS}"
        elif name not in known and not any(f" {name} " in note for note in notes):
            yield f"{MISSING} {name}"


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
            for outer in tree.body
            for node in inside(outer)
            for name in bound(node)
        }
    except UNREADABLE:
        return {name: BROKEN for _, name in defined(text, ())}

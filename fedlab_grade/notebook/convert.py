"""Convert the cells of a notebook to a module, with notes on what does not count."""

import ast
import re
import warnings
from collections.abc import Collection, Iterator

from fedlab_grade.notebook.cells import UNREADABLE, Module, cells_of, defined, fault, python_of
from fedlab_grade.notebook.statements import BUILTINS, Definition, Statement, here, kept, start_of
from fedlab_grade.textfile import HEAD, Unusable

MISSING = "no code cell defines"
OUTSIDE = "cell {}: {} stands in a {} cell, so it does not count: make it a code cell"
NO_ANSWER = "cannot be run: {}, and no other cell defines {}: mend that cell"
# A class, for it may be the base of another one.
RAISES = "class {}:\n    def __new__(cls, *_, **__):\n        raise SyntaxError({!r})\n"


def convert(text: str, names: Collection[str] = (), files: Collection[str] = ()) -> Module:
    """Return the module in a notebook of any version of the format.

    A name that only a broken cell defines raises the reason when it is called, so that a broken
    answer costs its own question. In Jupyter, too, the other cells run.

    Args:
        names: what the assignment asks for; without them all assignments count.
        files: the names of the file that it asks for, without the ending.

    Raises:
        Unusable: it is no notebook; or it has none of the names, and one stands in a broken cell.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they are about the student's text, such as "\d"
        return _convert(text, names, files)


def _convert(text: str, names: Collection[str], files: Collection[str]) -> Module:
    notes: list[str] = []
    outside: dict[str, str] = {}  # name -> note on the text cell that holds it
    lines: dict[int, list[bytes]] = {}  # of each cell; as bytes, which columns count
    statements: list[Statement] = []
    broken: dict[str, str] = {}  # name -> what is wrong with its cell
    for number, (kind, source) in enumerate(cells_of(text), start=1):
        if kind != "code":
            found = (
                n for n in names if re.search(rf"^[ \t]*(def|class) {n}\b", source, re.MULTILINE)
            )
            outside |= {name: OUTSIDE.format(number, name, kind or "nameless") for name in found}
            continue
        code, file = python_of(source, files)
        if file:
            notes.append(f"cell {number} writes the file {file!r}: what is in it does not count")
        try:
            body = ast.parse(code).body
            lines[number] = code.encode().split(b"\n")
        except UNREADABLE as error:
            why = fault(number, source, error)
            notes.append(f"{why}, so the cell does not count")
            broken |= dict.fromkeys(defined(code, names), why)
            continue
        for node in body:
            try:
                statements.append(Statement(number, node))
            except UNREADABLE as error:
                why = fault(number, source, error)
                notes.append(f"{why}, so it does not count")
                made = {n.name for n in here(node) if isinstance(n, Definition)}
                broken |= dict.fromkeys(made - (BUILTINS - {*names}), why)
    counts = kept(statements, names)
    made = {name for s in counts for name in s.writes}
    notes += [note for name, note in outside.items() if name not in made]
    lost = {name: why for name, why in broken.items() if name not in made}
    asked = [name for name in names if name in lost]
    if asked and not made.intersection(names):
        why = lost[asked[0]]
        what = " or ".join(name for name in asked if lost[name] == why)
        raise Unusable(NO_ANSWER.format(why, what))
    remarks = _remarks(counts, names, {*broken}, notes)
    parts = [_part(s, lines[s.cell]) for s in counts if s.writes or not s.binds & {*lost}]
    bound = lost.keys() | {name for s in counts for name in s.binds}
    head = " ".join([HEAD, *(name for name in names if name in bound)])
    raising = (RAISES.format(*pair) for pair in lost.items())
    return Module("\n".join([head, *raising, *parts]), [*notes, *remarks])


def _part(statement: Statement, lines: list[bytes]) -> str:
    """Return the text of a statement, below a mark of the place in its cell."""
    node, first = statement.node, start_of(statement.node)
    part = lines[first - 1 : node.end_lineno]
    part[-1] = part[-1][: node.end_col_offset]
    part[0] = part[0][node.col_offset if first == node.lineno else 0 :]
    text = b"\n".join(part).decode()
    return f"# cell {statement.cell}, line {first}\n{text}\n"


def _remarks(
    counts: Collection[Statement], names: Collection[str], broken: set[str], notes: Collection[str]
) -> Iterator[str]:
    """Yield what the author should know and the earlier notes do not say."""
    places: dict[str, int] = {}
    for s in counts:
        for inner in s.made:
            if inner.name in names and places.get(inner.name, s.cell) != s.cell:
                cells = f"cells {places[inner.name]} and {s.cell}"
                yield f"{inner.name} is defined twice ({cells}): the last one counts"
            places[inner.name] = s.cell
    known = broken.union(*(s.sets for s in counts))
    for name in names:
        if name not in known and not any(f" {name} " in note for note in notes):
            yield f"{MISSING} {name}"


def written(text: str) -> set[str]:
    """Return the names that a module binds, but for functions that are still stubs.

    Of a text that is not Python these are the names that it was to define.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            statements = [Statement(0, node) for node in ast.parse(text).body]
    except UNREADABLE:
        return {*defined(text, ())}
    return {name for statement in statements for name in statement.writes}

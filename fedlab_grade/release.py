"""Make the student's file of each exercise from its solution: one source for both.

    python -m fedlab_grade.release [SOLUTIONS_DIR] [EXERCISES_DIR]

A solution is a Python file in cells (``# %%``). The answer of each question stands in a cell
tagged ``exercise`` and between the lines ``# BEGIN SOLUTION`` and ``# END SOLUTION``. A plain file
without markers gets a stub in place of the body of each function (`outline`). What goes out with a
release beside it is in `fedlab_grade.classroom.handout`.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import indent

from fedlab_grade.disk import write_text
from fedlab_grade.options import Refusal

NOT_WRITTEN = "not written yet"
STUB = f"""\
# Your answer goes here: replace the next line.
raise NotImplementedError("{NOT_WRITTEN}")
"""

_Function = ast.FunctionDef | ast.AsyncFunctionDef

# A marker that is nearly right would hand the answer out: whatever looks like one must be one.
_LOOKS_LIKE_MARKER = re.compile(r"#\W*(begin|end)\W*(the\W*)?solution", re.IGNORECASE)
_MARKERS = ["# BEGIN SOLUTION", "# END SOLUTION"]
_ANSWER = re.compile(
    r"^([^\S\n]*)# BEGIN SOLUTION[^\S\n]*\n.*?# END SOLUTION[^\S\n]*\n", re.M | re.S
)


def release(text: str, name: str = "solution.py") -> str:
    """Return the text of a solution with a stub in place of each answer.

    Raises:
        Refusal: the markers of a cell do not balance, a cell tagged ``exercise`` has none, or the
            result is not Python; with the file and the line.
    """
    out, line = "", 1
    for cell in re.split(r"^(?=# %%)", text.rstrip("\n") + "\n", flags=re.MULTILINE):
        found = [part.strip() for part in cell.split("\n") if _LOOKS_LIKE_MARKER.search(part)]
        is_exercise = cell.startswith("# %%") and '"exercise"' in cell.partition("\n")[0]
        if found != _MARKERS * (len(found) // 2) or (is_exercise and not found):
            raise Refusal(
                f"{name}, line {line}: the markers of this cell are {found}; allowed: in turn "
                "# BEGIN SOLUTION and # END SOLUTION, and in an exercise at least one pair."
            )
        out += _ANSWER.sub(lambda match: indent(STUB, match[1]), cell)
        line += cell.count("\n")
    try:
        compile(out, name, "exec")
    except SyntaxError as error:
        at = f"{name}, line {error.lineno} of the student's file"
        raise Refusal(f"{at}: it is not Python: {error.msg}.") from None
    return out


def is_marked(text: str) -> bool:
    """Whether a text has the markers of a solution, or what looks like one."""
    return _LOOKS_LIKE_MARKER.search(text) is not None


def outline(text: str, name: str = "solution.py") -> str:
    """Return the text of a solution without markers, with a stub as the body of each public
    function.

    Docstrings stay, and so does what stands outside of functions; private functions and private
    classes (``_name``) go.

    Raises:
        Refusal: it is not Python, it has no public function, or a function stands where it would
            stay, as within an ``if``.
    """
    try:
        tree = ast.parse(text, name)
    except (SyntaxError, ValueError) as error:
        raise Refusal(f"{name}: it is not Python: {error}.") from None
    lines = text.rstrip("\n").split("\n")  # as Python counts them
    spans = [span for node in tree.body for span in _bodies(node, lines, name)]
    if not any(stub for _, _, stub in spans):
        raise Refusal(f"{name}: it has no function to take an answer out of.")
    for first, last, stub in sorted(spans, reverse=True):
        lines[first - 1 : last] = stub
    released = "\n".join(lines) + "\n"
    try:
        ast.parse(released)
    except SyntaxError:
        raise Refusal(
            f"{name}: with the answers taken out it is not Python; put the body of each function, "
            "and its docstring, on lines of their own."
        ) from None
    return released


def secret(text: str) -> list[list[str]]:
    """Return the lines of each answer in a solution, without margins and blank lines.

    Without markers these are the bodies of all functions, found independently of `outline`, so that
    the guard sees its faults.
    """
    if is_marked(text):
        parts = text.split("# BEGIN SOLUTION")[1:]
        blocks = [part.split("# END SOLUTION")[0].split("\n") for part in parts]
    else:
        lines = text.rstrip("\n").split("\n")
        spans = dict.fromkeys(_answers(ast.parse(text), lines))  # two lambdas may share a line
        blocks = [lines[first - 1 : last] for first, last in spans]
    stripped = [[line.strip() for line in block if line.strip()] for block in blocks]
    return [block for block in stripped if block]


def _answers(tree: ast.AST, lines: list[str]) -> Iterator[tuple[int, int]]:
    """Yield first and last line of the body of each function, and of each lambda outside of one."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Lambda):
            yield node.lineno, node.end_lineno or node.lineno
        elif isinstance(node, _Function):  # its signature stays
            yield from _body(node, lines)
        else:
            yield from _answers(node, lines)


def _body(node: _Function, lines: list[str]) -> list[tuple[int, int]]:
    """Return first and last line of the body of a function, if it has more than a docstring.

    A comment above or below may tell the answer, and belongs to it.
    """
    body = node.body[ast.get_docstring(node, clean=False) is not None :]
    if not body:
        return []
    first = body[0].lineno
    while lines[first - 2].lstrip().startswith("#"):
        first -= 1
    return [(first, _end(node, lines))]


def _end(node: ast.stmt, lines: list[str]) -> int:
    """Return the last line of a function or a class, with the comments below it that are set in."""
    last = at = node.end_lineno or node.lineno
    for line in lines[last:]:
        at += 1
        text = line.lstrip()
        if text and not (text.startswith("#") and len(line) - len(text) > node.col_offset):
            break
        last = at if text else last
    return last


def _bodies(
    node: ast.stmt, lines: list[str], name: str, inside: bool = False
) -> list[tuple[int, int, list[str]]]:
    """Return (first line, last line, stub) of each part of a function or class that goes out."""
    if not isinstance(node, _Function | ast.ClassDef):
        kinds = _Function | ast.ClassDef | ast.Lambda
        if any(isinstance(n, kinds) for n in ast.walk(node)):
            raise Refusal(
                f"{name}, line {node.lineno}: a function within another statement, or a lambda, "
                "would go out as it is: write it as a def of its own, or mark the answers."
            )
        return []
    last = _end(node, lines)
    if node.name.startswith("_") and not inside:
        first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        return [(first, last, [])]
    if isinstance(node, ast.ClassDef):
        return [span for part in node.body for span in _bodies(part, lines, name, inside=True)]
    ends = _body(node, lines)
    if ends and node.body[-1].lineno == node.lineno:
        where = f"{name}, line {node.lineno}"
        raise Refusal(f"{where}: put the body of {node.name} on lines of its own.")
    stub = [" " * node.body[0].col_offset + line for line in STUB.splitlines()]
    return [(first, last, stub) for first, last in ends]


def main(solutions: str = "solutions", exercises: str = "exercises") -> None:
    """Write the student's file of every solution ``exNN_topic.py``."""
    for source in sorted(Path(solutions).glob("ex[0-9][0-9]_*.py")):
        target = Path(exercises) / source.name
        text = release(source.read_text(encoding="utf-8"), str(source))
        write_text(target, text)
        print(target)


if __name__ == "__main__":
    main(*sys.argv[1:])

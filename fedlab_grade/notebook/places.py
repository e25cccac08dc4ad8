"""Write a statement into the module, with a mark of the cell and line that it came from.

Above each statement stands a comment with its cell and line. What may raise when it is defined is
wrapped, so that the rest of the module runs nevertheless, as the other cells do in Jupyter.
"""

import ast
import re
import sys
from bisect import bisect
from collections.abc import Sequence

from fedlab_grade.notebook.names import BUILTINS, Definition, Import, bound, is_main

FOOT = "\nfinally:\n    _soon(0)"
INDENT = " " * 8  # a tab, too, keeps its place behind so many
_MARK = re.compile(r" {0,8}# cell (\d{1,9}), line (\d{1,9})")
_PLACE = re.compile(r"\n  line (\d{1,9})(, in .*)")

SECONDS = 1  # of the processor's time that a statement may take
# A name of a builtin or of an earlier cell keeps its value where a later cell fails, as in Jupyter.
LOST = (
    f"""\
import signal as _signal

def _soon(seconds={SECONDS}):
    if hasattr(_signal, "setitimer"):
        _signal.setitimer(_signal.ITIMER_PROF, seconds)

def _late(*_):
    raise TimeoutError("it takes more than {SECONDS} s")

if hasattr(_signal, "setitimer"):
    _signal.signal(_signal.SIGPROF, _late)

"""
    + """\
class _Lost:  # in place of what a cell could not make: whoever uses it is told why
    def __init__(self, why):
        vars(self)["_why"] = why

    def _tell(self, *_, **__):
        raise NameError(self._why)

    def __getattr__(self, name):
        raise (AttributeError if name.startswith("__") else NameError)(self._why)

    __call__ = __getitem__ = __setitem__ = __contains__ = __iter__ = __len__ = __bool__ = _tell
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _tell
    __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = _tell
    __matmul__ = __rmatmul__ = __neg__ = __lt__ = __le__ = __gt__ = __ge__ = __abs__ = _tell
    __float__ = __int__ = __index__ = __enter__ = __exit__ = __instancecheck__ = _tell


def _lost(error, cell, names):
    why = f"{cell} raised {type(error).__name__}: {error}"[:300]
    for name in names:
        globals().setdefault(name, _Lost(f"name {name!r} is not defined, because {why}"))
"""
)
# Where none of them can be called, there is nothing to be graded, and the author should know.
ALL_LOST = """\
if all(type(globals().get(name)) is _Lost for name in {0!r}):
    raise NameError(globals()[{0!r}[0]]._why)"""


# Each mark in the module: its line, and the cell and the line there of the statement below it.
Places = Sequence[tuple[int, int, int]]


def places_of(source: str) -> list[tuple[int, int, int]]:
    """Return the marks in the module that a notebook became, from the top."""
    marks = ((n, _MARK.fullmatch(line)) for n, line in enumerate(source.split("\n"), start=1))
    return [(number, int(mark[1]), int(mark[2])) for number, mark in marks if mark]


def in_cells(text: str, places: Places) -> str:
    """Return a message in which each line of the module is named by its cell and its line there.

    Args:
        text: with places such as "line 49, in area: ..."; those outside of the notebook's cells
            go.
        places: of the module, as of `places_of`.
    """

    def place(match: re.Match[str]) -> str:
        number = int(match[1])
        at = bisect(places, number, key=lambda mark: mark[0]) - 1
        if at < 0:
            return ""
        mark, cell, first = places[at]
        return f"\n  cell {cell}, line {first + number - mark - 1}{match[2]}"

    return _PLACE.sub(place, text)


def part(number: int, node: ast.stmt, lines: list[str]) -> str:
    """Return the text in the module for a statement of a cell.

    Args:
        lines: of the cell.
    """
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
    mark = f"# cell {number}, line {first}"
    text = _text(node, first, lines)
    if not may_raise(node):
        return f"{mark}\n{text}"
    head, foot = ("", "") if isinstance(node, Import | Definition) else ("_soon()\n", FOOT)
    code = f"{head}try:\n{INDENT}{mark}\n{_indented(text, node, first)}\n"
    names = [name for name in dict.fromkeys(bound(node)) if name not in {*BUILTINS, "*"}]
    shown = _shown(number, first, text)
    return f"{code}except BaseException as _error:\n    _lost(_error, {shown!r}, {names}){foot}"


def _shown(number: int, first: int, text: str) -> str:
    return f"cell {number}, line {first} ({text.strip().partition(chr(10))[0][:80]})"


def _text(node: ast.stmt, first: int, lines: list[str]) -> str:
    """Return the lines of a statement, without others that stand on them behind a semicolon."""
    part = [line.encode() for line in lines[first - 1 : node.end_lineno]]  # columns are bytes
    if part[-1][node.end_col_offset :].lstrip().startswith(b";"):
        part[-1] = part[-1][: node.end_col_offset]
    if is_main(node):
        assert isinstance(node, ast.If)
        test = node.test
        if node.lineno == test.end_lineno:
            line = part[0]
            part[0] = line[: test.col_offset] + b"True" + line[test.end_col_offset :]
    part[0] = part[0][node.col_offset :]
    return b"\n".join(part).decode()


def _indented(text: str, node: ast.stmt, first: int) -> str:
    """Return the text with an indent, except within strings of several lines."""
    fixed = {
        line
        for inner in ast.walk(node)
        if isinstance(inner, ast.JoinedStr)
        or (isinstance(inner, ast.Constant) and isinstance(inner.value, str | bytes))
        for line in range(inner.lineno + 1, (inner.end_lineno or 0) + 1)
    }
    return "\n".join(
        line if number in fixed else INDENT + re.sub(r"^\s*\f", "", line)
        for number, line in enumerate(text.split("\n"), start=first)
    )


def may_raise(node: ast.stmt) -> bool:
    """Whether to run a statement may raise an exception, as far as can be seen."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        given = node.args
        arguments = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
        values = [*node.decorator_list, *given.defaults, *given.kw_defaults, node.returns]
        return not all(map(_is_safe, [*values, *(a.annotation for a in arguments if a)]))
    if isinstance(node, ast.ClassDef):
        values = [*node.decorator_list, *node.bases, *(k.value for k in node.keywords)]
        return not all(map(_is_safe, values)) or any(
            may_raise(n) for n in node.body if not isinstance(n, ast.Pass)
        )
    if isinstance(node, ast.Import):
        return not all(alias.name in sys.stdlib_module_names for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        return node.module != "__future__"
    if isinstance(node, ast.Assign) and all(isinstance(t, ast.Name) for t in node.targets):
        return not _is_safe(node.value)
    return not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


def _is_safe(value: ast.expr | None) -> bool:
    """Whether it is a literal, or the name of a builtin."""
    plain = (ast.Constant, ast.List, ast.Tuple, ast.expr_context)
    return value is None or all(
        isinstance(n, plain) or (isinstance(n, ast.Name) and n.id in BUILTINS)
        for n in ast.walk(value)
    )

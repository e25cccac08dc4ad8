"""The cells of a notebook, and the lines in them that are not Python."""

import ast
import builtins
import json
import keyword
import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from fedlab_grade.textfile import TOO_DEEP, Unusable, some

LINE = 80  # characters of a student's line that are shown
CONFLICT = "<<<<<<<"
UNREADABLE = (SyntaxError, ValueError, MemoryError, RecursionError)  # what Python's parser raises

# Line magics that are common enough to stand in a module that was saved from a notebook.
_KNOWN = (
    "alias|autoreload|bash|capture|cd|clear|colors|conda|config|debug|env|history|html|javascript|"
    "load_ext|ls|lsmagic|mamba|matplotlib|mkdir|pdb|pinfo|pip|prun|pwd|pylab|reload_ext|reset|run|"
    "set_env|sh|sx|system|tensorboard|time|timeit|unload_ext|uv|watermark|who|whos|writefile|xmode"
)
# With an indent; nothing is given back once it is taken.
_FOR_JUPYTER = re.compile(
    rf"^[ \t]*+(?:\w++ *+= *+)?(?:get_ipython\(\)\.|%%?(?:{_KNOWN})\b|![A-Za-z])", re.MULTILINE
)

_MAGIC = re.compile(r"^\s*(?:%{1,2}[^\W\d]|[!?])|^\s*%?[\w.]+\?{1,2}\s*+;?\s*$")
_ASSIGNED = re.compile(r"^(\s*\w[\w.,\[\] ]*=\s*)(?:[%!]|get_ipython\(\)\.)")
_WRITES = re.compile(r"\s*%%(?:writefile|file)\s+(?:-a\s+|--append\s+)?(.*)")
_OPENS = re.compile(r"\\.|\"{3}|'{3}|[\"'#()\[\]{}]")  # a string, a comment or a bracket; or closes
# What is nearly a definition too: Def, define, function; and a name that gets a lambda.
_DEFINES = re.compile(
    r"^[ \t]*+(?:async[ \t]++)?(?:(class|def\w*|func\w*)[ \t]++)?(\w++)"
    r"(?(1)|[ \t]*+=[ \t]*+lambda\b)",
    re.MULTILINE | re.IGNORECASE,
)


@dataclass
class Module:
    """The text of the module, and what its author should know about how it came about."""

    source: str
    notes: list[str] = field(default_factory=list)
    of_notebook: bool = False


def cells_of(text: str) -> Iterator[tuple[str, str]]:
    """Yield kind and source of each cell."""
    try:
        notebook = json.loads(text)
    except ValueError as error:
        if CONFLICT in text:
            raise Unusable("has conflict markers of git: resolve the merge") from None
        at = f" at line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        why = f"is not a notebook (no JSON{at}): save it again in Jupyter"
        raise Unusable(why) from None
    except RecursionError:
        raise Unusable("is not a notebook: it is nested too deeply") from None
    try:
        sheets = [notebook] if "cells" in notebook else notebook["worksheets"]  # of format 3
        cells = [cell for sheet in sheets for cell in sheet["cells"] if isinstance(cell, dict)]
    except (TypeError, LookupError):
        raise Unusable("is not a notebook: it has no cells") from None
    for cell in cells:
        source = cell.get("source", cell.get("input", ""))
        source = "".join(map(str, source)) if isinstance(source, list) else str(source)
        yield str(cell.get("cell_type", "")), source.replace("\r\n", "\n").replace("\r", "\n")


def python_of(source: str, files: Collection[str]) -> tuple[str, str]:
    """Return the Python of a code cell, line for line; and the file that it writes instead."""
    if writes := _WRITES.match(source):
        file = writes[1].strip().strip("'\"")
        if file.replace("\\", "/").rpartition("/")[2] in {f"{name}.py" for name in files}:
            end = writes.end()
            return "\n" * source.count("\n", 0, end) + source[end:], ""
        return "", file or "no file"
    if re.match(r"\s*%%(?!time|capture|prun)", source):  # the cell is HTML, shell, a file...
        return "", ""
    with suppress(*UNREADABLE):
        ast.parse(source)
        return source, ""  # so that a % at the beginning of a continued line stays
    return "\n".join(line for line, _ in _without(source, _MAGIC)), ""


def without_jupyter(text: str) -> Module:
    """Return a module without the lines that only Jupyter understands.

    A line that continues an expression or a string stays.
    """
    lines = list(_without(text, _FOR_JUPYTER)) if _FOR_JUPYTER.search(text) else []
    gone = [str(number) for number, (_, old) in enumerate(lines, start=1) if old]
    if not gone:
        return Module(text)
    notes = [f"line{'s' if len(gone) > 1 else ''} {some(gone, 5)}: for Jupyter only, so ignored"]
    if any("run_cell_magic(" in old for _, old in lines):
        notes.append("code within get_ipython().run_cell_magic(...) does not count: take it out")
    return Module("\n".join(line for line, _ in lines), notes)


def _without(source: str, magic: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """Yield each line with its magic replaced by `pass` or nothing, and the line before that."""
    quotes, brackets, is_open, goes_on = "", 0, False, False
    for line in source.split("\n"):
        assigned, out = _ASSIGNED.match(line), line
        if goes_on:  # the magic above
            out = ""
        elif not is_open and (assigned or magic.search(line)) and _is_whole(line):
            indent = line[: len(line) - len(line.lstrip())]
            out = f"{assigned[1]}None" if assigned else f"{indent}pass" if indent else ""
        goes_on = out != line and line.endswith("\\")
        quotes, brackets = _open_after(out, quotes, brackets)
        is_open = bool(quotes or brackets or out.endswith("\\"))
        yield out, line if out != line else ""


def _open_after(line: str, quotes: str, brackets: int) -> tuple[str, int]:
    """Return the quotes of the string that is open after a line, and how many brackets are."""
    for mark in _OPENS.findall(line):
        if quotes:
            quotes = "" if mark == quotes else quotes
        elif mark == "#":
            break
        elif mark[0] in "\"'":
            quotes = mark
        elif mark in "([{":
            brackets += 1
        elif mark in ")]}":
            brackets = max(0, brackets - 1)
    return quotes if len(quotes) == 3 or line.endswith("\\") else "", brackets


def _is_whole(line: str) -> bool:
    """Return whether a line is one whole statement; without ``get_ipython()`` it counts as one."""
    if "get_ipython()" not in line:
        return True
    try:
        return len(ast.parse(line.strip()).body) == 1
    except UNREADABLE:
        return False


def fault(number: int, source: str, error: Exception) -> str:
    """Return what is wrong with a cell that Python cannot read, and where."""
    if any(line.startswith(CONFLICT) for line in source.split("\n")):
        return f"cell {number} has conflict markers of git (resolve the merge)"
    other = str(error) if isinstance(error, ValueError) else TOO_DEEP
    why = getattr(error, "msg", "") or other
    at = getattr(error, "lineno", None) or 0
    line = "".join(source.split("\n")[at - 1 : at]).strip()
    place = f"cell {number}, line {at}" if at else f"cell {number}"
    return f"{place}{f': {line[:LINE]!r}' if line else ''} is not Python ({why})"


def defined(code: str, names: Collection[str]) -> list[str]:
    """Return the names of what a text which is not Python tried to define."""
    hidden = {*dir(builtins), *keyword.kwlist} - set(names)  # a scratch cell must not cost these
    found = (match[2] for match in _DEFINES.finditer(code))
    return [name for name in found if name.isidentifier() and name not in hidden]

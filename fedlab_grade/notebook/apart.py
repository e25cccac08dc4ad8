"""The parent's side: a text goes to a process of its own, and a module comes back."""

import json
import re
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any

from fedlab_grade.notebook.cells import FOR_JUPYTER, Module, NotANotebook, defined
from fedlab_grade.notebook.convert import ANSWERS, BROKEN, FILE, PLAIN
from fedlab_grade.textfile import Unusable, text_of

SECONDS = 20.0  # for one notebook, which takes a few hundredths of one
MODULE = 1 << 20  # bytes of a module
NOTEBOOK = 8 << 20  # pictures in the output included

_ROOT = str(Path(__file__).parents[2])
_MAIN = (
    f"import sys; sys.path.insert(0, {_ROOT!r}); "
    "from fedlab_grade.notebook.convert import main; main(sys.argv[1:])"
)


def module_of(
    data: bytes, notebook: bool, functions: Collection[str], files: Collection[str] = ()
) -> Module:
    """The module in a file, at home and in grading the same.

    Args:
        notebook: whether to read it as one.
        functions: what the assignment asks for, for the notes on a notebook.
        files: the names of the file that is asked for, without the ending.

    Raises:
        Unusable: there is none in it; the message follows the name of the file.
    """
    notes: list[str] = []
    if not notebook:
        if len(data) > MODULE:
            raise Unusable(f"is larger than {MODULE >> 20} MB: take the data out of it")
        module = _plain(text_of(data, notes))
        return Module(module.source, notes + module.notes)
    if len(data) > NOTEBOOK:
        raise Unusable(f"is a notebook larger than {NOTEBOOK >> 20} MB: clear its outputs")
    try:
        module = convert_apart(text_of(data, notes), functions, files)
    except NotANotebook as error:
        raise Unusable(str(error)) from None
    return Module(module.source, notes + module.notes)


def looks_like_notebook(name: str, data: bytes) -> bool:
    """Whether a file is a notebook, by its name, or saved as one under the name of a module."""
    if name.lower().endswith(".ipynb"):
        return True
    return data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") and b'"cells"' in data


def convert_apart(text: str, names: Collection[str] = (), files: Collection[str] = ()) -> Module:
    """As `convert`, in a process of its own with limits of time and memory.

    Raises:
        NotANotebook: it is none, or reading it breaks a limit.
    """
    answer = _apart([*names, *(f"{FILE}{name}" for name in files)], text)
    if "problem" in answer:
        raise NotANotebook(answer["problem"])
    return Module(**answer)


def answers_apart(text: str) -> dict[str, str]:
    """As `answers`, in a process of its own with limits of time and memory."""
    try:
        return _apart([ANSWERS], text)
    except NotANotebook:
        return {name: BROKEN for _, name in defined(text, ())}


def _plain(text: str) -> Module:
    """A module without the lines that only Jupyter understands."""
    if not re.search(FOR_JUPYTER, text, re.MULTILINE):
        return Module(text)
    try:
        return Module(**_apart([PLAIN], text))
    except NotANotebook:
        return Module(text)  # Python cannot read it either, and says so


def _apart(arguments: list[str], text: str) -> dict[str, Any]:
    command = [sys.executable, "-I", "-S", "-X", "utf8", "-c", _MAIN, *arguments]
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

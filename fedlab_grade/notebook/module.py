"""Read the module in a student's file, which is Python or a notebook."""

import re
from collections.abc import Collection

from fedlab_grade.limited import limited
from fedlab_grade.notebook.cells import FOR_JUPYTER, Module, NotANotebook, without_jupyter
from fedlab_grade.notebook.convert import convert
from fedlab_grade.textfile import Unusable, text_of

MODULE = 1 << 20  # bytes of a module, also of one that a notebook becomes
NOTEBOOK = 8 << 20  # pictures in the output included


def module_of(
    name: str, data: bytes, functions: Collection[str], files: Collection[str] = ()
) -> Module:
    """Return the module in a file of this name, at home and in grading the same.

    Args:
        functions: what the assignment asks for, for the notes on a notebook.
        files: the names of the file that is asked for, without the ending.
    """
    notes: list[str] = []
    notebook = looks_like_notebook(name, data)
    if notebook and not name.lower().endswith(".ipynb"):
        notes.append("read as a notebook, whatever its name says")
    if len(data) > NOTEBOOK and notebook:
        raise Unusable(f"is a notebook larger than {NOTEBOOK >> 20} MB: clear its outputs")
    if not notebook:
        _check_size(len(data))
    text = text_of(data, notes)
    module = Module(text)
    try:
        if notebook:
            module = convert(text, functions, files)
        elif re.search(FOR_JUPYTER, text, re.MULTILINE):
            module = without_jupyter(text)
    except NotANotebook as error:
        raise Unusable(str(error)) from None
    _check_size(len(module.source.encode("utf-8", "replace")))
    return Module(module.source, notes + module.notes, notebook)


def module_apart(
    name: str, data: bytes, functions: Collection[str], files: Collection[str] = ()
) -> Module:
    """Call `module_of` in a process of its own with limits of time and memory."""
    return Module(**limited(lambda: vars(module_of(name, data, functions, files))))


def looks_like_notebook(name: str, data: bytes) -> bool:
    """Whether a file is a notebook, by its name, or saved as one under the name of a module."""
    if name.lower().endswith(".ipynb"):
        return True
    return data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") and b'"cells"' in data


def _check_size(size: int) -> None:
    if size > MODULE:
        raise Unusable(
            f"has more than {MODULE >> 20} MB of code, the most that is read: take the data out "
            "of it"
        )

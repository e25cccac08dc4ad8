"""A notebook becomes a module: imports, functions, classes and constants of its code cells.

What counts, cell by cell from the top, the last definition of a name as in Jupyter:

- imports, functions and classes;
- what sets a name that the answers look up, directly or through others, or changes it: an
  assignment, a loop, a method called by itself such as ``xs.append(1)``;
- ``if __name__ == "__main__"`` holds, as it does in Jupyter;
- the body of a cell that begins with ``%%writefile`` and the name of the file that is asked for.

Experiments (a plot, a stray ``exit()``, a result that no answer needs), magics, broken cells and
other kinds of cells do not count.

A statement that fails or takes long costs, as in Jupyter, only what needs it: the name that it
should have made raises a NameError with the cell and the reason where it is used. The same
conversion serves at home and in grading.
"""

from collections.abc import Collection

from fedlab_grade.limited import limited
from fedlab_grade.notebook.cells import Module, without_jupyter
from fedlab_grade.notebook.convert import MISSING, convert, written
from fedlab_grade.textfile import Unusable, text_of

__all__ = ["MISSING", "Module", "convert", "module_apart", "module_of", "written"]

MODULE = 1 << 20  # bytes of a module, also of one that a notebook becomes
NOTEBOOK = 8 << 20  # pictures in the output included
LARGE = f"has more than {MODULE >> 20} MB of code, the most that is read: take the data out of it"


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
    if len(data) > MODULE and not notebook:
        raise Unusable(LARGE)
    text = text_of(data, notes)
    module = convert(text, functions, files) if notebook else without_jupyter(text)
    if len(module.source.encode("utf-8", "replace")) > MODULE:
        raise Unusable(LARGE)
    return Module(module.source, notes + module.notes, notebook)


def module_apart(
    name: str, data: bytes, functions: Collection[str], files: Collection[str] = ()
) -> Module:
    """Call `module_of` in a process of its own with limits of time and memory."""
    return Module(**limited(lambda: vars(module_of(name, data, functions, files))))


def looks_like_notebook(name: str, data: bytes) -> bool:
    """Return whether a file is a notebook, by its name or by its content."""
    if name.lower().endswith(".ipynb"):
        return True
    return data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{") and b'"cells"' in data

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

from fedlab_grade.notebook.cells import Module, NotANotebook
from fedlab_grade.notebook.convert import MISSING, convert, written
from fedlab_grade.notebook.module import looks_like_notebook, module_apart, module_of

__all__ = [
    "MISSING", "Module", "NotANotebook", "convert", "looks_like_notebook", "module_apart",
    "module_of", "written",
]  # fmt: skip

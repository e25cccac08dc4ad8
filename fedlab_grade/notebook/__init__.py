"""A notebook becomes a module: imports, functions, classes and constants of its code cells.

What counts, cell by cell from the top, the last definition of a name as in Jupyter:

- imports, functions and classes;
- what sets a name that the answers look up, directly or through others, or changes it: an
  assignment, a loop, a method called by itself such as ``xs.append(1)``;
- ``if __name__ == "__main__"`` holds, as it does in Jupyter;
- the body of a cell that begins with ``%%writefile`` and the name of the file that is asked for.

What does not count: experiments (a plot, a stray ``exit()``, a result that no answer needs),
magics, cells that Python cannot read, and cells that are no code cells. Cells may be copied, moved
or broken.

What fails or takes long while the module runs costs, as in Jupyter, only those who need it: a name
that a failed import, class, function or assignment should have had raises a NameError with the cell
and the reason where it is used. The same conversion serves at home and in grading.

A text made to break Python's parser breaks a process of its own only (`fedlab_grade.limited`).
"""

from fedlab_grade.notebook.cells import Module, NotANotebook
from fedlab_grade.notebook.convert import MISSING, answers, convert
from fedlab_grade.notebook.load import in_cells, places_of
from fedlab_grade.notebook.module import looks_like_notebook, module_apart, module_of

__all__ = [
    "MISSING", "Module", "NotANotebook", "answers", "convert", "in_cells", "looks_like_notebook",
    "module_apart", "module_of", "places_of",
]  # fmt: skip

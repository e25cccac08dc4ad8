"""Source listings of the package in a chapter."""

import ast
import inspect
from textwrap import dedent
from typing import Any

from IPython.display import Markdown

from fedlab_edu.validate import require
from fedlab_edu.widgets.columns import fit

COLUMNS = 80  # a page's width at 1280 pixels


def show(obj: Any, docstring: bool = True) -> Markdown:
    """Return the source of the package's function, method or class, under its name and module.

    Lines of more than 80 columns are broken where that is possible.
    """
    found: Any = obj.fget if isinstance(obj, property) else getattr(obj, "__func__", obj)
    module = getattr(found, "__module__", None) or ""
    ok = (inspect.isroutine(found) or inspect.isclass(found)) and module.startswith("fedlab_edu.")
    require(ok, "obj", obj, "a function, method or class of the package fedlab_edu")
    source = dedent(inspect.getsource(found)).replace("  # fmt: skip\n", "\n")
    if not docstring:
        source = _without_docstrings(source)
    text = f"`{found.__qualname__}` in `{module}`\n\n```python\n{fit(source.strip(), COLUMNS)}\n```"
    return Markdown(text)  # type: ignore[no-untyped-call]


def _without_docstrings(source: str) -> str:
    """Remove docstrings, except one that is the whole body."""
    lines = source.splitlines()
    drop: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node):
            first, *rest = node.body
            if rest:
                drop.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
                drop.update({max(drop) + 1} if not lines[max(drop)].strip() else ())
    return "\n".join(line for i, line in enumerate(lines, start=1) if i not in drop)

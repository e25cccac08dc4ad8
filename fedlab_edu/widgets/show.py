"""Source listings of the package in a chapter."""

import inspect
from textwrap import dedent
from typing import Any

from IPython.display import Markdown

from fedlab_edu.validate import require
from fedlab_edu.widgets.columns import docstrings, fit

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
    for place in docstrings(source, alone=False):
        end = place.stop + (not lines[place.stop].strip())
        del lines[place.start : end]
    return "\n".join(lines)

"""The reference: a page for each room of the package, made from the docstrings of its modules.

`{room} methods` stands for a section on each module of `fedlab_edu.methods` that defines something
public. What is listed is what the module's own source defines, in the order of the source.
"""

import ast
import inspect
import re
import sys
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, get_origin

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import fedlab_edu

PACKAGE = Path(fedlab_edu.__file__).parent
PUBLIC = ast.FunctionDef | ast.ClassDef
INSIDE = r"(?:[^][]|\[[^][]*\])"
ANNOTATED = rf"~?typing\.Annotated\[({INSIDE}+?), {INSIDE}*\]"


def modules(room: str) -> list[str]:
    """Return the names of the room's modules that define a public function or class."""
    folder = PACKAGE / room
    files = sorted(folder.rglob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]
    names = []
    for file in files:
        body = ast.parse(file.read_text(encoding="utf-8")).body
        if any(isinstance(n, PUBLIC) and not n.name.startswith("_") for n in body):
            path = file.relative_to(PACKAGE.parent).with_suffix("")
            names.append(".".join(path.parts).removesuffix(".__init__"))
    return names


class Room(SphinxDirective):
    """Sections on the modules of the rooms that the argument names."""

    required_arguments, optional_arguments = 1, 20

    def run(self) -> list[nodes.Node]:
        found: list[nodes.Node] = []
        for name in (name for room in self.arguments for name in modules(room)):
            title = name.removeprefix("fedlab_edu.")
            section = nodes.section(ids=[nodes.make_id(f"module-{title}")], names=[title.lower()])
            section += nodes.title(title, title)
            rst = [f".. automodule:: {name}", "   :members:", "   :ignore-module-all:"]
            section += self.parse_text_to_nodes("\n".join(["```{eval-rst}", *rst, "```"]))
            found.append(section)
        return found


def skip(app: Sphinx, what: str, name: str, obj: Any, skips: bool, options: Any) -> bool | None:
    """Leave out fields of a NamedTuple, which have no text, and annotated types."""
    field = "Alias for field number" in (inspect.getdoc(obj) or "")
    return True if field or get_origin(obj) is Annotated else None


def plain(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, signature: str, returned: str
) -> tuple[str, str]:
    """Leave the checks of annotations, and the values that a default makes, out of signatures."""
    signature = re.sub(ANNOTATED, r"\1", signature or "")
    return signature.replace("<factory>", "..."), returned


def escape(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Keep reStructuredText away from formulas, and link the names in single backticks."""
    while name not in sys.modules:
        name = name.rpartition(".")[0]
    code = None  # the margin of the line before a block of code
    for i, line in enumerate(lines):
        margin = len(line) - len(line.lstrip())
        if code is not None and (not line.strip() or margin > code):
            continue
        code = margin if line.rstrip().endswith("::") else None
        parts = re.split(r"(``.*?``|`[^`]*`|(?<!\w)\*\w[^*]*\w\*)", line)
        parts[::2] = [re.sub(r"([|*])", r"\\\1", part) for part in parts[::2]]
        parts[1::2] = [re.sub("^`([^`]+)`$", lambda m: link(name, m[1]), p) for p in parts[1::2]]
        lines[i] = "".join(parts)


def link(module: str, name: str) -> str:
    """Return a link to what the module, its folder or the package means by the name.

    Without one, the name.
    """
    for scope in _scopes(module):
        try:
            found = attrgetter(name)(scope)
            home = f"{found.__module__}.{found.__qualname__}"
        except AttributeError:
            continue
        if home.startswith("fedlab_edu."):
            return f":py:obj:`{name} <{home}>`"
    return f"``{name}``"


@cache
def _scopes(module: str) -> list[Any]:
    """Return the module, those of its folder, and the package."""
    folder = f"{module.rpartition('.')[0]}."
    beside = [other for path, other in sorted(sys.modules.items()) if path.startswith(folder)]
    return [sys.modules[module], *beside, fedlab_edu]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("room", Room)
    app.connect("autodoc-skip-member", skip)
    app.connect("autodoc-process-signature", plain)
    app.connect("autodoc-process-docstring", escape, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""``{live}``: a function of the package that the reader edits and runs in the page, offline.

    ```{live} fedlab_edu.tuners.fedex.rules.exponentiate
    :view: fedlab_edu.live.fedex.race
    :data: records/live-fedex.json
    :caption: What a reader should try.
    eta0: {min: 0.01, max: 3, value: 0.3, log: true, label: step size}
    rule: {options: [adaptive, constant]}
    ```

The editor holds the function named by the argument. Of a long docstring it shows what the function
does and its arguments; annotations are shown where the reader writes the function (``check``).
``view`` is called with the data and with a value of each control; the page shows what it prints,
and the SVG that it returns. A control has options, or min, max and value, and perhaps a step.
``check`` names a generator of (passed, sentence) that judges the reader's function. ``play`` names
the control of an animation; such a cell has no editor.

The page runs the modules' own text, in MicroPython. The build runs the view too: without JavaScript
the page has its code and its picture. It also runs each cell in MicroPython, and fails if one
cannot run in a browser.
"""

import ast
import contextlib
import importlib
import inspect
import io
import json
import textwrap
from html import escape
from pkgutil import resolve_name
from typing import Any, ClassVar

import yaml
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from fedlab_edu.widgets.columns import fit

from . import engine
from .modules import collect, standard

WIDTH = 80  # columns in the editor


class Live(SphinxDirective):
    """One live cell; anything wrong with it is an error of the build."""

    required_arguments, has_content = 1, True
    option_spec: ClassVar = dict.fromkeys(
        ("view", "data", "check", "play", "label", "caption", "name"), directives.unchanged_required
    )

    def run(self) -> list[nodes.Node]:
        try:
            cell = self._cell()
            printed, picture = self._drawn(cell)
            engine.check(cell, self._data(), printed)
        except Exception as error:
            raise self.error(f"live: {type(error).__name__}: {error}") from error
        frame = nodes.figure(classes=["live-cell"])
        if not cell["play"]:
            frame += nodes.literal_block(cell["text"], cell["text"], language="python")
        carried = json.dumps(cell).replace("<", "\\u003c")  # no text may end the script
        frame += nodes.raw("", (
            f'<div class="live-picture">{picture}</div>'
            f'<pre class="live-printed">{escape(printed)}</pre>'
            f'<script type="application/json" class="live-data">{carried}</script>'
        ), format="html")  # fmt: skip
        if "caption" in self.options:
            words, messages = self.state.inline_text(self.options["caption"], self.lineno)
            frame += nodes.caption("", "", *words, *messages)
        self.set_source_info(frame)
        self.add_name(frame)
        if not cell["play"]:
            self.env.live_cells.setdefault(self.env.docname, []).append(frame.deepcopy())
        return [frame]

    def _cell(self) -> dict[str, Any]:
        """Return what the page knows of the cell; the texts of its modules are in another file."""
        source, options = self.arguments[0], self.options
        modules: dict[str, str] = {}
        for name in filter(None, (source, options.get("view"), options.get("check"))):
            collect(name.rpartition(".")[0], modules)
        for name in modules:
            self.env.note_dependency(importlib.import_module(name).__file__)
        self.env.live_modules.update(modules)
        if data := options.get("data"):
            self.env.live_data[data] = self._data()
        return {
            "source": source,
            "text": "" if "play" in options else shortened(source, typed="check" in options),
            "view": options.get("view"), "check": options.get("check"),
            "play": options.get("play"), "data": data, "modules": [*modules],
            "standard": standard(modules.values()),
            "controls": controls("\n".join(self.content)),
            "label": options.get("label", source.rpartition(".")[2]),
        }  # fmt: skip

    def _data(self) -> str:
        if "data" not in self.options:
            return ""
        relative, file = self.env.relfn2path(self.options["data"])
        self.env.note_dependency(relative)
        with open(file, encoding="utf-8") as text:
            return text.read()

    def _drawn(self, cell: dict[str, Any]) -> tuple[str, str]:
        """Return what the view prints and draws with the first values of the controls."""
        if not cell["view"]:
            return "", ""
        given = engine.first_values(cell)
        if cell["data"]:
            given["data"] = json.loads(self._data())
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            picture = resolve_name(cell["view"])(**given)
        return printed.getvalue(), picture


def controls(text: str) -> dict[str, Any]:
    """Return the controls of a cell, from YAML: name -> options, or min, max and value."""
    found: dict[str, Any] = yaml.safe_load(text) or {}
    for name, one in found.items():
        if "options" not in one and not {"min", "max", "value"} <= one.keys():
            raise ValueError(f"control {name} has {[*one]}; allowed: options, or min, max, value")
    return found


def shortened(name: str, typed: bool = False) -> str:
    """Return the source of a function, its docstring cut to the summary and the arguments.

    Args:
        name: the function with its module.
        typed: whether annotations are kept.
    """
    lines, _ = inspect.getsourcelines(resolve_name(name))
    (function,) = ast.parse("".join(lines)).body
    assert isinstance(function, ast.FunctionDef)
    kept = lines[function.body[0].lineno - 1 :]
    if text := ast.get_docstring(function):
        summary, *parts = text.split("\n\n")
        shown = "\n\n".join([summary, *(part for part in parts if part.startswith("Args:"))])
        close = "\n" if "\n" in shown else ""
        doc = textwrap.indent(f'"""{shown}{close}"""\n', "    ")
        kept = [doc, *lines[function.body[0].end_lineno or 0 :]]
    if not typed:
        function.returns = None
        for argument in (*function.args.args, *function.args.kwonlyargs):
            argument.annotation = None
    function.body = []
    head = ast.unparse(function) + "\n"
    return fit("".join([head, *kept]).rstrip(), WIDTH)


class GalleryNode(nodes.General, nodes.Element):
    """The place of all live cells of the book; filled when all pages have been read."""


class Gallery(SphinxDirective):
    """``{live-gallery}``: all live cells of the book, by chapter."""

    def run(self) -> list[nodes.Node]:
        return [GalleryNode()]


def fill(app: Sphinx, tree: nodes.document, page: str) -> None:
    for place in [*tree.findall(GalleryNode)]:
        gallery = nodes.container(classes=["live-gallery"])
        for source, frames in sorted(app.env.live_cells.items()):  # type: ignore[attr-defined]
            title = app.env.titles[source].astext()
            address = app.builder.get_relative_uri(page, source)
            gallery += nodes.rubric("", "", nodes.reference("", title, refuri=address))
            for frame in frames:
                gallery += _without_number(frame.deepcopy())
        place.replace_self(gallery)


def _without_number(frame: nodes.figure) -> nodes.figure:
    frame["ids"] = frame["names"] = []
    for caption in [*frame.findall(nodes.caption)]:
        caption.replace_self(nodes.paragraph("", "", *caption.children))
    return frame


def prepare(app: Sphinx, env: Any, *_: Any) -> None:
    for name in ("live_cells", "live_modules", "live_data"):
        if not hasattr(env, name):
            setattr(env, name, {})


def add_script(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Load the script on pages with a live cell; it loads the engine when a cell is in view."""
    if 'class="live-data"' in context.get("body", ""):
        app.add_js_file("live/page.js", loading_method="defer")
        app.add_css_file("live/page.css")
    if "live-gallery" in context.get("body", ""):  # its formulas come from other pages
        app.env.get_domain("math").data["has_equations"][page] = True


def purge(app: Sphinx, env: Any, page: str) -> None:
    prepare(app, env)
    env.live_cells.pop(page, None)


def finish(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        engine.pack(app.outdir, app.env.live_modules, app.env.live_data)  # type: ignore[attr-defined]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("live", Live)
    app.add_directive("live-gallery", Gallery)
    app.connect("env-before-read-docs", prepare)
    app.connect("env-purge-doc", purge)
    app.connect("doctree-resolved", fill)
    app.connect("html-page-context", add_script, priority=400)
    app.connect("build-finished", finish)
    return {"parallel_read_safe": False, "parallel_write_safe": True}

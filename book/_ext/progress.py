"""The page of the reader's progress: all questions and warm-ups, by chapter.

``{progress}`` stands for that list. The script `_static/progress.js` keeps answers in the browser
and writes them into the list; a question is known by its text, a warm-up by its function.
"""

import json
import re
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

WARM_UP = re.compile(r"^```\{live\} (\S+)\n:check: .*\n:label: (.+)$", re.M)


class ProgressNode(nodes.General, nodes.Element):
    """The place of the list; filled when all pages have been read."""


class Progress(SphinxDirective):
    """All questions and warm-ups of the book, by chapter."""

    def run(self) -> list[nodes.Node]:
        return [ProgressNode()]


def questions(env: BuildEnvironment, page: str) -> list[str]:
    """Return the questions of the page's quizzes as HTML, in the order of the page."""
    metadata = env.nb_metadata.get(page, {})  # type: ignore[attr-defined]
    if "ipywidgets_state" not in metadata.get("js_files", {}):
        return []
    models = json.loads(metadata["js_files"]["ipywidgets_state"][1]["body"])["state"]
    shown = [
        models[found]["state"]
        for raw in env.get_doctree(page).findall(nodes.raw)
        for found in re.findall(r'"model_id": "(\w+)"', raw.astext())
    ]
    asked = [one["children"][0] for one in shown if "fedlab-quiz" in one.get("_dom_classes", [])]
    return [models[child.removeprefix("IPY_MODEL_")]["state"]["value"] for child in asked]


def fill(app: Sphinx, tree: nodes.document, page: str) -> None:
    """Write the list into the page that has asked for it."""
    for place in [*tree.findall(ProgressNode)]:
        chapters = []
        for source in sorted(app.env.found_docs, key=lambda name: (name[:4], "_more" in name)):
            items = _items(app.env, source) if re.match(r"ch\d\d_", source) else ""
            if items:
                title = escape(app.env.titles[source].astext())
                address = app.builder.get_relative_uri(page, source)
                heading = f'<h2><a href="{address}">{title}</a></h2>'
                chapters.append(
                    f'<section class="progress-chapter">{heading}<ol>{items}</ol></section>'
                )
        place.replace_self(nodes.raw("", "".join(chapters), format="html"))


def _items(env: BuildEnvironment, page: str) -> str:
    text = Path(env.doc2path(page)).read_text(encoding="utf-8")
    warm_ups = [(name, f"<p>{label.capitalize()}</p>") for name, label in WARM_UP.findall(text)]
    return "".join(
        f'<li class="mathjax_process" data-name="{escape(name)}">{shown}'
        '<p class="progress-said"></p></li>'
        for name, shown in [*((one, one) for one in questions(env, page)), *warm_ups]
    )


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("progress", Progress)
    app.connect("doctree-resolved", fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

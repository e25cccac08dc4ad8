"""Each reader's path as slides: `ch04_fedex.html?slides` shows the page by reveal.js.

The slides are cut in the browser from the page itself, so its figures, live cells and widgets are
on them, and the text becomes the speaker's notes.
"""

import re
from typing import Any

from sphinx.application import Sphinx

PATH = re.compile(r"ch\d\d_(?!more)")


def offer(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Load the script on the paths' pages, and link to their slides below the title."""
    if PATH.match(page):
        app.add_js_file("slides/slides.js", loading_method="defer")
        place = '<p class="fedlab-download">'
        link = f'{place}<a href="{page}.html?slides">Slides</a> · '
        context["body"] = context["body"].replace(place, link, 1)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", offer, priority=600)  # after that of notebooks.py
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""Mend in each page's HTML what assistive technology cannot read."""

import re
from typing import Any

from sphinx.application import Sphinx

MENDED = (
    (re.compile('role="doc-biblioentry"'), 'role="listitem"'),  # deprecated, and not for a list
    (re.compile(r"<th[^>]*>\s*(?:<p>\s*</p>|&nbsp;)?\s*</th>"), "<td></td>"),
)


def mend(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Give entries of the bibliography a role, and take from empty cells that of a heading."""
    for wrong, right in MENDED:
        context["body"] = wrong.sub(right, context.get("body", ""))


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", mend)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""Link the first use of each glossary term on a page, and show its meaning on hover.

A link has the meaning as its title. Headings, links, code and formulas are left alone.
"""

import html
import re
from functools import cache
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx

PAGE = "glossary"
SKIPPED = (
    nodes.title, nodes.literal, nodes.reference, nodes.raw, nodes.literal_block, nodes.math,
    nodes.caption, nodes.term, nodes.citation, nodes.citation_reference, pending_xref,
)  # fmt: skip


@cache
def terms(source: Path) -> dict[str, str]:
    """Return the terms of the glossary's page, each with its meaning on one line."""
    (block,) = re.findall(r"```\{glossary\}\n(.*?)^```", source.read_text("utf-8"), re.M | re.S)
    entries = (entry.partition("\n") for entry in block.strip().split("\n\n"))
    return {term: " ".join(meaning.split()).replace("`", "") for term, _, meaning in entries}


def link(app: Sphinx, doctree: nodes.document) -> None:
    """Make the first use of each term on a chapter's page a link to the glossary."""
    if not re.match(r"ch\d\d_", app.env.docname):
        return
    unused = set(terms(Path(app.srcdir, f"{PAGE}.md")))
    for text in list(doctree.findall(nodes.Text)):
        new, rest = [], str(text)
        while not _is_skipped(text) and (found := _first(unused, rest)):
            unused.remove(found[0])
            new += [nodes.Text(rest[: found.start()]), _reference(app.env.docname, found[0])]
            rest = rest[found.end() :]
        if new:
            text.parent.replace(text, [*new, nodes.Text(rest)])


def _first(unused: set[str], text: str) -> re.Match[str] | None:
    """Return the first place in the text with one of the terms, the longest that is there."""
    longest_first = sorted(map(re.escape, unused), key=len, reverse=True)
    return re.search(rf"\b(?:{'|'.join(longest_first)})\b", text) if unused else None


def _is_skipped(node: nodes.Node) -> bool:
    while (node := node.parent) is not None:
        if isinstance(node, SKIPPED) or "cell" in node.get("classes", []):
            return True
    return False


def _reference(page: str, term: str) -> pending_xref:
    inner = nodes.inline(term, term, classes=["xref", "std", "std-term"])
    return pending_xref(
        term, inner, refdomain="std", reftype="term", reftarget=term, refdoc=page, refwarn=True,
        refexplicit=False,
    )  # fmt: skip


def explain(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Give each link to a term its meaning as a title."""
    if PAGE + ".html#term-" not in context.get("body", ""):
        return
    known = terms(Path(app.srcdir, f"{PAGE}.md"))
    places = {nodes.make_id(f"term-{term}").lower(): term for term in known}

    def titled(found: re.Match[str]) -> str:
        term = places.get(found[2].lower())
        return f'{found[1]} title="{html.escape(known[term])}"' if term else found[0]

    context["body"] = re.sub(
        rf'(<a class="reference internal" href="[^"]*{PAGE}\.html#(term-[^"]+)")',
        titled,
        context["body"],
    )


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-read", link)
    app.connect("html-page-context", explain)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""Link the first use of each glossary term on a page, and show its meaning on hover.

Headings, links, code and formulas are left alone.
"""

import re
from functools import cache
from pathlib import Path

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx

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


def link_terms(app: Sphinx, doctree: nodes.document) -> None:
    """Make the first use of each term on a chapter's page a link to the glossary."""
    if not re.match(r"ch\d\d_", app.env.docname):
        return
    page = Path(app.srcdir, "glossary.md")
    app.env.note_dependency(str(page))  # another meaning is another page
    known = terms(page)
    unused = set(known)
    for text in list(doctree.findall(nodes.Text)):
        new, rest = [], str(text)
        while not _is_skipped(text) and (found := _first(unused, rest)):
            unused.remove(found[0])
            shown = nodes.abbreviation(found[0], found[0], explanation=known[found[0]])
            shown["classes"] = ["xref", "std", "std-term"]
            how = {"refdomain": "std", "reftype": "term", "refdoc": app.env.docname}
            link = pending_xref(
                "", shown, reftarget=found[0], refwarn=True, refexplicit=False, **how
            )
            new += [nodes.Text(rest[: found.start()]), link]
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


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("doctree-read", link_terms)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

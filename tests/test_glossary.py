"""The glossary's terms are linked where a page first uses them."""

import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from docutils import nodes
from docutils.frontend import get_default_settings
from docutils.utils import new_document
from sphinx.addnodes import pending_xref

BOOK = Path(__file__).parents[1] / "book"
sys.path.insert(0, str(BOOK / "_ext"))
import glossary  # noqa: E402

TERMS = glossary.terms(BOOK / "glossary.md")
CHAPTERS = "\n".join(page.read_text("utf-8") for page in BOOK.glob("ch*.md"))


def test_terms_stand_in_order_and_each_has_a_sentence():
    assert sorted(TERMS, key=str.lower) == [*TERMS]
    assert [term for term, meaning in TERMS.items() if not meaning.endswith(".")] == []


@pytest.mark.parametrize("term", TERMS)
def test_a_chapter_uses_the_term(term):
    assert re.search(rf"\b{re.escape(term)}\b", CHAPTERS)


def test_the_first_use_is_linked_but_not_in_titles_code_and_links():
    page = new_document("page", get_default_settings())
    page += nodes.title("", "An arm")
    page += nodes.paragraph("", "", nodes.literal("", "arm"), nodes.reference("", "arm"))
    page += nodes.paragraph("", "Each arm, and one arm of SHA; alarm.")
    app = SimpleNamespace(
        srcdir=BOOK, env=SimpleNamespace(docname="ch03_baselines", note_dependency=id)
    )
    glossary.link_terms(app, page)
    assert [link.astext() for link in page.findall(pending_xref)] == ["arm", "SHA"]
    assert page[2].astext() == "Each arm, and one arm of SHA; alarm."
    assert isinstance(page[2][1], pending_xref)
    assert page[2][1][0]["explanation"] == TERMS["arm"]


def test_a_page_that_is_no_chapter_is_left_alone():
    page = new_document("page", get_default_settings())
    page += nodes.paragraph("", "An arm.")
    app = SimpleNamespace(srcdir=BOOK, env=SimpleNamespace(docname="use"))
    glossary.link_terms(app, page)
    assert not list(page.findall(pending_xref))

"""A chapter on paper: folds are open, nothing is cut off, and a widget is its picture."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.book.conftest import HTML, SOURCES, Visit, go, watched

pytestmark = pytest.mark.book

SHEET = {"width": 718, "height": 1000}  # A4 within margins of 1 cm
CHAPTERS = [name for name in SOURCES if re.match(r"ch\d\d_|engine", name)]
# What stands out of the column of text, or scrolls within it.
CUT = """() => {
  const article = document.querySelector(".bd-article");
  const right = article.getBoundingClientRect().right + 1;
  const hidden = ".visually-hidden, .live-spoken, mjx-assistive-mml, svg *";
  const scrolls = "pre, .live-editor, .pst-scrollable-table-container, .fedlab-picture";
  return [...article.querySelectorAll("*")].filter((part) =>
    part.checkVisibility() && !part.closest(hidden) && (
      part.getBoundingClientRect().right > right
      || (part.matches(scrolls) && part.scrollWidth > part.clientWidth + 1))
  ).map((part) => `${part.tagName} ${part.className}: ${part.textContent.slice(0, 60)}`);
}"""


@pytest.fixture(scope="module")
def paper(browser):
    seen = watched(browser, viewport=SHEET)
    seen.page.emulate_media(media="print")
    yield seen
    seen.page.close()


def printed(paper: Visit, name: str) -> Page:
    """The page as it is while the browser prints it."""
    page = go(paper, f"file://{HTML}/{name}.html").page
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    return page


@pytest.mark.parametrize("name", CHAPTERS)
def test_on_paper_nothing_is_cut_off_and_no_fold_is_closed(paper, name):
    page = printed(paper, name)
    expect(page.locator("details:not([open])")).to_have_count(0)
    assert page.evaluate(CUT) == []
    for widget in page.locator(".fedlab-frames").all():
        expect(widget.locator("svg[role=img]")).to_be_visible()
    assert (
        page.locator(".live-bar, textarea").evaluate_all(
            "all => all.filter((part) => part.checkVisibility()).length"
        )
        == 0
    )


def test_a_chapter_prints_to_pages_and_its_folds_close_again(paper):
    page = go(paper, f"file://{HTML}/ch04_fedex.html").page
    closed = page.locator("details:not([open])").count()
    assert closed > 0
    assert len(re.findall(rb"/Type /Page\b", page.pdf(format="A4"))) > 5
    expect(page.locator("details:not([open])")).to_have_count(closed)

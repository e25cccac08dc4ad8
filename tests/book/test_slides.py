"""Each path as slides: from the folder, offline, with live cells and questions that work."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.book.cells import run
from tests.book.conftest import HTML, SOURCES, Visit, go, watched
from tests.book.test_pages import AXE, FAULTS

pytestmark = pytest.mark.book

PATHS = [name for name in SOURCES if re.match(r"ch\d\d_(?!more)", name)]


@pytest.fixture(scope="module")
def screen(browser):
    seen = watched(browser, viewport={"width": 1280, "height": 720})
    yield seen
    seen.page.close()


def deck(seen: Visit, name: str, scheme: str = "light") -> Page:
    seen.page.emulate_media(color_scheme=scheme)
    go(seen, f"file://{HTML}/{name}.html?slides")
    seen.page.wait_for_function("window.Reveal?.isReady()")
    return seen.page


def show(page: Page, selector: str):
    """Show the first slide that holds such an element, and return the element."""
    page.evaluate(
        """selector => Reveal.slide(Reveal.getSlides().findIndex(
            (slide) => slide.querySelector(selector)))""",
        selector,
    )
    return page.locator(f"section.present {selector}").first


@pytest.mark.parametrize("name", PATHS)
def test_a_path_becomes_slides_that_fit_the_screen_and_ask_no_other_host(screen, name):
    page = deck(screen, name)
    title = re.search(r"^# (.+)$", SOURCES[name], re.M)[1]
    expect(page.locator("section.present > h1")).to_contain_text(title)
    slides = page.evaluate("Reveal.getTotalSlides()")
    assert slides > SOURCES[name].count("\n## ")
    cut = []
    for place in range(slides):
        expect(page.locator("section.present > h1")).to_be_in_viewport(ratio=1)
        body = page.locator("section.present > .slide-body")
        cut += body.evaluate(
            """b => b.scrollWidth > b.clientWidth + 1 || b.scrollHeight > b.clientHeight + 1
                ? [b.previousSibling.textContent + ": " + b.textContent.slice(0, 60)] : []"""
        )
        assert page.evaluate("Reveal.getIndices().h") == place
        page.keyboard.press("PageDown")
    assert cut == []
    assert screen.errors == []
    assert [url for url in screen.requests if not url.startswith(("file:", "data:", "blob:"))] == []


def test_the_speaker_has_the_text_as_notes(screen):
    page = deck(screen, "ch04_fedex")
    notes = " ".join(page.locator("aside.notes").all_text_contents())
    assert "Nothing forces them to use the same step size." in notes


def test_questions_and_live_cells_answer_on_slides(screen):
    page = deck(screen, "ch04_fedex")
    quiz = show(page, ".fedlab-quiz")
    quiz.get_by_role("radio").first.check()
    expect(quiz.locator(".fedlab-reply")).to_have_text(re.compile(r"^(Right|Not so)\. "))
    cell = show(page, ".live-cell")
    assert run(cell) == ""
    assert screen.errors == []


@pytest.mark.parametrize(("scheme", "first"), [("light", 0), ("dark", 3)])
def test_axe_finds_nothing_on_slides(screen, scheme, first):
    page = deck(screen, "ch04_fedex", scheme)
    page.evaluate(AXE)
    for place in range(first, page.evaluate("Reveal.getTotalSlides()"), 6):
        page.evaluate("place => Reveal.slide(place)", place)
        assert page.evaluate(FAULTS) == []


def test_slides_print_one_to_a_page(screen):
    slides = deck(screen, "ch04_fedex").evaluate("Reveal.getTotalSlides()")
    go(screen, f"file://{HTML}/ch04_fedex.html?slides&print-pdf")
    expect(screen.page.locator(".pdf-page")).to_have_count(slides)
    pdf = screen.page.pdf(prefer_css_page_size=True, print_background=True)
    assert len(re.findall(rb"/Type /Page\b", pdf)) == slides

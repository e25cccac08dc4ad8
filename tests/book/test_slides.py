"""Each path as slides: from the folder, offline, with live cells and questions that work."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.book.cells import run
from tests.book.conftest import HTML, SETTLE, SOURCES, Visit, go, watched
from tests.book.test_pages import AXE, FAULTS

pytestmark = pytest.mark.book

PATHS = [name for name in SOURCES if re.match(r"ch\d\d_(?!more)", name)]


@pytest.fixture(scope="module")
def screen(browser):
    seen = watched(browser, viewport={"width": 1280, "height": 720})
    yield seen
    seen.page.close()


def deck(seen: Visit, name: str, scheme: str = "light") -> Page:
    """Show a chapter's slides from the first on; those that are open already stay."""
    seen.page.emulate_media(color_scheme=scheme)
    address = f"file://{HTML}/{name}.html?slides"
    if seen.page.url.partition("#")[0] != address:
        go(seen, address)
        seen.page.wait_for_function("window.Reveal?.isReady()")
    seen.page.evaluate("Reveal.slide(0)")
    seen.page.evaluate(SETTLE)
    return seen.page


def show(page: Page, selector: str):
    """Show the first slide that holds such an element, and return the element."""
    page.evaluate(
        """selector => Reveal.slide(Reveal.getSlides().findIndex(
            (slide) => slide.querySelector(selector)))""",
        selector,
    )
    return page.locator(f"section.present {selector}").first


# The number of the slide, what its body cuts off, and whether the screen shows all of its title.
SEEN = """() => {
    const [title, body] = ["h1", ".slide-body"].map(
        (part) => document.querySelector(`section.present > ${part}`));
    const { left, top, right, bottom } = title.getBoundingClientRect();
    const cut = body.scrollWidth > body.clientWidth + 1
        || body.scrollHeight > body.clientHeight + 1;
    return [Reveal.getIndices().h, cut ? [title, body].map((e) => e.textContent.slice(0, 60)) : [],
            left >= 0 && top >= 0 && right <= innerWidth && bottom <= innerHeight];
}"""


@pytest.mark.parametrize("name", PATHS)
def test_a_path_becomes_slides_that_fit_the_screen_and_ask_no_other_host(screen, name):
    page = deck(screen, name)
    title = re.search(r"^# (.+)$", SOURCES[name], re.M)[1]
    expect(page.locator("section.present > h1")).to_contain_text(title)
    slides = page.evaluate("Reveal.getTotalSlides()")
    assert slides > SOURCES[name].count("\n## ")
    for place in range(slides):
        assert page.evaluate(SEEN) == [place, [], True]
        page.keyboard.press("PageDown")
    assert screen.errors == []
    assert [url for url in screen.requests if not url.startswith(("file:", "data:", "blob:"))] == []


def test_the_speaker_has_the_text_as_notes(screen):
    page = deck(screen, "ch04_fedex")
    notes = " ".join(page.locator("aside.notes").all_text_contents())
    notes = " ".join(notes.split())  # wherever the source breaks its lines
    assert "Nothing forces them to use the same step size." in notes


def test_points_end_as_sentences_where_the_text_goes_on(screen):
    page = deck(screen, "ch02_loc_and_agg")
    points = page.locator(".slide-body > p > strong, .slide-body li > p > strong")
    told = points.all_text_contents()
    assert "It shows that correcting drift helps where clients differ." in told
    assert not [point for point in told if point.endswith((",", ";", ":"))]


def test_pictures_use_the_room_of_a_slide_and_a_live_cell_has_its_own_beside_the_code(screen):
    page = deck(screen, "ch04_fedex")
    assert show(page, ".fedlab-picture svg").bounding_box()["height"] > 300
    picture = show(page, ".live-picture svg").bounding_box()
    code = page.locator("section.present .live-editor")
    box = code.bounding_box()
    assert box["x"] + box["width"] < picture["x"]
    assert picture["y"] < box["y"] + box["height"]
    assert code.evaluate("code => code.scrollWidth <= code.clientWidth")


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
    assert page.locator("html").get_attribute("data-theme") == scheme
    page.evaluate(AXE.read_text("utf-8"))
    assert page.evaluate(FAULTS, "html") == []
    for place in range(first, page.evaluate("Reveal.getTotalSlides()"), 6):
        page.evaluate("place => Reveal.slide(place)", place)
        assert page.evaluate(FAULTS, "section.present") == []


def test_slides_print_one_to_a_page(screen):
    go(screen, f"file://{HTML}/ch04_fedex.html?slides&print-pdf")
    screen.page.wait_for_function("window.Reveal?.isReady()")
    slides = screen.page.evaluate("Reveal.getTotalSlides()")
    expect(screen.page.locator(".pdf-page")).to_have_count(slides)
    pdf = screen.page.pdf(prefer_css_page_size=True, print_background=True)
    assert len(re.findall(rb"/Type /Page\b", pdf)) == slides

"""Every page of the book works by itself: no kernel, no other host, light and dark, on a phone."""

import contextlib
import json
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import nbformat
import pytest
from playwright.sync_api import Page, TimeoutError, expect

from tests.book.cells import after, drawn, run, runs
from tests.book.conftest import ALIKE, HTML, ROOT, SETTLE, SOURCES, go, pages, visit
from tests.test_live import MISTAKES, SOLUTIONS

pytestmark = pytest.mark.book


@pages()
def test_no_request_leaves_the_folder_and_nothing_fails(scheme):
    _, seen = scheme
    base = HTML.as_uri()
    assert [url for url in seen.requests if not url.startswith((base, "data:", "blob:"))] == []
    assert seen.errors == []


# One page of each kind is looked at from a server, and by night all.
KINDS = {
    "index", "ch04_fedex", "ch04_more", "algorithms/fedex", "reference/training", "playground",
}  # fmt: skip


@pages(nightly=set(SOURCES) - KINDS)
def test_a_page_from_a_server_asks_no_other_host_and_nothing_fails_on_a_phone(pocket, site, name):
    seen = go(pocket, f"{site}/{name}.html")
    assert seen.page.locator("html").get_attribute("data-theme") == "dark"
    assert [url for url in seen.requests if not url.startswith((site, "data:", "blob:"))] == []
    assert seen.errors == []


@pages()
def test_a_page_weighs_less_than_3_megabytes(shown):
    asked = {urlsplit(url).path for url in shown("light").requests if url.startswith("file:")}
    weight = sum(Path(unquote(path)).stat().st_size for path in asked)
    assert 500_000 < weight < 3_000_000  # with the theme's scripts


@pages()
def test_a_page_has_a_title_one_heading_and_a_name_for_every_picture(light):
    assert light.title()
    headings, names = light.evaluate(
        """() => {
            const all = (selector) => [...document.querySelectorAll(selector)];
            const headings = all("h1, [role=heading][aria-level='1']");
            const pictures = all(".bd-article img, .bd-article .fedlab-picture > svg");
            return [headings.filter((one) => one.checkVisibility()).length,
                    pictures.map((one) => one.alt ?? one.getAttribute("aria-label"))]; }"""
    )
    assert headings == 1
    assert [name for name in names if not (name and name.strip())] == []


@pages()
def test_no_formula_is_left_as_latex(light):
    left = """() => {
        const e = document.querySelector(".bd-article").cloneNode(true);
        e.querySelectorAll("pre, code, script, style, .mjx-assistive-mml, mjx-container")
            .forEach(c => c.remove());
        return e.textContent.match(/\\$[^$]*\\$|\\\\[(\\[a-zA-Z].{20}/g) ?? [] }"""
    with contextlib.suppress(TimeoutError):  # a busy machine is slow
        light.wait_for_function(f"({left})().length === 0", timeout=10_000)
    assert light.evaluate(left) == []
    assert light.locator("mjx-merror").count() == 0


@pages()
def test_no_table_leaves_out_rows(light):
    assert light.get_by_text(re.compile(r"\d+ rows × \d+ columns")).count() == 0


AXE = ROOT / "node_modules/axe-core/axe.min.js"  # there once the book is built
# Of texts in one colour and size on one ground, axe measures the contrast of the first, for all
# take half of its time; of words of code, which are half of a page's elements, only the first of
# each kind stay elements. A heading that is a formula has text in MathML, which axe does not read.
FAULTS = """async (part) => {
    const SEEN = { opacityProperty: true, visibilityProperty: true };
    const grounds = new Map([[null, ""]]), kinds = new Map(), alike = [];
    const ground = (e) => {
        if (!grounds.has(e)) {
            const { backgroundColor, backgroundImage, opacity } = getComputedStyle(e);
            const own = `${backgroundColor} ${backgroundImage} ${opacity}`;
            const clear = own === "rgba(0, 0, 0, 0) none 1";
            grounds.set(e, ground(e.parentElement) + (clear ? "" : own));
        }
        return grounds.get(e);
    };
    document.querySelectorAll("[data-kind]").forEach((e) => delete e.dataset.kind);
    for (const e of document.querySelectorAll(part + " *")) {
        const text = [...e.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
        if (!text || !e.checkVisibility(SEEN)) continue;
        const { color, fontSize, fontWeight } = getComputedStyle(e);
        const kind = [e.className, color, fontSize, fontWeight, ground(e)].join();
        if (!kinds.has(kind)) kinds.set(kind, e);
        else if (e.matches("pre span")) alike.push(e);
    }
    if (!kinds.size) throw new Error(`no text in ${part}`);
    for (const e of kinds.values()) e.dataset.kind = "";
    for (const e of alike) e.replaceWith(...e.childNodes);
    axe.configure({ rules: [{ id: "color-contrast", selector: "[data-kind]" }] });
    const place = { include: [part], exclude: ["th:has(math)"] };
    const { violations } = await axe.run(place, { resultTypes: ["violations"] });
    return violations.flatMap(
        ({ id, nodes }) => nodes.map(({ target }) => `${id}: ${target}`));
}"""


def faults(page: Page) -> list[str]:
    """What axe finds on the page."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text("utf-8"))
    return page.evaluate(FAULTS, "html")


# Chapters are made alike, too.
PATHS = {name for name in SOURCES if re.match(r"ch\d\d_", name)}
PATHS -= {"ch04_fedex", "ch04_more", "ch10_tables"}


@pages(nightly=ALIKE | PATHS)
def test_axe_finds_nothing_on_a_phone_in_the_dark_with_folds_open(phone):
    assert faults(phone) == []


# Widgets.


# Focus what moves a control, and return the key that moves it.
FOCUS = """(control) => {
    const focus = (part, key) => { part.focus(); return key; };
    const part = (selector) => control.querySelector(selector);
    const [slider, menu] = [part("input[type=range]"), part("select")];
    if (slider) return focus(slider, slider.value === slider.max ? "Home" : "End");
    if (menu) return focus(menu, menu.selectedIndex ? "ArrowUp" : "ArrowDown");
    if (part("input")) return focus(part("input:checked"), "ArrowDown");
    return focus(part("button:not([aria-pressed=true])"), "Enter");
}"""
PICTURES = """(widget) => [...widget.querySelectorAll(".fedlab-frames svg[role=img]")]
    .filter((one) => one.checkVisibility()).map((one) => one.getAttribute("aria-label"))"""


@pages(holding="frames(")
def test_each_control_changes_the_picture(light: Page):
    widgets = light.query_selector_all(".widget-subarea:has(.fedlab-frames)")
    assert widgets
    for widget in widgets:
        controls = widget.query_selector_all(".fedlab-controls > *")
        assert controls
        for control in controls:
            before = widget.evaluate(PICTURES)
            light.keyboard.press(control.evaluate(FOCUS))
            if "widget-play" in control.get_attribute("class"):
                light.wait_for_function(
                    f"([widget, before]) => ({PICTURES})(widget)[0] !== before[0]",
                    arg=[widget, before],
                )
                control.query_selector("button:last-child").click()  # it may have ended: no Pause
            else:
                now = widget.evaluate(PICTURES)
                assert (len(before), len(now)) == (1, 1)
                assert now != before


@pages(holding="frames(")
def test_a_slider_is_named_by_its_label_and_tells_its_value(light: Page):
    for control in light.locator(".widget-slider").all():
        slider = control.get_by_role("slider")
        assert slider.evaluate("s => s.ariaLabel ?? s.labels[0].textContent.trim()")
        told = "s => [s.ariaValueText, s.parentNode.querySelector('.widget-readout').textContent]"
        value, shown = slider.evaluate(told)
        assert value == shown


@pages(holding="play=True", nightly={name for name in SOURCES if name != "engine"})
def test_an_animation_is_silent_while_it_plays(light: Page):
    widget = light.locator(".widget-subarea:has(.widget-play)").first
    picture = widget.locator("[aria-live]")
    widget.get_by_role("button", name="Play").click()
    expect(picture).to_have_attribute("aria-live", "off")
    widget.get_by_role("button", name="Pause").click()
    expect(picture).to_have_attribute("aria-live", "polite")


@pages(holding="choice(")
def test_a_question_answers_each_choice_and_one_of_them_is_right(light: Page):
    quizzes = light.query_selector_all(".fedlab-quiz")
    assert quizzes
    for quiz in quizzes:
        assert quiz.get_attribute("role") == "group"
        assert quiz.evaluate("q => document.getElementById(q.getAttribute('aria-labelledby'))")
        reply, answers = (quiz.query_selector_all(s) for s in (".fedlab-reply", "[type=radio]"))
        assert reply[0].text_content() == ""
        answers[0].press("Space")
        said = []
        for _ in answers:
            said.append(" ".join(reply[0].text_content().split()))
            assert re.match(r"(Right|Not so)\. .", said[-1])
            light.keyboard.press("ArrowDown")
        assert [text.startswith("Right.") for text in said].count(True) == 1
        assert len(set(said)) == len(said)


# Light, dark and small.

GROUND = """const channels = c => c.match(/[\\d.]+/g).map(Number);
const ground = e => {
  for (; e; e = e.parentElement) {
    const [r, g, b, alpha = 1] = channels(getComputedStyle(e).backgroundColor);
    if (alpha > 0) return `rgb(${r}, ${g}, ${b})`;
  }
  return "rgb(255, 255, 255)";
};"""
GROUNDS = f"s => {{ {GROUND} return [...document.querySelectorAll(s)].map(ground) }}"
CONTRASTS = (
    "selector => {"
    + GROUND
    + """
  const linear = v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const luminance = c => {
    const [r, g, b] = channels(c).map(v => linear(v / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  return [...document.querySelectorAll(selector)].map(e => {
    const style = getComputedStyle(e);
    const pair = [style[e instanceof SVGElement ? "fill" : "color"], ground(e)].map(luminance);
    return (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05);
  });
}"""
)
# Text that has a colour of its own, such as on a cell of a heat map, is left out.
TEXTS = (
    ".fedlab-picture text:not([style*='fill']), .widget-label, .widget-readout, "
    ".widget-htmlmath p, .widget-radio-box label, .widget-subarea button, .widget-subarea select"
)


@pages(holding=".widgets import")
def test_text_in_pictures_and_widgets_stands_out_in_light_and_dark(scheme):
    theme, (page, *_) = scheme
    assert page.locator("html").get_attribute("data-theme") == theme
    ratios = page.evaluate(CONTRASTS, TEXTS)
    assert ratios
    assert min(ratios) >= 4.5


@pages(holding=".widgets import")
def test_pictures_stand_on_the_ground_of_the_page_in_light_and_dark(scheme):
    theme, (page, *_) = scheme
    grounds = page.evaluate(GROUNDS, "body, .fedlab-picture")
    assert set(grounds) == {"rgb(255, 255, 255)" if theme == "light" else "rgb(18, 18, 18)"}


@pytest.mark.parametrize("name", [name for name in SOURCES if re.match(r"ch\d\d_", name)])
def test_a_chapter_can_be_had_as_a_notebook_in_plain_markdown(site, name):
    notebook = nbformat.read(HTML / f"{name}.ipynb", 4)
    nbformat.validate(notebook)
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    assert re.findall(r"\{[a-z:]+\}`.{0,40}|^[`:]{3,}\{.{0,30}|^:[\w-]+:.*", text, re.M) == []
    assert f'href="{name}.ipynb"' in (HTML / f"{name}.html").read_text(encoding="utf-8")


@pages()
def test_nothing_is_wider_than_a_phone(phone: Page):
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390


CUT_OFF = """es => es.filter(e => !e.closest(".output.stream, .output.text_plain")
    && e.scrollWidth > e.clientWidth + 1).map(e => e.textContent.slice(0, 60))"""


@pages()
def test_no_code_is_cut_off_at_the_right(scheme):
    _, (page, *_) = scheme
    assert page.locator(".bd-article div.highlight pre").evaluate_all(CUT_OFF) == []


@pages(holding=".widgets import")
def test_on_a_phone_labels_are_whole_and_pictures_readable(phone: Page):
    cut = """es => es.filter(e => e.scrollWidth > e.clientWidth + 1
        || e.scrollHeight > e.clientHeight + 1
        || e.getBoundingClientRect().right > e.parentElement.getBoundingClientRect().right + 1
    ).map(e => e.textContent)"""
    assert phone.locator(".widget-label, .widget-radio-box label").evaluate_all(cut) == []
    sizes = phone.locator(".fedlab-picture text").evaluate_all(
        "es => es.map(e => parseFloat(getComputedStyle(e).fontSize) "
        "* Math.hypot(e.getScreenCTM().a, e.getScreenCTM().b))"
    )
    assert [size for size in sizes if size < 7] == []


def test_the_search_finds_a_word_of_the_first_page(browser, site):
    seen = visit(browser, f"{site}/search.html?q=federated")
    expect(seen.page.locator("#search-results li")).not_to_have_count(0)
    assert [url for url in seen.requests if not url.startswith(site)] == []
    assert seen.errors == []
    seen.page.close()


@pytest.mark.parametrize("name", sorted(SOURCES))
def test_the_built_page_names_no_address_that_a_browser_would_load(site, name):
    html = (HTML / f"{name}.html").read_text(encoding="utf-8")
    assert (
        re.findall(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=.(?:https?:)?//[^>]*>", html)
        == []
    )


# Live cells.

CELLS = pages(holding="```{live} ")


@pages(holding=":caption: Live")
def test_the_browser_draws_what_the_build_drew_and_each_control_changes_it(light):
    cells = light.locator(".live-cell:has(.live-picture svg):has(textarea)")
    for cell in cells.all():
        before = drawn(cell)
        assert run(cell) == ""
        assert drawn(cell) == before
        for control in cell.locator(".live-controls > *").element_handles():
            count, before = runs(cell), drawn(cell)
            light.keyboard.press(control.evaluate(FOCUS))
            assert after(cell, count + 1) == ""
            assert drawn(cell) != before
            label = cell.locator(".live-picture svg").get_attribute("aria-label")
            assert cell.locator(".live-spoken[role=status]").inner_text() == label


@CELLS
def test_cells_weigh_less_than_300_kilobytes_beside_the_engine(name):
    html = (HTML / f"{name}.html").read_text(encoding="utf-8")
    cells = re.findall(r'class="live-data">(.*?)</script>', html, re.S)
    data = {one["data"] for one in map(json.loads, cells) if one["data"]}
    files = [HTML / "_static/live" / file for file in ("page.js", "page.css")]
    files += [
        HTML / "_static/live" / f"{one.split('/')[-1].removesuffix('.json')}.js" for one in data
    ]
    pictures = re.findall(r'<div class="live-picture">.*?</div>', html, re.S)
    assert sum(file.stat().st_size for file in files) + len("".join(cells + pictures)) < 300_000


@CELLS
def test_text_in_live_cells_stands_out_in_light_and_dark(scheme):
    _, seen = scheme
    texts = ".live-picture text:not([fill]), .live-cell :is(label, output, select), .live-printed"
    ratios = seen.page.evaluate(
        CONTRASTS, f"{texts}, .live-editor .highlight span, .live-bar button:enabled"
    )
    assert ratios
    assert min(ratios) >= 4.5


@CELLS
def test_on_a_phone_a_live_cell_is_no_wider_than_the_page_and_its_text_is_readable(phone: Page):
    for cell in phone.locator(".live-cell").all():
        box = cell.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
    sizes = phone.locator(".live-picture text").evaluate_all(
        "es => es.map(e => parseFloat(getComputedStyle(e).fontSize) * e.getScreenCTM().a)"
    )
    assert [size for size in sizes if size < 7] == []


@pytest.fixture(scope="module")
def plain(browser):
    """A window without JavaScript."""
    page = browser.new_page(java_script_enabled=False)
    yield page
    page.close()


@pages(holding="```{live} ", nightly=ALIKE | PATHS)
def test_without_javascript_a_page_shows_code_and_picture(plain, site, name):
    plain.goto(f"{site}/{name}.html")
    shown = plain.locator(".live-cell").evaluate_all(
        """cells => cells.map((cell) => [...cell.querySelectorAll(".live-picture svg, pre")]
            .filter((part) => part.innerHTML).map((part) => part.checkVisibility()))"""
    )
    assert shown
    assert all(cell and all(cell) for cell in shown)


@pages(holding=":check:", nightly=PATHS)
def test_a_warm_up_tells_right_from_wrong_in_the_page(light, name):
    cell = light.locator(".live-cell:not(:has(.live-picture svg))")
    (question,) = re.findall(r"live.warmup.(\w+)", SOURCES[name])
    assert re.fullmatch(r"line \d: NotImplementedError: .*", run(cell, "Check"))
    wrong = [one[1:3] for one in MISTAKES if one[0] == question]
    for text in [SOLUTIONS[question].replace(*pair) for pair in wrong]:
        cell.get_by_role("textbox").fill(text)
        held, of = map(int, re.findall(r"\d+", run(cell, "Check")))
        assert held < of
        assert cell.locator(".live-wrong").count() == of - held
    cell.get_by_role("textbox").fill(SOLUTIONS[question])
    assert re.fullmatch(r"(\d) of \1 hold", run(cell, "Check"))


# On paper.

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


@pages(among=[name for name in SOURCES if re.match(r"ch\d\d_|engine", name)])
def test_on_paper_nothing_is_cut_off_and_no_fold_is_closed(paper):
    expect(paper.locator("details:not([open])")).to_have_count(0)
    assert paper.evaluate(CUT) == []
    widgets = paper.query_selector_all(".widget-subarea:has(.fedlab-frames)")
    assert [len(widget.evaluate(PICTURES)) for widget in widgets] == [1] * len(widgets)
    assert (
        paper.locator(".live-bar, textarea").evaluate_all(
            "all => all.filter((part) => part.checkVisibility()).length"
        )
        == 0
    )


@pages(among=["ch09_fleet"])
def test_a_chapter_prints_to_pages_and_its_folds_close_again(light):
    closed = light.locator("details:not([open])").count()
    assert closed > 0
    assert len(re.findall(rb"/Type /Page\b", light.pdf(format="A4"))) > 5
    expect(light.locator("details:not([open])")).to_have_count(closed)


# With the phone in the dark, each pair of colour, width and folds.
SETTINGS = [("light", 1280, True), ("light", 390, False), ("dark", 1280, False)]


@pages(
    among=["index", "ch09_fleet", "ch04_fedex", "instructor", "reference/training"],
    nightly=["ch04_fedex", "instructor", "reference/training"],
)
def test_axe_finds_nothing_in_light_and_dark_wide_and_narrow_open_and_closed(pocket, site, name):
    page = go(pocket, f"{site}/{name}.html").page  # nothing is scrolled or answered
    size = page.viewport_size
    for theme, width, folds in SETTINGS:
        page.set_viewport_size({"width": width, "height": 900})
        page.evaluate(
            """([theme, open]) => {
                document.documentElement.dataset.theme = theme;
                document.querySelectorAll("details").forEach((fold) => (fold.open = open));
            }""",
            [theme, folds],
        )
        page.evaluate(SETTLE)
        assert faults(page) == []
    page.set_viewport_size(size)

"""Live cells in the built pages: the reader's Python runs, is stopped, and stays in the page."""

import ast
import http.server
import json
import re
import threading

import pytest
from playwright.sync_api import Locator, expect

from fedlab_edu.live import fedex
from tests.book.cells import after, drawn, run, runs
from tests.book.conftest import HTML, ROOT, SOURCES, pages, visit

pytestmark = pytest.mark.book

FEDEX = "ch04_more"
TEXT = """def gradient(theta, row, score, size, baseline):
    total = sum(size)
    g = [0.0] * len(theta)
    for j, s, n in zip(row, score, size, strict=True):
        g[j] += n * (s - baseline) / (theta[j] * total)
    return g
"""  # what readers edit in these tests
EDITS = {  # typical edits, and what the cell says
    "a typo": ("return g", "retrun g", r"line \d+: SyntaxError"),
    "an indent": ("    return g", "  return g", r"line \d+: IndentationError"),
    "a wrong name": ("total = sum(size)", "total = sum(sizes)", r"line 2: NameError.*sizes"),
    "a division by zero": ("* total)", "* 0 * total)", r"line \d+: ZeroDivisionError"),
    "an index": ("g[j] +=", "g[j + 99] +=", r"line \d+: IndexError"),
    "a forgotten return": ("return g", "g", r"^after FedEx's gradient had run: TypeError"),
    "another name": ("def gradient", "def slope", r"NameError: the cell must define .* gradient"),
    "nothing is left": (TEXT, "", r"NameError: the cell must define .* gradient"),
    "no end of calls": ("return g", "return gradient(theta, row, score, size, baseline)",
                        r"line \d+: RuntimeError: the function calls itself"),
    "a better rule": ("return g", "return [x / 2 for x in g]", "^$"),
}  # fmt: skip


def edit(cell: Locator, old: str, new: str) -> None:
    assert old in TEXT
    cell.get_by_role("textbox").fill(TEXT.replace(old, new))


@pytest.fixture(scope="module")
def companion(browser, site):
    """Chapter 4's companion in a window of its own."""
    seen = visit(browser, f"{site}/{FEDEX}.html")
    yield seen
    seen.page.close()


@pytest.fixture
def cell(companion):
    """The first cell of chapter 4's companion, as it is in a new page."""
    companion.errors.clear()
    cell = companion.page.locator(".live-cell").first
    given = cell.locator("textarea").input_value()
    yield cell
    if cell.locator("textarea").input_value() != given:
        assert run(cell, "Reset") == ""
    assert companion.errors == []


@pytest.fixture
def other_host():
    """The address of a server, and what it has been asked for."""
    asked = []

    class Listener(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(404)
            self.end_headers()

        def log_message(self, *args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Listener) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()


@pytest.mark.nightly  # it measures time
@pages(holding=":caption: Live")
def test_a_first_run_takes_less_than_a_second_and_a_step_less_than_a_fifth(browser, site, name):
    first, steps = [], []
    for _ in range(3):  # on a busy machine one of them gets through
        page = browser.new_page()
        page.goto(f"{site}/{name}.html")
        cell = page.locator(".live-cell:has(.live-picture svg):has(textarea)").first
        for times in (first, steps, steps):
            run(cell)
            times.append(int(cell.get_attribute("data-ms")))
        page.close()
    assert (min(first) < 1000, min(steps) < 200) == (True, True), (first, steps)


def test_the_engine_is_loaded_when_a_cell_comes_into_view_and_once(browser, site):
    seen = visit(browser, f"{site}/ch09_fleet.html")
    engines = lambda: [url for url in seen.requests if url.endswith("engine.js")]  # noqa: E731
    assert engines() == []
    run(seen.page.locator(".live-cell").first)
    run(seen.page.locator(".live-cell").first)
    assert len(engines()) == 1
    seen.page.close()


@pytest.mark.parametrize("kind", EDITS)
def test_a_typical_edit_gets_an_answer_that_helps(cell, kind):
    old, new, said = EDITS[kind]
    before = drawn(cell)
    edit(cell, old, new)
    assert re.search(said, run(cell))
    if said == "^$":
        assert drawn(cell) != before
    assert run(cell, "Reset") == ""
    assert drawn(cell) == before


def test_a_line_that_is_printed_has_an_end(cell):
    edit(cell, "return g", "print('x' * 10**4)\n    return g")
    assert run(cell) == ""
    lines = drawn(cell)[1].splitlines()
    assert max(map(len, lines)) == 1000


def test_an_endless_loop_is_stopped_and_meanwhile_the_page_answers(browser):
    page = browser.new_page()
    page.goto(f"{HTML.as_uri()}/{FEDEX}.html")  # from disk, where the reader's limit holds
    cell = page.locator(".live-cell").first
    before, shown = runs(cell), drawn(cell)
    edit(cell, "return g", "while True: pass")
    cell.get_by_role("button", name="Run").click()
    expect(cell).to_have_attribute("aria-busy", "true")
    assert cell.evaluate("() => 1 + 1") == 2
    assert re.search("^stopped after 3 seconds.*loop", after(cell, before + 1))
    assert any(run(cell, "Reset") == "" for _ in range(3))  # on a busy machine one gets through
    assert drawn(cell) == shown
    page.close()


def test_numbers_in_the_browser_equal_those_of_the_build_to_1e_9(cell):
    edit(cell, "    return g", "    print(g)\n    return g")
    assert run(cell) == ""
    lines = cell.locator(".live-printed").inner_text().splitlines()
    seen = [ast.literal_eval(line) for line in lines if line.startswith("[")]
    space: dict = {}
    exec(TEXT, space)
    record = json.loads((ROOT / "book/records/live-fedex.json").read_text())
    wanted = []
    keep = lambda *args: wanted.append(space["gradient"](*args)) or wanted[-1]  # noqa: E731
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fedex.rules, "gradient", keep)
        fedex.replay(record, "constant", 1, 0.9, 1)
    assert len(seen) == len(wanted) == 60
    for got, want in zip(seen, wanted, strict=True):
        assert got == pytest.approx(want, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    "attempt",
    [
        "js.self.fetch('SITE/stolen')",
        "js.self.importScripts('SITE/stolen')",
        "js.WebSocket.new('ws://HOST/stolen')",
        "js.EventSource.new('SITE/stolen')",
        "js.Worker.new('SITE/stolen')",
        "js.self.eval('import(\"SITE/stolen\")')",
        "(lambda x: (x.open('GET', 'SITE/stolen', False), x.send()))(js.XMLHttpRequest.new())",
        "js.indexedDB.open('x')",
        "js.caches.open('x')",
        "js.localStorage.getItem('x')",
        "js.document.title",
    ],
)
def test_the_readers_code_reaches_neither_network_nor_storage_nor_page(
    companion, other_host, attempt
):
    address, asked = other_host
    cell = companion.page.locator(".live-cell").first
    attempt = attempt.replace("SITE", address).replace("HOST", address.partition("//")[2])
    edit(cell, "return g", f"import js\n    print('got', {attempt})\n    return g")
    said = run(cell)
    assert asked == []
    companion.page.evaluate("url => fetch(url).catch(() => 0)", f"{address}/heard")
    assert asked == ["/heard"]
    if "stolen" not in attempt:
        assert re.search("Error|denied", said)
    assert run(cell, "Reset") == ""


def test_keys_indent_run_and_leave_the_editor(cell):
    area, page, before = cell.get_by_role("textbox"), cell.page, runs(cell)
    area.fill("")
    page.keyboard.type("def f(x):\nif x:\nreturn 1")
    assert area.input_value() == "def f(x):\n    if x:\n        return 1"
    page.keyboard.press("Control+Enter")
    assert "must define" in after(cell, before + 1)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Run"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Reset"


def test_each_chapter_has_a_live_cell():
    chapters = {name for name in SOURCES if name.startswith("ch") and not name.endswith("_more")}
    assert {name for name in chapters if "```{live} " not in SOURCES[name]} == set()


# Warm-up questions, the playground, and the landing page.


def playground(context, site, fragment=""):
    page = context.new_page()
    page.goto(f"{site}/playground.html{fragment}")
    return page, page.locator(".live-cell").filter(has=page.locator("//label[.='γ']"))


def test_the_playground_holds_every_cell_and_links_to_its_chapter(browser, site):
    page, _ = playground(browser, site)
    cells = sum(text.count("```{live} ") - text.count(":play:") for text in SOURCES.values())
    assert page.locator(".live-gallery .live-cell").count() == cells
    chapters = [name for name, text in SOURCES.items() if "```{live} " in text and "ch" in name[:2]]
    links = page.locator(".live-gallery .rubric a").evaluate_all("all => all.map(a => a.href)")
    assert links == [f"{site}/{name}.html" for name in chapters]
    page.close()


def test_the_playground_keeps_changes_and_reset_forgets_them(browser, site):
    context = browser.new_context()
    page, cell = playground(context, site)
    given = cell.get_by_role("textbox").input_value()
    cell.get_by_role("textbox").fill(TEXT)
    page.reload()
    assert cell.get_by_role("textbox").input_value() == TEXT
    assert run(cell) == run(cell, "Reset") == ""
    page.reload()
    assert cell.get_by_role("textbox").input_value() == given
    context.close()


def test_shared_code_is_shown_and_runs_only_when_run_is_pressed(browser, site):
    context = browser.new_context()
    page, cell = playground(context, site)
    foreign = TEXT.replace("return g", "print('λ was here')\n    return g")
    cell.get_by_role("textbox").fill(foreign)
    cell.get_by_role("button", name="Share").click()
    page.wait_for_function("location.hash.length > 100")
    fragment = page.evaluate("location.hash")
    context.close()

    context = browser.new_context()
    page, cell = playground(context, site, fragment)
    assert cell.get_by_role("textbox").input_value() == foreign
    expect(cell).to_be_in_viewport()
    cell.get_by_label("γ").press("End")
    expect(cell.locator(".live-status")).to_have_text(re.compile("press Run"))
    assert cell.get_attribute("data-runs") is None
    assert run(cell) == ""
    assert "λ was here" in cell.locator(".live-printed").inner_text()
    kept = page.evaluate("Object.keys(localStorage)")
    assert [key for key in kept if "fedlab" in key] == []  # what a link brought is not the reader's
    context.close()


def test_the_landing_page_plays_and_can_be_paused_and_scrubbed(browser, site):
    page = browser.new_page()
    page.goto(f"{site}/index.html")
    cell = page.locator(".live-cell")
    expect(cell).to_have_attribute("data-runs", re.compile("[3-9]"), timeout=20_000)
    cell.get_by_role("button", name="Pause").click()
    expect(cell.get_by_role("button", name="Play")).to_be_visible()
    slider = cell.get_by_role("slider")
    slider.press("Home")
    label = cell.locator("svg").get_attribute("aria-label")
    expect(cell.locator("svg")).to_have_attribute("aria-label", re.compile("Round 1 of 8"))
    slider.press("End")
    expect(cell.locator("svg")).to_have_attribute("aria-label", re.compile("Round 8 .*averages"))
    assert cell.locator("svg").get_attribute("aria-label") != label
    page.close()


def test_the_landing_page_stands_still_for_those_who_want_less_motion(browser, site):
    page = browser.new_page(reduced_motion="reduce")
    page.goto(f"{site}/index.html")
    cell = page.locator(".live-cell")
    expect(cell.get_by_role("button", name="Play")).to_be_visible()
    cell.get_by_role("slider").press("ArrowRight")
    after(cell, 1)  # the engine is there, and still nothing moves by itself
    page.wait_for_timeout(1000)
    assert cell.get_attribute("data-runs") == "1"
    page.close()

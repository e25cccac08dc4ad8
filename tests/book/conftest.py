"""The built pages, served and opened in the system's Chromium."""

import functools
import http.server
import io
import itertools
import os
import shutil
import threading
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).parents[2]
HTML = ROOT / "_build/html"
SOURCES = {
    str(file.relative_to(ROOT / "book").with_suffix("")): file.read_text(encoding="utf-8")
    for file in sorted(ROOT.glob("book/**/*.md"))
    if not any(part.startswith((".", "_")) for part in file.relative_to(ROOT).parts)
}
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking"]
READY = """() =>
    document.querySelectorAll('script[type="application/vnd.jupyter.widget-view+json"]').length
    === document.querySelectorAll('.widget-subarea > .jupyter-widgets').length"""


class Visit(NamedTuple):
    """An open page, the addresses that it has asked for, and what went wrong in it."""

    page: Page
    requests: list[str]
    errors: list[str]


@pytest.fixture(scope="session")
def site():
    """The address at which the built book is served, with more time for a live cell's code.

    A reader's code is stopped after 3 seconds; here others share its cores.
    """
    if not (HTML / ".built").exists():
        pytest.fail("the book is not built, or its last build failed: run 'make book' first")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

        def send_head(self):
            if not self.path.partition("?")[0].endswith("/live/page.js"):
                return super().send_head()
            script = (HTML / "_static/live/page.js").read_bytes()
            patient = script.replace(b"const SECONDS = 3;", b"const SECONDS = 18;")
            assert patient != script
            self.send_response(200)
            self.send_header("Content-Type", "text/javascript; charset=utf-8")
            self.end_headers()
            return io.BytesIO(patient)

    handler = functools.partial(Quiet, directory=HTML)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="session")
def browser():
    names = [os.environ.get("CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome"]
    found = [path for path in map(shutil.which, names) if path]
    if not found:
        pytest.fail("no Chromium or Chrome: install one, or set CHROMIUM to its path")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found[0], args=FLAGS)
        yield browser
        browser.close()


def visit(browser: Browser, address: str, **context) -> Visit:
    """Open a page, and wait until its widgets and formulas are there."""
    return go(watched(browser, **context), address)


def watched(browser: Browser, **context) -> Visit:
    page = browser.new_page(**context)
    page.set_default_timeout(20_000)
    seen = Visit(page, [], [])
    page.on("request", lambda request: seen.requests.append(request.url))
    page.on("requestfailed", lambda request: lost(seen, request.url))
    page.on(
        "response",
        lambda got: seen.errors.append(f"{got.status}: {got.url}") if got.status >= 400 else None,
    )
    page.on("pageerror", lambda error: seen.errors.append(str(error)))
    page.on("console", lambda text: seen.errors.append(text.text) if text.type == "error" else None)
    return seen


def lost(seen: Visit, url: str) -> None:
    """Note a request that failed; a worker's own text may go with its frame, unanswered."""
    if not url.startswith("blob:"):
        seen.errors.append(f"failed: {url}")


# Colours change and folds open by degrees; what is half transparent has no contrast.
SETTLE = """async () => {
    await new Promise(requestAnimationFrame); // now the page has heard of other colours
    for (const one of document.getAnimations())
        if (one.effect.getComputedTiming().endTime < Infinity) one.finish(); }"""


def go(seen: Visit, address: str) -> Visit:
    seen.page.goto("about:blank")
    seen.requests.clear()
    seen.errors.clear()
    seen.page.goto(address)
    seen.page.wait_for_function(READY)
    seen.page.evaluate("async () => { await window.MathJax?.startup.promise }")
    return seen


# A page is opened once, and shown in these ways one after the other: to open a large one takes a
# second of the processor.


class Look(NamedTuple):
    """How a page is shown: the reader's colours, the medium, and the window's size."""

    scheme: str
    medium: str
    width: int
    height: int


LOOKS = {
    "light": Look("light", "screen", 1280, 720),
    "paper": Look("light", "print", 718, 1000),  # A4 within margins of 1 cm; folds open
    "phone": Look("dark", "screen", 390, 844),  # folds open
}
OPEN = "document.querySelectorAll('details').forEach((fold) => { fold.open = true })"


def look(page: Page, name: str) -> None:
    """Show the page so. Nothing is laid out before all has changed: that halves the time."""
    scheme, medium, width, height = LOOKS[name]
    page.evaluate("document.body.style.display = 'none'")
    page.emulate_media(color_scheme=scheme, media=medium)
    page.set_viewport_size({"width": width, "height": height})
    if name == "paper":
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
    elif name == "phone":
        page.evaluate(OPEN)
    page.evaluate("document.body.style.display = ''; dispatchEvent(new Event('resize'))")
    page.evaluate(SETTLE)


@pytest.fixture(scope="session")
def window(browser):
    """A window that remembers no answers from page to page."""
    seen = watched(browser)
    seen.page.add_init_script("try { localStorage.clear() } catch {}")  # a frame may have none
    yield seen
    seen.page.close()


@pytest.fixture(scope="session")
def pocket(browser):
    """A second window: a phone that is set to dark."""
    seen = watched(browser, color_scheme="dark", viewport={"width": 390, "height": 844})
    yield seen
    seen.page.close()


@pytest.fixture(scope="module")
def name(request):
    """A page of the book, by the name of its source."""
    return request.param


@pytest.fixture(scope="module")
def shown(window, name):
    """A function that shows the page, opened from the folder, in one of LOOKS."""
    order, now = list(LOOKS), len(LOOKS)

    def show(kind: str) -> Visit:
        nonlocal now
        if order.index(kind) < now:  # the first test of the page, or folds have been opened
            window.page.goto("about:blank")
            look(window.page, "light")
            go(window, f"file://{HTML}/{name}.html")
            now = 0
        if order.index(kind) > now:
            look(window.page, kind)
            now = order.index(kind)
        return window

    return show


@pytest.fixture
def light(shown):
    """The page on a desktop that is set to light."""
    return shown("light").page


@pytest.fixture
def paper(shown):
    """The page as it is while the browser prints it."""
    return shown("paper").page


@pytest.fixture
def phone(shown):
    """The page on a phone that is set to dark, with folds open."""
    return shown("phone").page


@pytest.fixture(params=["light", "dark"])
def scheme(request, shown):
    """The page on the desktop, then on the phone."""
    return request.param, shown({"light": "light", "dark": "phone"}[request.param])


@pytest.hookimpl(trylast=True)  # when the tests of one page stand together
def pytest_collection_modifyitems(items):
    """Sort the tests of each page by how it is shown, so that it is opened once."""

    def params(item):
        return item.callspec.params if hasattr(item, "callspec") else {}

    def place(item):
        dark = "phone" in item.fixturenames or params(item).get("scheme") == "dark"
        return 2 if dark else int("paper" in item.fixturenames)

    groups = itertools.groupby(items, key=lambda item: (item.path, params(item).get("name")))
    items[:] = [item for _, those in groups for item in sorted(those, key=place)]


# Pages in folders are made alike, and so are the companions of chapters: one of each kind is opened
# by day, and by night all of them.
ALIKE = {name for name in SOURCES if "/" in name or name.endswith("_more")}
ALIKE -= {"algorithms/fedex", "reference/training", "ch04_more"}


def pages(holding="", among=tuple(SOURCES), nightly=ALIKE):
    """A test for each of these pages whose source holds the text."""
    names = [
        pytest.param(name, marks=[pytest.mark.nightly] if name in nightly else [])
        for name in among
        if holding in SOURCES[name]
    ]
    return pytest.mark.parametrize("name", names, indirect=True, scope="module")

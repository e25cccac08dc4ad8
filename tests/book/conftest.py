"""The built pages, served and opened in the system's Chromium."""

import functools
import http.server
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
    """The address at which the built book is served."""
    if not (HTML / ".built").exists():
        pytest.fail("the book is not built, or its last build failed: run 'make book' first")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args):
            pass

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
SETTLE = """() => { for (const one of document.getAnimations())
    if (one.effect.getComputedTiming().endTime < Infinity) one.finish() }"""


def go(seen: Visit, address: str) -> Visit:
    seen.page.goto("about:blank")
    seen.requests.clear()
    seen.errors.clear()
    seen.page.goto(address)
    seen.page.wait_for_function(READY)
    seen.page.evaluate("async () => { await window.MathJax?.startup.promise }")
    return seen


# Two windows show one page after the other: a new window costs a second of the processor.


@pytest.fixture(scope="session")
def desktop(browser):
    seen = watched(browser, color_scheme="light")
    yield seen
    seen.page.close()


@pytest.fixture(scope="session")
def pocket(browser):
    size = {"width": 390, "height": 844}
    seen = watched(browser, color_scheme="dark", viewport=size)
    yield seen
    seen.page.close()


@pytest.fixture(scope="module")
def name(request):
    """A page of the book, by the name of its source."""
    return request.param


@pytest.fixture(scope="module")
def served(desktop, site, name):
    return go(desktop, f"{site}/{name}.html")


@pytest.fixture(scope="module")
def from_folder(pocket, name):
    seen = go(pocket, f"file://{HTML}/{name}.html")
    seen.page.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true })")
    seen.page.evaluate(SETTLE)
    return seen


@pytest.fixture
def light(served):
    """The page as served, on a desktop that is set to light."""
    return served.page


@pytest.fixture
def phone(from_folder):
    """The page as opened from the folder, on a phone that is set to dark, with folds open."""
    return from_folder.page


@pytest.fixture(params=["light", "dark"])
def scheme(request, name):
    """Served and light, then from the folder, dark and on a phone."""
    fixture = {"light": "served", "dark": "from_folder"}[request.param]
    return request.param, request.getfixturevalue(fixture)


def pages(holding="", among=tuple(SOURCES), nightly=()):
    """A test for each of these pages whose source holds the text."""
    names = [
        pytest.param(name, marks=[pytest.mark.nightly] if name in nightly else [])
        for name in among
        if holding in SOURCES[name]
    ]
    return pytest.mark.parametrize("name", names, indirect=True, scope="module")

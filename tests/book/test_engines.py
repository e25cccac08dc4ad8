"""Live cells in Firefox and WebKit, where they are installed, from a server and from the disk."""

import json
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest
from websockets.sync.client import connect

from tests.book.conftest import HTML
from tests.book.test_live import FEDEX, TEXT

pytestmark = pytest.mark.book

WALK = """
(texts, done) => {
const cell = document.querySelector(".live-cell"), said = {};
const [run, reset] = ["Run", "Reset"].map(
  (name) => [...cell.querySelectorAll("button")].find((one) => one.textContent === name));
const state = () => [cell.querySelector(".live-status").textContent,
                     cell.querySelector(".live-picture").innerHTML];
const runs = () => Number(cell.dataset.runs ?? 0);
const step = async (act) => {
  const before = runs(), late = Date.now() + 20000;
  act();
  while (runs() === before && Date.now() < late) await new Promise((go) => setTimeout(go, 20));
  return state();
};
const slide = () => {
  const slider = cell.querySelector("input[type=range]");
  slider.value = slider.value === slider.max ? slider.min : slider.max;
  slider.dispatchEvent(new Event("input", {bubbles: true}));
};
const write = (text) => {
  const area = cell.querySelector("textarea");
  area.value = text;
  area.dispatchEvent(new Event("input", {bubbles: true}));
  run.click();
};
(async () => {
  said.built = state();
  said.run = await step(() => run.click());
  said.slide = await step(slide);
  said.reset = await step(() => reset.click());
  said.edit = await step(() => write(texts[0]));
  said.loop = await step(() => write(texts[1]));
  done(JSON.stringify(said));
})().catch((error) => done(JSON.stringify({error: String(error)})));
}"""


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def patiently(connecting, seconds: float = 60):
    """Call until it succeeds: a browser needs a while to listen."""
    end = time.monotonic() + seconds
    while True:
        try:
            return connecting()
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)


@contextmanager
def started(command: list[str], folder: Path):
    """Run a program, and end it and its children."""
    environ = {**os.environ, "WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS": "1"}
    process = subprocess.Popen(
        command, env=environ, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    try:
        yield
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait()


@contextmanager
def firefox(folder: Path):
    """Start Firefox, and return the walk through a page, over WebDriver BiDi."""
    port = free_port()
    command = ["firefox-esr", "--headless", "--no-remote", "--profile", str(folder)]
    command += ["--remote-debugging-port", str(port)]
    with started(command, folder), patiently(
        lambda: connect(f"ws://127.0.0.1:{port}/session", max_size=None, proxy=None).__enter__()
    ) as socket:  # fmt: skip

        def ask(method: str, **params):
            socket.send(json.dumps({"id": 1, "method": method, "params": params}))
            while (answer := json.loads(socket.recv(timeout=120))).get("id") != 1:
                pass
            return answer["result"]

        ask("session.new", capabilities={})
        context = ask("browsingContext.getTree")["contexts"][0]["context"]

        def walk(address: str, texts: list[str]) -> str:
            ask("browsingContext.navigate", context=context, url=address, wait="complete")
            call = f"new Promise((done) => ({WALK})({json.dumps(texts)}, done))"
            target = {"context": context}
            got = ask("script.evaluate", expression=call, target=target, awaitPromise=True)
            return got["result"]["value"]

        yield walk


@contextmanager
def webkit(folder: Path):
    """Start WebKitGTK's small browser on a display of its own; it is driven over WebDriver."""
    (browser,) = Path("/usr/lib").glob("*/webkit2gtk-4.*/MiniBrowser")
    options = {"binary": str(browser), "args": ["--automation"]}
    port = free_port()
    with started(["xvfb-run", "-a", "WebKitWebDriver", f"--port={port}"], folder):

        def ask(path: str, body: object, method: str = "POST"):
            address = f"http://127.0.0.1:{port}/session{path}"
            request = urllib.request.Request(address, json.dumps(body).encode(), method=method)
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]

        wanted = {"capabilities": {"alwaysMatch": {"webkitgtk:browserOptions": options}}}
        session = "/" + patiently(lambda: ask("", wanted))["sessionId"]
        ask(f"{session}/timeouts", {"script": 100_000})

        def walk(address: str, texts: list[str]) -> str:
            ask(f"{session}/url", {"url": address})
            script = f"({WALK})(...arguments)"
            return ask(f"{session}/execute/async", {"script": script, "args": [texts]})

        yield walk
        ask(session, {}, "DELETE")


# A run is stopped after 3 seconds: with others on its cores, WebKit needs more.
NIGHTLY = pytest.param("WebKitWebDriver", marks=pytest.mark.nightly)


@pytest.fixture(scope="module", params=["firefox-esr", NIGHTLY])
def walk(request, tmp_path_factory):
    if not shutil.which(request.param):
        pytest.skip(f"{request.param} is not installed")
    start = {"firefox-esr": firefox, "WebKitWebDriver": webkit}[request.param]
    with start(tmp_path_factory.mktemp("profile")) as walk:
        yield walk


@pytest.mark.parametrize("place", ["disk", pytest.param("server", marks=pytest.mark.nightly)])
def test_a_cell_computes_is_reset_and_stopped_as_in_chromium(walk, site, place):
    base = site if place == "server" else HTML.as_uri()
    texts = [
        TEXT.replace("return g", new) for new in ("return [x / 2 for x in g]", "while True: pass")
    ]
    said = json.loads(walk(f"{base}/{FEDEX}.html", texts))
    (_, built), *_ = said.values()
    assert said["run"] == ["", built]  # the page's Python draws what CPython drew
    assert said["slide"][0] == ""
    assert said["slide"][1] != built
    assert said["reset"] == ["", built]
    assert said["edit"][0] == ""
    assert said["edit"][1] != built
    assert said["loop"][0].startswith("stopped after 3 seconds")

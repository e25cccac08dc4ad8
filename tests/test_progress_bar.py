"""Progress bars: shown in terminals and notebooks, hidden elsewhere."""

import os
import pty
import re
import sys
import termios
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from threading import Event

import nbformat
import pytest
from nbclient import NotebookClient
from tqdm import tqdm

from fedlab_edu import (
    Run,
    SearchSpace,
    Spaces,
    Uniform,
    digits,
    linear,
    random_search,
    start,
    train,
    tune,
)  # fmt: skip
from fedlab_edu.papers.reproduce import reproduce
from fedlab_edu.progress import progress_bar
from fedlab_edu.search.race import Race
from tests.test_papers import SMALL

MODEL = linear(64, 10)


@pytest.fixture(scope="module")
def fed():
    return digits(clients=14)


@contextmanager
def terminal() -> Iterator[list[str]]:
    """Make standard output and error one terminal; the list then holds all that was written."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 100))
    text, parts = [""], []
    with os.fdopen(theirs, "w") as file, pytest.MonkeyPatch.context() as patch:
        patch.setattr(tqdm, "monitor_interval", 0)
        patch.setattr(sys, "stdout", file)
        patch.setattr(sys, "stderr", file)
        yield text
    with suppress(OSError), os.fdopen(ours, "rb", 0) as file:  # reading fails at the end
        while part := file.read(1 << 16):
            parts.append(part)
    text[0] = b"".join(parts).decode().replace("\x1b[A", "")  # up to the bar around this one


def test_training_shows_rounds_and_the_time_left_in_a_terminal(fed):
    with terminal() as text:
        train(start(MODEL, fed), MODEL, fed, 3, clients=2)
    assert re.search(r"3/3 \[\d\d:\d\d<\d\d:\d\d, .*round", text[0])


def test_what_watch_and_callback_print_stands_on_lines_of_its_own(fed):
    def watch(run: Run) -> None:
        print("round", run.round)

    def callback(search: Race) -> None:
        print("used", search.used)

    search = random_search(MODEL, fed, Spaces(SearchSpace({"lr": Uniform(0, 1)})), 2, 1)
    with terminal() as text:
        train(start(MODEL, fed), MODEL, fed, 2, clients=2, watch=watch)
        tune(search, MODEL, fed, 2, callback=callback)
    lines = re.split(r"[\r\n]+", text[0])
    shown = [line for line in lines if line.startswith(("round", "used"))]
    assert shown == ["round 0", "round 1", "round 2", "used 2"]


def test_training_shows_no_bar_where_none_is_wanted(fed, monkeypatch, capfd):
    run = start(MODEL, fed)
    train(run, MODEL, fed, 2, clients=2)  # no terminal
    with terminal() as text:
        train(run, MODEL, fed, 2, clients=2, progress=False)
        monkeypatch.setenv("TQDM_DISABLE", "1")
        train(run, MODEL, fed, 2, clients=2)
    assert (text, capfd.readouterr()) == ([""], ("", ""))


def test_the_experiments_of_a_paper_are_counted_in_a_terminal(tmp_path):
    with terminal() as text:
        reproduce(SMALL, "tiny", seeds=range(2), folder=tmp_path)
        reproduce(SMALL, "tiny", seeds=range(2), folder=tmp_path)  # there is nothing left to do
    lines = re.split(r"[\r\n]+", text[0])
    assert [line[:12] for line in lines if line.startswith("[")] == [
        "[1/4] seed 0", "[2/4] seed 0", "[3/4] seed 1", "[4/4] seed 1",
    ]  # fmt: skip
    assert any(re.search(r"4/4 \[.*run", line) for line in lines)
    assert not any("0run [" in line for line in lines)


class Log:
    """Takes the place of a standard error with the two methods that Python's own print needs."""

    def write(self, text):
        return len(text)

    def flush(self):
        pass


@pytest.mark.parametrize("kind", ["none", "closed", "of a logger"])
def test_training_goes_on_where_there_is_no_standard_error(kind, fed, tmp_path, monkeypatch):
    file = (tmp_path / "errors").open("w")
    file.close()
    monkeypatch.setattr(sys, "stderr", {"none": None, "closed": file}.get(kind, Log()))
    assert train(start(MODEL, fed), MODEL, fed, 1, 1).round == 1


def test_a_bar_ends_with_its_block_when_an_exception_stops_it():
    def stop() -> None:
        with progress_bar(total=5, unit="round"):
            raise KeyboardInterrupt

    with terminal() as text, suppress(KeyboardInterrupt):
        stop()
    assert text[0].endswith("\n")


@pytest.mark.processes
@pytest.mark.long
def test_a_notebook_shows_a_widget_with_the_rounds_unless_none_is_wanted():
    shown, hidden = (
        f"""
import os
from fedlab_edu import digits, linear, start, train
os.environ["TQDM_DISABLE"] = "{disable}"
fed, model = digits(clients=14), linear(64, 10)
run = train(start(model, fed), model, fed, {rounds}, clients=2)
"""
        for disable, rounds in (("", 3), ("1", 4))
    )
    cells = [*map(nbformat.v4.new_code_cell, (shown, hidden))]
    book = nbformat.v4.new_notebook(cells=cells)
    NotebookClient(book, kernel_name="python3").execute()
    outputs = [[output.data for output in cell.outputs] for cell in book.cells]
    kind = "application/vnd.jupyter.widget-view+json"
    assert [[kind in data for data in some] for some in outputs] == [[True], []]
    widgets = str(book.metadata.get("widgets"))
    assert ("3/3" in widgets, "4/4" in widgets) == (True, False)


@pytest.mark.processes
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
def test_a_process_forked_while_a_thread_draws_a_bar_can_have_its_own():
    drawing, end = Event(), Event()

    def draw() -> None:
        with tqdm.get_lock():
            drawing.set()
            assert end.wait(120)

    with ThreadPoolExecutor(1) as pool:
        drawn = pool.submit(draw)
        assert drawing.wait(60)
        child = get_context("fork").Process(target=progress_bar, args=(range(2),))
        child.start()
        child.join(60)
        end.set()
        drawn.result()
    child.kill()
    assert child.exitcode == 0

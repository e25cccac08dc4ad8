"""Watching a file: each save is checked at once, whatever is in the file, until Ctrl-C."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from fedlab_edu import cli
from fedlab_grade.home import watch
from tests import classroom

pytestmark = [pytest.mark.processes, pytest.mark.grader]
if sys.platform == "win32":
    pytest.skip("Ctrl-C is sent as a signal of POSIX", allow_module_level=True)

# It says when it has begun.
ENDLESS = """

def double(x):
    open("begun", "w").close()
    while True:
        pass
"""
TELLS_PROCESS = """
import os

def double(x):
    print("process", os.getpid())
    return 0
"""
END = re.compile(r"\d: (\S+) is checked again when you save it")


class Watcher:
    """The command in a process of its own, and what it has said."""

    def __init__(self, file: Path, *arguments: str) -> None:
        self.file, self.log = file, file.with_name("log.txt")
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "fedlab_edu", "watch", *arguments],
                cwd=file.parent,
                stdout=log,
                stderr=log,
                env=os.environ | {"OMP_NUM_THREADS": "1"},
                # A shell has the jobs in its background ignore Ctrl-C, and they pass that on.
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            )

    @property
    def said(self) -> str:
        return self.log.read_text(encoding="utf-8")

    @property
    def results(self) -> list[str]:
        return END.split(self.said)[:-1:2]

    def wait(self, number: int, limit: float = 60.0) -> str:
        """The text of the result of this number, from 1."""
        deadline = time.monotonic() + limit
        while time.monotonic() < deadline and self.process.poll() is None:
            if len(self.results) >= number:
                return self.results[number - 1]
            time.sleep(0.02)
        raise AssertionError(f"no result {number} within {limit:g} s: {self.said}")

    def save(self, text: str, limit: float = 60.0) -> str:
        """The result of the next check."""
        number = len(self.results) + 1
        self.file.write_text(text)
        return self.wait(number, limit)

    def save_endless(self) -> None:
        """Save an answer that never ends, and wait until it has begun."""
        begun = self.file.with_name("begun")
        begun.unlink(missing_ok=True)
        self.file.write_text(classroom.RIGHT + ENDLESS)
        deadline = time.monotonic() + 60
        while not begun.exists():
            assert time.monotonic() < deadline, self.said
            time.sleep(0.02)

    def end(self) -> int:
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(60)


@pytest.fixture(scope="module")
def watcher(tmp_path_factory):
    """It watches hw.py of a homework with two questions, and has checked it once."""
    folder = classroom.assignment_folder(tmp_path_factory.mktemp("homework"))
    (folder / "hw_ref.py").rename(folder / "hw.py")
    watcher = Watcher(folder / "hw.py", ".", "hw.py")
    try:
        watcher.wait(1)
        yield watcher
    finally:
        if watcher.process.poll() is None:
            watcher.end()


def total(text: str) -> str:
    return re.findall(r"Total +(.*)", text)[-1]


def children(process: int) -> list[str]:
    lines = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True).stdout
    return [pid for pid, parent in map(str.split, lines.splitlines()) if int(parent) == process]


def test_each_save_is_checked_again(watcher):
    assert total(watcher.wait(1)) == "5.5 of 5.5"
    for text, points in ((classroom.WRONG, 3.5), (classroom.RIGHT, 5.5)):
        assert total(watcher.save(text)) == f"{points:g} of 5.5"


def test_a_check_is_done_by_a_process_that_was_there_before_the_save(watcher):
    deadline = time.monotonic() + 60
    while not (before := children(watcher.process.pid)):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    said = watcher.save(classroom.RIGHT + TELLS_PROCESS)
    assert re.findall(r"process (\d+)", said)[0] in before


def test_half_saved_files_get_the_usual_message_and_the_next_save_is_checked(watcher):
    assert "This file cannot be graded yet" in watcher.save(classroom.RIGHT[:-20] + "(")
    watcher.file.unlink()  # as editors do that write a new file in its place
    time.sleep(3 * watch.POLL)
    assert total(watcher.save("")) == "0 of 5.5"


def test_an_endless_loop_does_not_keep_the_next_save_waiting(watcher):
    before = watcher.said.count("still running")
    watcher.save_endless()
    assert total(watcher.save(classroom.RIGHT)) == "5.5 of 5.5"
    assert watcher.said.count("still running") == before


def test_an_endless_loop_is_stopped_and_named_where_nothing_is_saved(watcher):
    tests = watcher.file.with_name("test_hw.py")
    before = tests.read_text()
    tests.write_text(before.replace('function="double"', 'function="double", wall=1'))
    said = watcher.save(classroom.RIGHT + ENDLESS)
    tests.write_text(before)
    assert "double was still running after 1 seconds" in said
    assert "Likely: a loop that never ends." in said
    assert total(said) == "2.5 of 5.5"


def test_code_that_ends_the_process_ends_its_own_check_only(watcher):
    ends = "\n\ndef double(x):\n    import os\n    os._exit(0)\n"
    said = watcher.save(classroom.RIGHT + ends)
    assert "ended the Python process, with exit status 0" in said
    assert total(watcher.save(classroom.RIGHT)) == "5.5 of 5.5"


def test_ctrl_c_ends_it_with_its_child_and_without_a_traceback(watcher):
    watcher.save_endless()
    (child,) = children(watcher.process.pid)
    assert watcher.end() == 0
    assert "Traceback" not in watcher.said
    with pytest.raises(ProcessLookupError):
        os.kill(int(child), 0)


def test_a_file_that_is_still_being_written_is_waited_for(tmp_path):
    file = tmp_path / "slow.py"
    file.write_text("")
    seen = watch.stamp(file)

    def write() -> None:
        for _ in range(8):
            time.sleep(watch.POLL / 2)
            with file.open("a") as out:
                out.write("x = 1\n")

    writer = threading.Thread(target=write)
    writer.start()
    found = watch.settled(file, seen)
    writer.join()
    assert found == watch.stamp(file)
    assert file.read_text() == 8 * "x = 1\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["ex99"], "there is no exercise 'ex99'"),
        (["ex01", "gone.py"], "there is no file 'gone.py'."),
    ],
)
def test_what_cannot_be_watched_is_refused_at_once(arguments, message, capsys):
    assert cli.main(["watch", *arguments]) == 2
    out, error = capsys.readouterr()
    assert (out, len(error.splitlines())) == ("", 1)
    assert message in error

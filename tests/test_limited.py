"""Student files are read in a process with limits: the author is told, the class goes on."""

import gzip
import json
import os
import resource
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest

from fedlab_grade import limited as module
from fedlab_grade.classroom import intake
from fedlab_grade.classroom.intake import Handed, Wanted, take
from fedlab_grade.limited import limited
from fedlab_grade.textfile import HEAD, Unusable, place_of

pytestmark = [pytest.mark.processes, pytest.mark.grader]

ROOT = Path(__file__).parents[1]
GOOD = "def fedavg(states):\n    return states[0]\n"
WANTED = Wanted(("hw",), ("fedavg",))


def taken(path: Path) -> Handed:
    return take([(path.name, path)], WANTED)


def test_a_value_comes_back_as_json_has_it():
    assert limited(lambda: {"a": (1, None, "\udcff ä"), "pid": 0}) == {
        "a": [1, None, "\udcff ä"],
        "pid": 0,
    }
    assert limited(os.getpid) != os.getpid()


def refuses() -> None:
    raise Unusable("is a link")


@pytest.mark.parametrize(
    ("act", "told"),
    [
        (refuses, "is a link"),
        (lambda: time.sleep(60), "takes longer than 0.5 seconds to read"),
        (lambda: bytearray(4 << 30), "is too deeply nested or too large to read"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "is too deeply nested or too large to read"),
        (lambda: os._exit(0), "is too deeply nested or too large to read"),
        (lambda: json.loads("[" * 100_000), "is too deeply nested or too large to read"),
    ],
)
def test_what_breaks_a_limit_is_said_in_words(act, told):
    with pytest.raises(Unusable) as raised:
        limited(act, seconds=0.5)
    assert told in str(raised.value)


@pytest.mark.skipif(sys.platform != "linux", reason="counts no addresses")
def test_memory_has_a_limit_where_proc_is_hidden_too(monkeypatch):
    def hidden(path: str) -> None:
        raise FileNotFoundError(path)

    limits: dict[int, tuple[int, int]] = {}
    monkeypatch.setattr(resource, "setrlimit", limits.__setitem__)
    monkeypatch.setattr(module, "open", hidden, raising=False)
    module.limit(1 << 30)
    assert max(limits[resource.RLIMIT_AS]) <= 1 << 30


def children() -> set[str]:
    """Processes that this one has started, where /proc tells; other tests may have some."""
    lists = Path("/proc/self/task").glob("*/children")
    return {pid for found in lists for pid in found.read_text().split()}


def test_nothing_is_left_running():
    before, others = time.monotonic(), children()
    with pytest.raises(Unusable, match="longer than"):
        limited(lambda: [time.sleep(0.1) for _ in range(600)], seconds=0.2)
    assert time.monotonic() - before < 30
    assert children() <= others


def pax(path: Path, header: bytes) -> Path:
    """A tar.gz whose first entry is an extended header, and its second a right answer."""

    def block(data: bytes) -> bytes:
        return data + bytes(-len(data) % 512)

    extended = tarfile.TarInfo("././@PaxHeader")
    extended.type, extended.size = tarfile.XHDTYPE, len(header)
    entry = tarfile.TarInfo("hw.py")
    entry.size = len(GOOD)
    heads = [one.tobuf(tarfile.USTAR_FORMAT) for one in (extended, entry)]
    data = heads[0] + block(header) + heads[1] + block(GOOD.encode()) + bytes(1024)
    path.write_bytes(gzip.compress(data))
    return path


def test_a_tar_that_takes_python_for_ever_to_read_costs_its_author_only(tmp_path, monkeypatch):
    """Some versions of Python look for a length in the header in a time of its square."""
    monkeypatch.setattr(intake, "limited", lambda act: limited(act, seconds=3))
    before = time.monotonic()
    handed = taken(pax(tmp_path / "mallory.tar.gz", b"1" * 400_000))
    assert time.monotonic() - before < 60
    if handed.source is None:
        assert handed.problem in (
            "What you handed in takes longer than 3 seconds to read",
            "What you handed in holds no hw.py or hw.ipynb ('mallory.tar.gz' is not a readable tar "
            "file: did the upload break off? Hand it in again)",
        )
    assert taken(pax(tmp_path / "ann.tar.gz", b"13 path=hw.py\n"[:0])).source == GOOD


def notebook(path: Path, *cells: str) -> Path:
    kinds = [{"cell_type": "code", "source": cell} for cell in cells]
    path.write_text(json.dumps({"cells": kinds}))
    return path


@pytest.mark.parametrize("kind", ["py", "ipynb"])
def test_a_module_and_the_module_in_a_notebook_have_one_limit(kind, tmp_path):
    path = tmp_path / f"hw.{kind}"
    for size, fits in ((900_000, True), (1_100_000, False), (5_000_000, False)):
        text = f"{GOOD.rstrip()} or TABLE\nTABLE = '{'x' * size}'\n"
        notebook(path, text) if kind == "ipynb" else path.write_text(text)
        handed = taken(path)
        assert (handed.source is not None) == fits
        assert fits or handed.problem == (
            f"What you handed in holds 'hw.{kind}', which has more than 1 MB of code, the most "
            "that is read: take the data out of it"
        )


def test_a_text_that_grows_when_it_is_decoded_has_the_limit_of_what_it_grows_to(tmp_path):
    (tmp_path / "hw.py").write_bytes(
        b"# coding: latin-1\nX = '" + b"\xe4" * 700_000 + f"'\n{GOOD}".encode()
    )
    assert "has more than 1 MB of code" in taken(tmp_path / "hw.py").problem


def test_the_place_of_a_line_of_a_notebook_is_found_in_a_time_that_is_no_matter():
    """In a million lines below the only mark, and where the line is made up."""
    lines = [f"{HEAD} f\n", "# cell 7, line 3\n", *["        \n"] * 1_000_000]
    before = time.process_time()
    for _ in range(4):
        assert place_of(1_000_000, lines) == "cell 7, line 1000000"
        assert place_of(10**8, lines).startswith("cell 7, line ")
    assert time.process_time() - before < 10


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"PK\x03\x04rest", "is a zip file, or a document of a word processor"),
        (gzip.compress(b"x", mtime=0), "is a gzip archive"),
        (b"%PDF-1.7\n", "is a PDF"),
        (b"Rar!\x1a", "is a RAR archive"),
        (b"\x89PNG\r\n", "is a picture"),
    ],
)
@pytest.mark.parametrize("name", ["hw.py", "hw.ipynb"])
def test_a_file_that_was_renamed_is_told_what_it_is(name, data, told, tmp_path):
    (tmp_path / name).write_bytes(data)
    assert f"holds {name!r}, which {told}, whatever its name says: hand in the Python" in (
        taken(tmp_path / name).problem
    )


def test_reading_a_notebook_writes_nothing_into_the_package(tmp_path, monkeypatch):
    package = Path(module.__file__).parent
    before = {path: path.stat().st_mtime_ns for path in package.rglob("*")}
    assert taken(notebook(tmp_path / "hw.ipynb", GOOD)).source
    assert {path: path.stat().st_mtime_ns for path in package.rglob("*")} == before


def test_a_hostile_archive_in_memory_is_read_like_one_on_the_disk(tmp_path):
    """A zip that tells of more entries than memory could hold is refused, not read."""
    entry = tarfile.TarInfo("hw.py")
    entry.size = 1 << 40
    (tmp_path / "a.tar.gz").write_bytes(gzip.compress(entry.tobuf()))
    assert taken(tmp_path / "a.tar.gz").source is None


FORKS = """
import os, re
from fedlab_grade.sandbox.zygote import ready_to_fork
data = [bytes([i]) * (1 << 20) for i in range(16)]
ready_to_fork()
if (child := os.fork()) == 0:
    data[3] = b"changed"
    os._exit(sum(one[0] == i for i, one in enumerate(data) if i != 3))
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 15
assert all(set(one) == {i} and len(one) == 1 << 20 for i, one in enumerate(data))
text = open("/proc/self/smaps_rollup").read()
print(re.search(r"AnonHugePages: +(\\d+)", text)[1])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="it needs Linux")
def test_memory_is_ready_to_fork_in_huge_pages_and_holds_what_it_held():
    done = subprocess.run([sys.executable, "-c", FORKS], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    if int(done.stdout) == 0:
        pytest.skip("this kernel makes no huge pages when it is told to")
    assert int(done.stdout) > 8 << 10  # kilobytes, of 16 MB

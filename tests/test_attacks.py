"""Hostile and broken submissions to the toy assignment, each graded as its file says.

A file in ``attacks/`` is appended to the right answer. It begins with what it does, with the
questions of which no test may pass (q1h: only the hidden one of q1), and with what the student must
be told. All other tests must pass.

As another user (see ``isolation.py``) some are stopped in another way, and are told so.
"""

import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from fedlab_edu.grading.run import Report
from fedlab_edu.grading.sandbox import doctor
from fedlab_edu.grading.sandbox.isolated import grade_isolated
from fedlab_edu.grading.sandbox.processes import FIRST_USER, USERS, Limits
from tests.isolation import BRIEF, WAY, need

TOY = Path(__file__).parent / "toy"
RIGHT = (TOY / "hw_ref.py").read_text()
FILES = {path.stem: path for path in sorted((Path(__file__).parent / "attacks").glob("*.py"))}
if BRIEF:  # how a value is looked at does not depend on where the worker runs
    FILES = {n: p for n, p in FILES.items() if re.search(r"\bimport\b|bomb", n + p.read_text())}
ALL = "q1 q2 q3 q4"
TABS = RIGHT.replace("    total = float", "\tx = 1\n        total = float", 1)
# What is more than an addition: name -> the file, the questions that fail, and what is said.
WHOLE: dict[str, tuple[bytes, str, str]] = {
    "61_tabs_and_spaces": (TABS.encode(), ALL, "TabError|IndentationError"),
    "83_crlf": (RIGHT.replace("\n", "\r\n").encode(), "nothing", ""),
    "85_latin_1": (f"{RIGHT}\nNAME = 'Größe'\n".encode("latin-1"), ALL, "UTF-8"),
    "86_utf_16": (RIGHT.encode("utf-16"), ALL, "UTF-8"),
    "byte_order_mark": (b"\xef\xbb\xbf" + RIGHT.encode(), "nothing", ""),
    "zeros": (bytes(100), ALL, "NUL bytes"),
    "nothing": (b"", ALL, "no function"),
    "nested": (b"x = " + b"(" * 5000, ALL, "Python cannot read"),
    "right": (RIGHT.encode(), "nothing", ""),
    "future_import": (f"from __future__ import annotations\n\n{RIGHT}".encode(), "nothing", ""),
    "form_feed": (f"{RIGHT}\n\x0c\nPI = 3.14\n# no new line: \x0b\u2028".encode(), "nothing", ""),
    "smart_quotes": (f"{RIGHT}\nX = \u201cone\u201d\n".encode(), ALL, r"U\+201C"),
    "conflict_markers": (f"{RIGHT}\n<<<<<<< HEAD\nX = 1\n".encode(), ALL, "line"),
    "magic_in_a_module": (f"{RIGHT}\n%matplotlib inline\n".encode(), ALL, "Jupyter"),
}
if BRIEF:
    WHOLE = {"right": WHOLE["right"]}
FULL = "wrote too .*large"  # no small disk of its own: the keeper sees what is written
SAID_TO_ANOTHER_USER = {
    "fills_the_disk": FULL,
    "many_files": FULL,
    "removed_files": FULL,
    "deep_folders": FULL,
    "reads_the_secret": "PermissionError|seed None, 0 found",
}
NEED_LANDLOCK = ("looks_outside", "reads_the_package")


def expected(name: str) -> tuple[str, str]:
    """The questions that must fail, and what must be said."""
    if name in WHOLE:
        return WHOLE[name][1:]
    header = re.match(r"# .+\n# fails: (.+)\n# says:(.*)\n", FILES[name].read_text())
    assert header, "an attack begins with what it does, '# fails: questions' and '# says: regex'"
    says = header[2].strip()
    return header[1], SAID_TO_ANOTHER_USER.get(name, says) if WAY == "uid" else says


def sources() -> Iterator[tuple[str, bytes]]:
    for name, path in FILES.items():
        yield name, f"{RIGHT}\n\n{path.read_text()}".encode()
    for name, (source, _, _) in WHOLE.items():
        yield name, source


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Report]:
    need(WAY)
    limits = Limits(call=5.0, total=60.0, memory=512)
    toy = tmp_path_factory.mktemp("toy")  # closed to others
    test = Path(shutil.copy(TOY / "test_hw.py", toy))
    graded = grade_isolated(test, sources(), WAY, limits, secret="s3cret", reference=RIGHT)
    return {str(report.file): report for report in graded}


@pytest.mark.parametrize("name", [*FILES, *WHOLE])
def test_an_attack_wins_nothing_loses_nothing_else_and_is_explained(
    name: str, reports: dict[str, Report]
) -> None:
    if WAY == "uid" and name in NEED_LANDLOCK and not doctor.tried("uid").closed:
        pytest.skip("this kernel has no Landlock")
    fails, says = expected(name)
    results = reports[name].results
    assert [r.test for r in results] == [
        "test_fedavg_public",
        "test_fedavg_weights",
        "test_log_uniform",
        "test_halving",
        "test_dirichlet",
    ]
    for r in results:
        fail = r.question in fails.split() or (r.test == "test_fedavg_weights" and "q1h" in fails)
        assert (r.status != "passed") == fail, (r.test, r.status, r.message)
        assert r.status != "error", r.message
        assert r.status in ("passed", "not run") or r.message
        assert "s3cret" not in r.message + r.printed
        assert len(r.message) < 3000
    if says:
        told = [f"{r.message} {r.likely}" for r in results if r.status != "passed"]
        assert any(re.search(says, text, re.DOTALL) for text in told), told


def test_nothing_that_a_submission_has_started_goes_on(reports: dict[str, Report]) -> None:
    assert reports["daemon"].complete

    users = range(FIRST_USER, FIRST_USER + 8 * USERS)

    def left() -> list[str]:
        out = []
        for entry in Path("/proc").iterdir():
            with suppress(FileNotFoundError):  # it has just ended
                if entry.name.isdigit() and entry.stat().st_uid in users:
                    out.append(entry.name)
        return out

    if os.getuid() != 0:
        pytest.skip("the submissions ran as this user")
    for _ in range(50):
        if not left():
            return
        time.sleep(0.1)
    pytest.fail(f"processes are left: {left()}")

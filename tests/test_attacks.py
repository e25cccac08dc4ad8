"""Hostile and broken submissions to the toy assignment, each graded as its file says.

A file in ``attacks/`` is appended to the right answer. It begins with what it does, with the
questions of which no test may pass (q1h: only the hidden one of q1), and with what the student must
be told. All other tests must pass.

As another user (see ``isolation.py``) some are stopped in another way, and are told so.

Several graders run side by side. One gets the attacks that end only when their time is up, with
little time for the call that they keep waiting. The others have time enough on a busy machine.
"""

import os
import re
import time
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from fedlab_grade.options import Limits
from fedlab_grade.run import Report
from fedlab_grade.sandbox import doctor
from fedlab_grade.sandbox.isolated import grade_isolated
from fedlab_grade.sandbox.users import BLOCK, FIRST_USER, lock
from tests.isolation import BRIEF, WAY, need

pytestmark = [pytest.mark.processes, pytest.mark.grader, pytest.mark.usefixtures("forked")]

TOY = Path(__file__).parent / "toy"
RIGHT = (TOY / "hw_ref.py").read_text()
FILES = {path.stem: path for path in sorted((Path(__file__).parent / "attacks").glob("*.py"))}
if BRIEF:  # how a value is looked at does not depend on where the worker runs
    SYSTEM = re.compile(
        r"\bimport .*\b(os|signal|socket|mmap|ctypes|resource|subprocess|shutil|glob|getpass)\b"
        r"|\bfrom (concurrent|pathlib|torch.utils.data|fedlab_edu)\b"
        r"|\bimport fedlab_edu|import_module|\bopen\(|bomb"
    )
    FILES = {n: p for n, p in FILES.items() if SYSTEM.search(n + p.read_text())}
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
    "signs": (b"x = " + b"-" * 20_000 + b"1", ALL, "too deeply nested"),
    "right": (RIGHT.encode(), "nothing", ""),
    "future_import": (f"from __future__ import annotations\n\n{RIGHT}".encode(), "nothing", ""),
    "form_feed": (f"{RIGHT}\n\x0c\nPI = 3.14\n# no new line: \x0b\u2028".encode(), "nothing", ""),
    "smart_quotes": (f"{RIGHT}\nX = \u201cone\u201d\n".encode(), ALL, r"U\+201C"),
    "conflict_markers": (f"{RIGHT}\n<<<<<<< HEAD\nX = 1\n".encode(), ALL, "line"),
    "magic_in_a_module": (f"{RIGHT}\n%matplotlib inline\n".encode(), ALL, "Jupyter"),
}
if BRIEF:  # time, too, is kept alike
    WHOLE = {"right": WHOLE["right"]}
FULL = "wrote too .*large"  # no small disk of its own: the keeper sees what is written
SAID_TO_ANOTHER_USER = {
    "fills_the_disk": FULL,
    "many_files": FULL,
    "removed_files": FULL,
    "deep_folders": FULL,
    "reads_the_secret": "PermissionError|seed None, 0 found",
}
TIME_IS_UP = "did not finish"
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


NAMES = [*FILES, *WHOLE]
LATE = {name for name in NAMES if TIME_IS_UP in expected(name)[1]}
NAMES = [name for name in NAMES if not BRIEF or name not in LATE]


def attacks_q1(name: str) -> bool:
    """Return whether an attack is on the first question, or on all of them alike."""
    fails, text = expected(name)[0], FILES[name].read_text() if name in FILES else ""
    others = re.search(r"log_uniform|successive_halving|dirichlet_split", text)
    q1_alone = fails == "nothing" and "fedavg" in text and not others
    return fails == ALL or q1_alone or {*fails.split()} <= {"q1", "q1h"}


# In a quick run these are graded on what they attack and on one other question.
QUICK = {name for name in NAMES if BRIEF or attacks_q1(name)} - LATE
TESTS = (
    "test_fedavg_public",
    "test_fedavg_weights",
    "test_log_uniform",
    "test_halving",
    "test_dirichlet",
)
QUICK_TESTS = ("test_fedavg_weights", "test_dirichlet")
LIMITS = Limits(call=60.0, total=300.0, memory=512, asked=2000)
SAYS_USER = f"{RIGHT}\nimport os\nprint('user', os.getuid())\n".encode()


class Graded(NamedTuple):
    """Name -> report, and the user ids under which the submissions ran."""

    reports: dict[str, Report]
    users: set[int]


def grade(names: Collection[str], tests: Collection[str], folder: Path) -> Graded:
    """Grade attacks, all of them late or none, with some tests of the toy assignment."""
    text = (TOY / "test_hw.py").read_text()
    for name in set(TESTS) - set(tests):
        text, count = re.subn(rf"@q\([^\n]+\ndef {name}\(.+?(?=\n@q|\Z)", "", text, flags=re.DOTALL)
        assert count == 1
    if LATE.issuperset(names):
        for question, wall, tests_of_it in (("q1", 0.5, 2), ("q2", 6, 1)):
            text, count = re.subn(
                rf'@q\("{question}"(.+)\)', rf'@q("{question}"\1, wall={wall})', text
            )
            assert count == tests_of_it
    file = folder / "test_hw.py"
    file.write_text(text)
    chosen = [("user", SAYS_USER), *((n, source) for n, source in sources() if n in names)]
    options = {"secret": "s3cret", "reference": RIGHT, "jobs": 1}
    graded = grade_isolated(file, chosen, WAY, LIMITS, **options)
    reports = {str(report.file): report for report in graded}
    printed = "".join(result.printed for result in reports["user"].results)
    return Graded(reports, set(map(int, re.findall(r"user (\d+)", printed))))


def graded(tmp_path_factory: pytest.TempPathFactory, quick: bool) -> Graded:
    """Grade all attacks, by graders that run side by side."""
    need(WAY)
    names = set(NAMES) - LATE
    jobs: list[tuple[set[str], Collection[str]]] = [] if BRIEF else [(LATE, TESTS)]
    if quick:
        jobs += [(QUICK, QUICK_TESTS), (names - QUICK, TESTS)][: 1 if BRIEF else 2]
    else:
        jobs.append((names, TESTS))
    folders = [tmp_path_factory.mktemp("toy") for _ in jobs]  # closed to others
    with ThreadPoolExecutor() as pool:
        parts = [
            pool.submit(grade, *job, folder) for job, folder in zip(jobs, folders, strict=True)
        ]
    out = Graded({}, set())
    for part in parts:
        assert part.result().users
        out.reports.update(part.result().reports)
        out.users.update(part.result().users)
    return out


@pytest.fixture(scope="module")
def quickly(tmp_path_factory):
    return graded(tmp_path_factory, quick=True)


@pytest.fixture(scope="module")
def fully(tmp_path_factory):
    return graded(tmp_path_factory, quick=False)


@pytest.mark.parametrize("name", NAMES)
def test_an_attack_wins_nothing_loses_nothing_else_and_is_explained(name, quickly):
    check(name, quickly, QUICK_TESTS if name in QUICK else TESTS)


@pytest.mark.nightly
@pytest.mark.parametrize("name", NAMES)
def test_an_attack_loses_none_of_the_other_questions(name, fully):
    check(name, fully, TESTS)


def check(name: str, graded: Graded, tests: Collection[str]) -> None:
    """Compare the report on an attack with what its file says."""
    if WAY == "uid" and name in NEED_LANDLOCK and not doctor.tried("uid").closed:
        pytest.skip("this kernel has no Landlock")
    fails, says = expected(name)
    results = graded.reports[name].results
    assert [r.test for r in results] == list(tests)
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


def test_nothing_that_a_submission_has_started_goes_on(quickly):
    """No process has a user id of one of the graders, once their blocks of ids are free again."""
    if os.getuid() != 0:
        pytest.skip("the submissions ran as this user")
    assert quickly.reports["daemon"].complete
    blocks = {(user - FIRST_USER) // BLOCK for user in quickly.users}

    def processes(block: int) -> list[str]:
        out = []
        for entry in Path("/proc").iterdir():
            with suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
                if entry.name.isdigit() and (entry.stat().st_uid - FIRST_USER) // BLOCK == block:
                    out.append(entry.name)
        return out

    deadline = time.monotonic() + 60
    for block in blocks:
        while (file := lock(block)) is None:
            assert time.monotonic() < deadline, "the grader has not ended"
            time.sleep(0.1)
        try:  # no other grader takes these ids meanwhile
            while left := processes(block):
                assert time.monotonic() < deadline, f"processes are left: {left}"
                time.sleep(0.1)
        finally:
            os.close(file)

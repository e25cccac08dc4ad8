"""The isolation of submissions: what a worker can do in each way, and grading on top of it."""

import itertools
import mmap
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from fedlab_edu.grading import doctor, sandbox, seccomp
from fedlab_edu.grading.checks import Failure
from fedlab_edu.grading.isolated import grade_isolated
from fedlab_edu.grading.run import CheckBroken, Report, grade, marks
from fedlab_edu.grading.sandbox import Limits, NoSandbox
from fedlab_edu.grading.student import Raised, Student
from fedlab_edu.grading.zygote import memory
from tests.isolation import need

ROOT = Path(__file__).parents[1]
TOY = ROOT / "tests" / "toy"
RIGHT = (TOY / "hw_ref.py").read_text()
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="it needs Linux")


def graded(tests: Path, *sources: str | bytes, **options: object) -> list[Report]:
    named = [(f"{i}.py", source) for i, source in enumerate(sources)]
    options = {"isolation": "bwrap", "jobs": 1} | options
    return list(grade_isolated(tests, named, **options))  # type: ignore[arg-type]


# --- what a worker can do -------------------------------------------------------------------------


def test_bubblewrap_holds_a_worker() -> None:
    need("bwrap")  # each of its promises is tried in there


def test_another_user_holds_a_worker() -> None:
    need("uid", may_be_missing="it needs root" if os.getuid() else "cannot read Python")


def test_of_the_package_only_the_grader_is_in_view_even_of_an_installed_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need("bwrap")
    library = tmp_path / "venv" / "lib"
    for name in ("fedlab_edu", "another"):
        (library / name).mkdir(parents=True)
        (library / name / "answers.py").write_text("")
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "venv"))
    monkeypatch.syspath_prepend(str(library))
    places = [str(library / "another"), str(library / "fedlab_edu"), f"{sandbox.VIEW}/fedlab_edu"]
    command = [*sandbox.bubblewrap(), "/usr/bin/env", "ls", "-1", *places]
    seen = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    another, copy, package = ("answers.py",), (), ("__init__.py", "grading")
    folders = dict(zip(places, (another, copy, package), strict=True))
    told = {one.splitlines()[0][:-1]: tuple(one.splitlines()[1:]) for one in seen.split("\n\n")}
    assert told == folders
    empty = sandbox.PACKAGE / "grading" / "__init__.py"
    assert len(empty.read_text().splitlines()) == 1


@LINUX
def test_memory_that_is_shared_counts_as_that_of_the_process() -> None:
    size = 64 << 20
    before = memory(os.getpid())
    with mmap.mmap(-1, size) as shared:
        for place in range(0, size, mmap.PAGESIZE):
            shared[place] = 1
        assert size * 0.9 < memory(os.getpid()) - before < size * 1.5
    assert memory(2**22 + 1) == 0


@LINUX
@pytest.mark.parametrize("way", ["root", "user"])
def test_a_worker_that_can_do_too_much_is_no_isolation(
    way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 0 if way == "root" else 1000)
    user = doctor.user() if way == "root" else 1000
    good = {
        "user": user, "processes": 2, "network": False, "memory": False, "python": True,
        "write": True, "write to Python": False, "children": 10,
    }  # fmt: skip
    assert doctor._faults("bwrap", good) == []
    for name, bad in (("user", 0), ("processes", 99), ("memory", True), ("children", 99),
                      ("python", False), ("write", False), ("write to Python", True)):  # fmt: skip
        assert doctor._faults("bwrap", good | {name: bad}), name


@LINUX
@pytest.mark.skipif(platform.machine() not in seccomp.MACHINES, reason="no filter for it")
def test_the_filter_refuses_its_calls_and_no_others() -> None:
    code = """
import ctypes, errno, os, platform, sys
from fedlab_edu.grading import seccomp
import torch
assert seccomp.install()
column = list(seccomp.MACHINES).index(platform.machine())
libc = ctypes.CDLL(None, use_errno=True)
for name, numbers in seccomp.REFUSED.items():
    assert libc.syscall(numbers[column], 0, 0, 0, 0, 0) == -1, name
    assert ctypes.get_errno() == errno.EPERM, name
for flag in (0x10000000, 0x20000000, 0x00020000, 0x40000000, 0x08000000):
    assert libc.syscall(seccomp.CLONE[column], flag | 17, 0, 0, 0, 0) == -1
    assert ctypes.get_errno() == errno.EPERM
torch.set_num_threads(2)
assert torch.ones(300, 300).mm(torch.ones(300, 300)).sum() == 300**3
if os.fork() == 0:
    os._exit(7)
assert os.waitstatus_to_exitcode(os.wait()[1]) == 7
open("/dev/null", "w").close()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("machine", seccomp.MACHINES)
def test_the_filter_is_short_enough_and_jumps_stay_inside(machine: str) -> None:
    text = seccomp.program(machine)
    steps = [text[i : i + 8] for i in range(0, len(text), 8)]
    assert len(steps) < 4096
    for i, step in enumerate(steps):
        assert i + 1 + max(step[2], step[3]) < len(steps) or step[0] == seccomp._RETURN
    assert steps[-1][0] == seccomp._RETURN


@LINUX
def test_namespaces_in_the_filter_are_those_of_the_kernel() -> None:
    flags = [getattr(os, n) for n in dir(os) if n.startswith("CLONE_NEW")]
    flags = flags or [1 << n for n in (7, 17, 25, 26, 27, 28, 29, 30)]
    assert sum(set(flags)) == seccomp.NAMESPACES


# --- the choice -----------------------------------------------------------------------------------


def nothing(way: str) -> doctor.Finding:
    return doctor.Finding(way, False, "bubblewrap is not installed")  # type: ignore[arg-type]


def test_without_isolation_only_trusted_submissions_are_graded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(doctor, "tried", nothing)
    with pytest.raises(NoSandbox, match="--i-trust-these-submissions"):
        doctor.choose()
    assert doctor.choose(trust=True) == "none"
    for way in (None, "none"):
        with pytest.raises(NoSandbox, match="--i-trust-these-submissions"):
            grade_isolated(TOY / "test_hw.py", [], way)
    found = doctor.examine()
    assert found.way == "none"
    if sys.platform == "linux":
        assert "apt-get install bubblewrap" in str(found)


def test_another_user_may_not_read_the_tests(tmp_path: Path) -> None:
    tests = tmp_path / "test_hw.py"
    tests.write_text("")
    tests.chmod(0o644)
    (tmp_path / "private").mkdir(mode=0o700)
    assert not doctor.readable(tmp_path / "private" / ".." / "private" / ".")
    if doctor.readable(tests):
        with pytest.raises(NoSandbox, match="chmod 700"):
            grade_isolated(tests, [], "uid")


def test_another_user_may_not_read_the_solution(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tests, solution = tmp_path / "test_hw.py", tmp_path / "answers" / "hw_ref.py"
    solution.parent.mkdir()
    for path in (solution, solution.parent):
        monkeypatch.setattr(doctor, "readable", path.__eq__)
        with pytest.raises(NoSandbox, match=f"{path}: .*chmod 700 {solution.parent}"):
            grade_isolated(tests, [], "uid", private=[tests, path])


# --- grading --------------------------------------------------------------------------------------


@LINUX
def test_trusted_submissions_are_graded_by_a_plain_process() -> None:
    wrong = f"{RIGHT}\n\ndef fedavg(states, weights):\n    while True: pass\n"
    limits = Limits(call=3.0)
    right, loop = graded(
        TOY / "test_hw.py", RIGHT, wrong, isolation="none", trust=True, limits=limits
    )
    assert right.complete
    assert [r.status for r in loop.results] == ["stopped", "not run", *["passed"] * 3]


@pytest.fixture(scope="module")
def course() -> tuple[Report, Report]:
    """An answer with many faults, graded at home and in the sandbox."""
    need("bwrap")
    file = ROOT / "exercises" / "ex01_fedavg.py"
    text = f"""{file.read_text()}
def weighted_average(W, n):
    print("hello")
    W += 0
    W[0] += 1
    return W.mean(0)

def minibatches(order, batch):
    return [order[i:i + batch] for i in range(0, len(order), batch)][1 / (batch - 2):]
"""
    tests = ROOT / "tests" / "exercises" / "test_ex01.py"
    path = ROOT / "_build" / "ex01_wrong.py"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    try:
        (home,) = grade(tests, [path])
    finally:
        path.unlink()
    (away,) = list(grade_isolated(tests, [(str(path), text)], "bwrap", jobs=1))
    return home, away


def test_the_sandbox_says_what_the_check_at_home_says(course: tuple[Report, Report]) -> None:
    home, away = course

    def told(report: Report) -> list[tuple[str, ...]]:
        return [(r.test, r.status, r.message, r.likely, r.printed) for r in report.results]

    assert told(home) == told(away)
    assert {r.status for r in home.results} > {"failed", "raised", "not written"}
    assert all(0 <= r.seconds < 60 for r in away.results)


BROKEN = """
import os, random, time
import pytest
q = pytest.mark.q
rng = random.Random(os.environ.get("FG_SEED"))

@pytest.fixture
def missing(nowhere):
    pass

@q("q1", 1)
def test_before_a_call(student):
    1 / 0

@q("q1", 1)
def test_after_a_call(student):
    student.call("f", 1)
    1 / 0

@q("q1", 1)
def test_of_a_fixture(student, missing):
    pass

@q("q2", 1)
def test_of_an_odd_answer(student):
    assert student.call("f", 2) + 1 == 3

@q("q3", 1, hidden=True, aspect="an aspect", hint="a hint")
@pytest.mark.parametrize("x", [1, 2])
def test_of_draws(student, x):
    assert student.call("f", x) == x, f"drawn {rng.random()} {random.random()}"

class TestGroup:
    @q("q4", 2, wall=1)
    def test_in_a_class(self, student):
        with pytest.raises(AssertionError):
            student.call("g")
        pytest.fail("as told")
"""


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, object]]:
    """Of a right answer, an odd one, again, and with another secret: test -> its result."""
    need("bwrap")
    tests = tmp_path_factory.mktemp("broken") / "test_f.py"
    tests.write_text(BROKEN)
    right, odd = "def f(x):\n    return x\n", "def f(x):\n    return None\n"
    reports = graded(tests, right, odd, right, odd, reference=right, secret="a", jobs=2)
    reports += graded(tests, odd, secret="b")
    return [{r.test: r for r in report.results} for report in reports]


def test_a_fault_of_a_test_is_an_error_and_an_odd_answer_is_none(
    broken: list[dict[str, object]],
) -> None:
    right, odd = broken[:2]
    for test in ("test_before_a_call", "test_after_a_call", "test_of_a_fixture"):
        assert right[test].status == odd[test].status == "error"  # type: ignore[attr-defined]
    assert right["test_of_an_odd_answer"].status == "passed"  # type: ignore[attr-defined]
    result = odd["test_of_an_odd_answer"]
    assert result.status == "failed"  # type: ignore[attr-defined]
    assert "could not go on with what your code returned: TypeError" in result.message  # type: ignore[attr-defined]
    assert broken[4]["test_of_an_odd_answer"].status == "error"  # type: ignore[attr-defined]
    assert marks(list(odd.values()))[0] == 0  # type: ignore[arg-type]


def test_all_students_and_every_regrade_get_the_inputs_of_the_secret(
    broken: list[dict[str, object]],
) -> None:
    first, again, other = (
        [broken[i][f"test_of_draws[{x}]"].message for x in (1, 2)]  # type: ignore[attr-defined]
        for i in (1, 3, 4)
    )
    assert first == again
    assert all(a != b for a, b in zip(first, other, strict=True))


def test_the_marker_is_told(broken: list[dict[str, object]]) -> None:
    drawn, group = broken[1]["test_of_draws[1]"], broken[1]["TestGroup::test_in_a_class"]
    assert (drawn.hidden, drawn.aspect, drawn.hint) == (True, "an aspect", "a hint")  # type: ignore[attr-defined]
    assert (group.status, group.message, group.points) == ("failed", "as told", 2)  # type: ignore[attr-defined]
    assert group.aspect == "in a class"  # type: ignore[attr-defined]


def test_reports_come_one_by_one_in_order_and_time_in_all_is_limited() -> None:
    need("bwrap")
    slow = "import time\ndef f(x):\n    time.sleep(60)\n"
    taken = []

    def endless() -> Iterator[tuple[str, str]]:
        for i in itertools.count():
            taken.append(i)
            yield f"{i}.py", f"{RIGHT}\n\n{slow}".replace("def f(x)", "def log_uniform(*a)")

    limits = Limits(call=10.0, total=3.0)
    reports = grade_isolated(TOY / "test_hw.py", endless(), "bwrap", limits, jobs=1)
    first, second = next(reports), next(reports)
    reports.close()  # type: ignore[attr-defined]
    assert [str(r.file) for r in (first, second)] == ["0.py", "1.py"]
    assert len(taken) <= 3
    states = [r.status for r in first.results]
    assert states[:3] == ["passed", "passed", "stopped"]
    assert states[3:] == ["stopped"] * 2
    assert "used up" in first.results[3].message


SLOW = """
import pytest
q = pytest.mark.q

@q("q1", 1, wall=0.5)
def test_many_calls(student):
    for i in range(8):
        assert student.call("f", i) == i

@q("q2", 1, wall=0.5)
def test_of_a_long_answer(student):
    n = student.call("g")
    for _ in range(n):
        pass
    assert n == 3

@q("q3", 1)
def test_with_a_function(student):
    def objective(x):
        assert x == 2.5, f"h asked for {x}, expected 2.5"
        return x
    assert student.call("h", objective) == 2.5
"""
QUICK = """
import time
def f(x):
    return x
def g():
    return 3
def h(objective):
    return objective(2.5)
"""
SWALLOWED = """
def h(objective):
    try:
        objective(1)
    except BaseException as error:
        return float(str(error).split()[-1])
"""


def test_an_answer_that_takes_all_the_time_of_a_test_is_stopped_or_failed_and_not_ungraded(
    tmp_path: Path,
) -> None:
    need("bwrap")
    tests = tmp_path / "test_f.py"
    tests.write_text(SLOW)
    slow = f"{QUICK}\ndef f(x):\n    time.sleep(0.4)\n    return x\n"
    hanging = f"{QUICK}\ndef g():\n    return 10**18\n"
    reports = graded(tests, slow, hanging, QUICK + SWALLOWED, reference=QUICK)
    states = [[r.status for r in report.results] for report in reports]
    assert states == [
        ["stopped", "passed", "passed"],
        ["passed", "failed", "passed"],
        ["passed", "passed", "failed"],
    ]
    told = [report.results[i].message for i, report in enumerate(reports)]
    assert told[0].startswith("f was stopped: the 2 seconds for this test are used up.")
    assert told[1].endswith("what your code returned: it took too long.")
    assert told[2] == "h asked for 1, expected 2.5"


def test_what_a_function_of_a_test_asserts_is_the_message_at_home_too() -> None:
    def objective(x: float) -> float:
        assert x == 2.5, f"h asked for {x}"
        return x

    home = Student(Path("h.py"), "def h(f):\n    return f(1)\n\ndef k(f):\n    assert f(2.5) < 0\n")
    with pytest.raises(AssertionError, match=r"^h asked for 1\n?") as raised:
        home.call("h", objective)
    assert not isinstance(raised.value, Failure)
    with pytest.raises(Raised, match="k raised AssertionError"):
        home.call("k", objective)


@LINUX
def test_no_other_user_can_read_the_secret_or_a_solution_of_any_length() -> None:
    need("bwrap")
    reference = f"{RIGHT}# {'x' * 200_000}\n"
    reports = grade_isolated(
        TOY / "test_hw.py", [("a.py", RIGHT)], "bwrap", secret="t0p", reference=reference, jobs=1
    )
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            lines.append(path.read_bytes())
    (report,) = reports
    assert report.complete
    assert any(b"fedlab_edu.grading.examiner" in line for line in lines)
    assert not any(word in line for line in lines for word in (b"t0p", b"x" * 1000))


def test_tests_that_cannot_be_collected_are_refused(tmp_path: Path) -> None:
    need("bwrap")
    (tmp_path / "test_f.py").write_text("def test(:\n")
    with pytest.raises(CheckBroken, match="SyntaxError"):
        graded(tmp_path / "test_f.py", "")

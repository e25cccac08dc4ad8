"""The isolation of submissions: what a worker can do in each way, and grading on top of it."""

import io
import itertools
import mmap
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from fedlab_grade.answer import Failure
from fedlab_grade.options import Limits
from fedlab_grade.process import Child
from fedlab_grade.run import CheckBroken, Report, Result, grade, marks
from fedlab_grade.sandbox import confine, doctor, examiner, landlock, usage, view
from fedlab_grade.sandbox import processes as sandbox
from fedlab_grade.sandbox.isolated import grade_isolated
from fedlab_grade.sandbox.usage import memory
from fedlab_grade.sandbox.view import NoSandbox
from fedlab_grade.student import Raised, Student
from tests.isolation import need

pytestmark = [pytest.mark.processes, pytest.mark.grader, pytest.mark.usefixtures("forked")]

ROOT = Path(__file__).parents[1]
TOY = ROOT / "tests" / "toy"
RIGHT = (TOY / "hw_ref.py").read_text()
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="it needs Linux")


def graded(tests: Path, *sources: str | bytes, **options: object) -> list[Report]:
    named = [(f"{i}.py", source) for i, source in enumerate(sources)]
    options = {"isolation": "bwrap", "jobs": 1} | options
    return list(grade_isolated(tests, named, **options))


# --- what a worker can do -------------------------------------------------------------------------


def test_bubblewrap_holds_a_worker():
    need("bwrap")  # each of its promises is tried in there


def where_all_users_can_read_python() -> list[str]:
    """The start of a command in whose view they can; empty if they can anyway."""
    if doctor.tried("uid").works:
        return []
    places = {Path(p).resolve() for p in (sys.prefix, sys.base_prefix, sys.base_exec_prefix, ROOT)}
    closed = {q for p in places for q in p.parents if not q.stat().st_mode & 0o001}
    command = ["bwrap", "--dev-bind", "/", "/", "--cap-add", "ALL"]
    for folder in sorted(q for q in closed if closed.isdisjoint(q.parents)):
        command += ["--tmpfs", str(folder)]
    made = set()
    for place in sorted(p for p in places if not closed.isdisjoint(p.parents)):
        for parent in reversed(place.parents):
            if not closed.isdisjoint(parent.parents) and parent not in made:
                command += ["--perms", "0755", "--dir", str(parent)]
                made.add(parent)
        command += ["--ro-bind", str(place), str(place)]
    return command


@pytest.mark.parametrize("way", ["uid-brief", pytest.param("uid", marks=pytest.mark.nightly)])
def test_another_user_holds_all_attacks(way):
    if sys.platform != "linux" or os.getuid() != 0:
        pytest.skip("only root on Linux can become another user")
    start = where_all_users_can_read_python()
    if start and not shutil.which("bwrap"):
        reason = "other users cannot read Python, and bubblewrap is not installed to show it"
        pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
    tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    environment = os.environ | {"FEDLAB_EDU_TEST_WAY": way, "CI": "1"}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    command = [*start, *tests, "tests/test_attacks.py"]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=ROOT, env=environment, timeout=600
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]


CLOSED = """
import os, sys
from fedlab_grade.sandbox import landlock
known, place = int(sys.argv[1]), sys.argv[2]
have = landlock.version()
landlock.version = lambda: min(known, have)
from pathlib import Path
rules = [*landlock.beneath(Path(place, "lib"), {Path(place, "lib", "inner", "hidden")})]
rules += [(f"{place}/own", landlock.WRITE), ("/dev/null", landlock.USE), ("/nowhere", 1)]
assert landlock.install(rules)

def can(act, *arguments):
    try:
        act(*arguments)
    except OSError:
        return False
    return True

os.chdir(place)
for file in ("lib/a", "lib/inner/b", "own/c"):
    assert open(file).read() == file, file
assert can(os.listdir, "lib/inner") and can(os.listdir, "lib")
for file in ("outside", "lib/inner/hidden/d", "lib/inner/link"):
    assert os.stat(file) and not can(open, file), file
for file in ("new", "lib/new", "outside", "lib/a"):
    assert not can(open, file, "w"), file
assert not can(os.listdir, "."), "the folder itself"
assert not can(os.rename, "lib/a", "own/a")
assert can(open, "own/new", "w") and can(os.mkdir, "own/e") and can(os.unlink, "own/new")
assert can(open, "/dev/null", "w")
assert can(os.truncate, "own/c", 1)
assert can(os.rename, "own/c", "own/e/c") == (min(known, have) >= 2)
assert can(os.truncate, "lib/a", 1) == (min(known, have) < 3)
if os.fork() == 0:
    os._exit(can(open, "outside"))
assert os.wait()[1] == 0
"""


@LINUX
@pytest.mark.skipif(not landlock.version(), reason="this kernel has no Landlock")
@pytest.mark.parametrize("known", [1, 2, 3, 99])
def test_landlock_opens_what_it_is_told_to_and_nothing_else(known, tmp_path):
    for file in ("outside", "lib/a", "lib/inner/b", "lib/inner/hidden/d", "own/c"):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(file)
    (tmp_path / "lib" / "inner" / "link").symlink_to(tmp_path / "outside")
    command = [sys.executable, "-c", CLOSED, str(known), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr


def test_rules_open_python_but_no_installed_copy_of_the_package(tmp_path, monkeypatch):
    library = tmp_path / "venv" / "lib"
    for name in ("fedlab_edu", "another"):
        (library / name).mkdir(parents=True)
    (library / "file").touch()
    monkeypatch.setattr(landlock, "version", lambda: 1)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "venv"))
    monkeypatch.syspath_prepend(str(library))
    rules = {p: rights for p, rights in view.opened([]) if Path(p).is_relative_to(tmp_path)}
    folders = {str(library): landlock.READ_DIR}
    inside = {str(library / name): landlock.READ for name in ("another", "file")}
    assert rules == folders | inside


def test_without_landlock_there_are_no_rules_and_nothing_is_closed(monkeypatch):
    monkeypatch.setattr(landlock, "_call", lambda *_: -1)
    assert landlock.version() == 0
    assert not landlock.install([("/usr", landlock.READ)])
    assert view.opened([]) == []
    assert os.listdir("/")


INSTALLED = """
class Editable:  # as setuptools makes it
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] == "fedlab_edu":
            place = "/".join([COPY, *name.split(".")[1:]])
            for file in (f"{place}/__init__.py", f"{place}.py"):
                if os.path.exists(file):
                    return importlib.util.spec_from_file_location(name, file)

import importlib.util, os
sys.meta_path.insert(1, Editable)
from fedlab_grade import escape
assert escape.plain
for act in (lambda: importlib.import_module("fedlab_edu"),
            lambda: exec("from fedlab_edu import methods"),
            lambda: exec("import fedlab_edu.methods"), lambda: exec("import answers_beside")):
    for again in range(2):
        try:
            act()
        except (ImportError, AttributeError):
            pass
        else:
            raise SystemExit("found")
        for name in [n for n in sys.modules if n.partition(".")[0] == "fedlab_edu"]:
            del sys.modules[name]
"""


@pytest.mark.parametrize("installed", ["copy", "working copy"])
def test_of_the_package_only_the_grader_is_found_by_its_name(installed, tmp_path):
    library = tmp_path / ("site-packages" if installed == "copy" else "work")
    for name in ("fedlab_edu/methods", "answers_beside"):
        (library / name).mkdir(parents=True)
        (library / name / "__init__.py").write_text("")
    (library / "fedlab_edu" / "__init__.py").write_text("methods = 1")
    (library / "fedlab_grade").symlink_to(view.PACKAGE)
    if installed == "copy":
        shutil.rmtree(library / "answers_beside")
    start = f"import sys; COPY = {str(library / 'fedlab_edu')!r}; sys.path.append({str(library)!r})"
    start += f"\nsys.path.insert(0, {str(view.PACKAGE.parent)!r})"
    start += "\nfrom pathlib import Path\nfrom fedlab_grade.sandbox import view"
    start += f"\nsys.path.pop(0); view.hide_course(Path({str(library / 'fedlab_grade')!r}))"
    code = f"{start}\n{INSTALLED}"
    command = [sys.executable, "-I", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_files_of_a_user_are_counted_with_all_that_lies_beneath_and_with_those_removed(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(usage, "SHARED", (str(tmp_path), str(tmp_path / "missing")))
    monkeypatch.setattr(usage, "processes", lambda job: [os.getpid()])
    job = {"uid": os.getuid(), "way": "uid", "disk": 4}
    (tmp_path / "a" / "b").mkdir(parents=True)
    file = tmp_path / "a" / "b" / "c"
    file.write_bytes(bytes(3 << 20))
    os.link(file, tmp_path / "a" / "same")
    assert not usage.filled(job)
    assert not usage.filled(job | {"uid": os.getuid() + 1, "disk": 1})  # not 0: pytest has files
    with open(tmp_path / "open", "wb") as stream:
        os.unlink(tmp_path / "open")
        stream.write(bytes(2 << 20))
        stream.flush()
        assert usage.filled(job)
    assert not usage.filled(job)
    monkeypatch.setattr(usage, "processes", lambda job: [])
    monkeypatch.setattr(usage, "FILES", 4)
    assert not usage.filled(job)  # a, b, c: the same file twice is one
    for i in range(3):
        (tmp_path / f"{i}").touch()
    assert usage.filled(job)


def test_files_that_vanish_while_they_are_looked_for_are_passed_over(tmp_path):
    for name in "abc":
        (tmp_path / name).touch()
    found = usage.owned({"uid": os.getuid()}, [str(tmp_path), str(tmp_path / "nowhere")])
    first = next(found)
    for name in "abc":
        (tmp_path / name).unlink()
    assert Path(first).parent == tmp_path
    assert list(found) == []


@LINUX
def test_folders_too_deep_to_look_into_are_too_many(tmp_path, monkeypatch):
    monkeypatch.setattr(usage, "SHARED", (str(tmp_path),))
    monkeypatch.setattr(usage, "processes", lambda job: [])
    monkeypatch.chdir(tmp_path)
    for _ in range(20):
        os.mkdir("d" * 250)
        os.chdir("d" * 250)
    assert usage.filled({"uid": os.getuid(), "way": "uid", "disk": 4})
    os.chdir(tmp_path)
    subprocess.run(["rm", "-rf", "d" * 250], check=True)


def test_of_the_package_only_the_grader_is_in_view_even_of_an_installed_copy(tmp_path, monkeypatch):
    need("bwrap")
    library = tmp_path / "venv" / "lib"
    for name in ("fedlab_edu", "another"):
        (library / name).mkdir(parents=True)
        (library / name / "answers.py").write_text("")
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "venv"))
    monkeypatch.syspath_prepend(str(library))
    places = [str(library / "another"), str(library / "fedlab_edu"), view.VIEW]
    command = [*view.bubblewrap(), "/usr/bin/env", "ls", "-1", *places]
    seen = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    another, copy, package = ("answers.py",), (), ("fedlab_grade",)
    folders = dict(zip(places, (another, copy, package), strict=True))
    told = {one.splitlines()[0][:-1]: tuple(one.splitlines()[1:]) for one in seen.split("\n\n")}
    assert told == folders


@LINUX
def test_memory_that_is_shared_counts_as_that_of_the_process():
    size = 64 << 20
    before = memory(os.getpid())
    with mmap.mmap(-1, size) as shared:
        for place in range(0, size, mmap.PAGESIZE):
            shared[place] = 1
        assert size * 0.9 < memory(os.getpid()) - before < size * 1.5
    assert memory(2**22 + 1) == 0


@LINUX
@pytest.mark.parametrize("way", ["root", "user"])
def test_a_worker_that_can_do_too_much_is_no_isolation(way, monkeypatch):
    monkeypatch.setattr(os, "getuid", lambda: 0 if way == "root" else 1000)
    user = 61_440 if way == "root" else 1000
    good = {
        "user": user, "processes": 2, "network": False, "memory": False, "python": True,
        "write": True, "write to Python": False, "children": 10,
    }  # fmt: skip
    assert doctor._faults("bwrap", good, user) == []
    for name, bad in (("user", 0), ("processes", 99), ("memory", True), ("children", 99),
                      ("python", False), ("write", False), ("write to Python", True)):  # fmt: skip
        assert doctor._faults("bwrap", good | {name: bad}, user), name


@LINUX
@pytest.mark.skipif(platform.machine() not in confine.MACHINES, reason="no filter for it")
def test_the_filter_refuses_its_calls_and_no_others():
    code = """
import ctypes, errno, os, platform, sys
from fedlab_grade.sandbox import confine
import torch
assert confine.refuse_calls()
column = list(confine.MACHINES).index(platform.machine())
libc = ctypes.CDLL(None, use_errno=True)
for name, numbers in confine.REFUSED.items():
    assert libc.syscall(numbers[column], 0, 0, 0, 0, 0) == -1, name
    assert ctypes.get_errno() == errno.EPERM, name
for flag in (0x10000000, 0x20000000, 0x00020000, 0x40000000, 0x08000000):
    assert libc.syscall(confine.CLONE[column], flag | 17, 0, 0, 0, 0) == -1
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


@pytest.mark.parametrize("machine", confine.MACHINES)
def test_the_filter_is_short_enough_and_jumps_stay_inside(machine):
    text = confine.program(machine)
    steps = [text[i : i + 8] for i in range(0, len(text), 8)]
    assert len(steps) < 4096
    for i, step in enumerate(steps):
        assert i + 1 + max(step[2], step[3]) < len(steps) or step[0] == confine._RETURN
    assert steps[-1][0] == confine._RETURN


@LINUX
def test_namespaces_in_the_filter_are_those_of_the_kernel():
    flags = [getattr(os, n) for n in dir(os) if n.startswith("CLONE_NEW")]
    flags = flags or [1 << n for n in (7, 17, 25, 26, 27, 28, 29, 30)]
    assert sum(set(flags)) == confine.NAMESPACES


# --- the choice -----------------------------------------------------------------------------------


def nothing(way: str, planted: object = ()) -> doctor.Finding:
    return doctor.Finding(way, False, "bubblewrap is not installed")


def test_without_isolation_only_trusted_submissions_are_graded(monkeypatch):
    monkeypatch.setattr(doctor, "tried", nothing)
    with pytest.raises(NoSandbox, match="--i-trust-these-submissions"):
        doctor.choose()
    assert doctor.choose(trust=True) == "none"
    for way in (None, "none"):
        with pytest.raises(NoSandbox, match="--i-trust-these-submissions"):
            grade_isolated(TOY / "test_hw.py", [], way)
    way, told = doctor.examine()
    assert way == "none"
    if sys.platform == "linux":
        assert "apt-get install bubblewrap" in told


WITHOUT_FORKS = """
import os, sys
sys.modules["fcntl"] = sys.modules["resource"] = None
sys.platform = "win32"
del os.fork, os.getuid
from fedlab_grade.sandbox import doctor
print(doctor.examine()[1])
try:
    doctor.choose(trust=True)
except doctor.NoSandbox as error:
    print(error)
"""


def test_on_windows_the_doctor_says_what_to_do_and_grading_is_refused():
    command = [sys.executable, "-c", WITHOUT_FORKS]
    said = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=True).stdout
    assert said.count("it needs Linux") == 2
    assert said.count("grade in WSL 2, or in a Linux container or machine.") == 2
    assert "this system cannot fork a process" in said
    assert "--i-trust" not in said  # where no worker can start


def leaks(paths: list[Path]) -> str:
    """A right answer that shows what it can read of files of one name, wherever it is found."""
    return f"""{RIGHT}

def log_uniform(*a, _right=log_uniform, _around=[]):
    import glob, sys
    if not _around:
        _around += [{", ".join(map(repr, map(str, paths)))}]
        _around += glob.glob(sys.prefix + "/**/{paths[0].name}", recursive=True)
    found = []
    for path in _around:
        try:
            found.append(open(path).read(9))
        except OSError:
            pass
    return f"READ {{found}}" if found else _right(*a)
"""


@pytest.mark.parametrize("way", ["bwrap", "uid"])
def test_a_course_within_pythons_own_folders_cannot_be_read(way):
    need(way)
    if way == "uid" and not landlock.version():
        pytest.skip("this kernel has no Landlock")
    beneath = [sys.prefix, f"{sys.prefix}/lib", sysconfig.get_path("purelib")]
    if closed := [place for place in beneath if not os.access(place, os.W_OK)]:
        pytest.skip(f"{closed[0]} cannot be written to")
    with ExitStack() as stack:
        places = [stack.enter_context(tempfile.TemporaryDirectory(dir=b)) for b in beneath]
        folders = [Path(place, name) for place in places for name in ("hw", "handed", "grades")]
        paths = [folder / f"planted_{os.getpid()}" for folder in folders]
        for place in places:
            os.chmod(place, 0o755)
        for path in paths:
            path.parent.mkdir()
            path.write_text("a solution")
        for name in ("hw_ref.py", "test_hw.py"):
            shutil.copy(TOY / name, folders[0] / name)
        private, tests = [*folders[1:], folders[0] / "hw_ref.py"], folders[0] / "test_hw.py"
        (report,) = graded(tests, leaks(paths), isolation=way, private=private)
        assert report.complete, [r.message for r in report.results]


@pytest.fixture
def prefix(tmp_path, monkeypatch):
    """A folder that Python seems to be installed in."""
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "venv"))
    library = tmp_path / "venv" / "lib" / "site"
    library.mkdir(parents=True)
    monkeypatch.setattr(view.site, "getsitepackages", lambda: [str(library)])
    return tmp_path / "venv"


@pytest.mark.parametrize(
    ("private", "gone"),
    [
        ("lib/course/a/b/test_hw.py", "lib/course"),
        ("lib/site/course/test_hw.py", "lib/site/course"),
        ("bin/course/test_hw.py", "bin/course"),
        ("lib/course/handed/", "lib/course"),
        ("course/test_hw.py", None),  # it is in no view
        ("test_hw.py", None),
    ],
)
def test_a_private_path_in_view_is_masked_with_all_around_it_that_python_does_not_need(
    private, gone, prefix
):
    path = prefix / private
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir() if private.endswith("/") else path.touch()
    hidden = {p: q for p, q in view.masked([path]).items() if p.is_relative_to(prefix)}
    assert hidden == ({prefix / gone: prefix / gone} if gone else {})


@pytest.mark.parametrize("private", ["lib/site/test_hw.py", "lib/site/", "lib/test_hw.py", "lib/"])
def test_a_private_path_that_cannot_be_masked_is_refused(private, prefix):
    path = prefix / private
    path.touch() if private.endswith("py") else None
    with pytest.raises(NoSandbox, match=f"could read {path}, because Python needs the folder"):
        view.masked([path])


def test_a_class_is_not_graded_where_its_files_cannot_be_hidden():
    need("bwrap")
    with pytest.raises(NoSandbox, match="because Python needs the folder"):
        graded(TOY / "test_hw.py", RIGHT, private=[Path(sysconfig.get_path("purelib"))])


def test_a_course_behind_a_link_is_masked_where_it_lies(prefix, tmp_path):
    (prefix / "lib" / "course").mkdir()
    (tmp_path / "mine").symlink_to(prefix / "lib" / "course")
    hidden = view.masked([tmp_path / "mine"])
    assert prefix / "lib" / "course" in hidden


def test_the_view_does_not_depend_on_where_the_course_lies():
    for place in view.shown():
        for course in ("/usr/src/app", "/opt/course", str(Path.home()), f"{sys.prefix}/clip"):
            assert not Path(course).is_relative_to(place), place


@pytest.mark.parametrize("way", ["bwrap", "uid"])
def test_the_doctor_finds_a_planted_file_that_can_be_read(way, monkeypatch):
    need(way)
    if way == "uid" and not landlock.version():
        pytest.skip("this kernel has no Landlock")
    with doctor._planted() as files:
        assert len(files) > 1
        assert doctor.tried(way, files).works
        monkeypatch.setattr(view, "masked", lambda private: {})
        found = doctor.tried(way, files)
        within = [f for f in files if f.is_relative_to(Path(sys.prefix, "lib"))]
        assert found.works == (not within)
        assert not within or f"submissions could read {within[0]}: close its folder" in found.why
    assert not any(file.parent.exists() for file in files)


def test_without_landlock_another_user_reads_what_all_users_can_and_grading_is_refused(
    tmp_path_factory, monkeypatch
):
    need("uid")
    monkeypatch.setattr(landlock, "version", lambda: 0)
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o755)
        file = Path(place, "hw_ref.py")
        file.write_text("")
        with pytest.raises(NoSandbox, match=rf"could read {file}: .*\(chmod 700 {place}\)"):
            sandbox.Zygote("uid", Limits(), [file], warm=False)
        os.chmod(place, 0o700)
        sandbox.Zygote("uid", Limits(), [file], warm=False).close()


def test_the_doctor_says_whether_the_files_of_others_are_closed_to_another_user(monkeypatch):
    said = []
    for closed in (True, False):
        found = {"bwrap": nothing("bwrap"), "uid": doctor.Finding("uid", True, closed=closed)}
        monkeypatch.setattr(doctor, "tried", lambda way, _=(), found=found: found[way])
        said.append(doctor.examine()[1].splitlines()[0])
    assert "by Landlock" in said[0]
    assert "no Landlock" in said[1]


# --- grading --------------------------------------------------------------------------------------


@LINUX
def test_trusted_submissions_are_graded_by_a_plain_process_without_the_package():
    named = (ROOT / "tests" / "attacks" / "imports_the_package_by_name.py").read_text()
    named = f"{RIGHT}\n\n{named}"
    wrong = f"{RIGHT}\n\ndef fedavg(states, weights):\n    while True: pass\n"
    limits = Limits(call=3.0)
    right, loop, other = graded(
        TOY / "test_hw.py", RIGHT, wrong, named, isolation="none", trust=True, limits=limits
    )
    assert right.complete
    assert [r.status for r in loop.results] == ["stopped", "not run", *["passed"] * 3]
    assert [r.status for r in other.results] == ["raised", "raised", *["passed"] * 3]
    assert "No module named 'fedlab_edu" in other.results[0].message


@pytest.fixture(scope="module")
def course():
    """An answer with many faults, graded at home and in the sandbox."""
    need("bwrap")
    file = ROOT / "exercises" / "ex01_fedavg.py"
    text = f"""{file.read_text()}
def weighted_average(W, n):
    print("hello")
    W += 0
    W[0] += 1
    return W.mean(0)

def predict_3():
    return "grows"

def table_3(run, conditions, seeds):
    return [run(*condition, seeds[6]) for condition in conditions]
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


def test_the_sandbox_says_what_the_check_at_home_says(course):
    home, away = course

    def told(report: Report) -> list[tuple[str, ...]]:
        return [(r.test, r.status, r.message, r.likely, r.printed) for r in report.results]

    assert told(home) == told(away)
    assert {r.status for r in home.results} > {"failed", "raised", "not written"}
    assert all(0 <= r.seconds < 60 for r in away.results)


TESTS = """
import ctypes, os, random
import pytest
from fedlab_grade.checks import close, composite
q = pytest.mark.q
rng = random.Random(os.environ.get("FG_SEED"))

@pytest.fixture
def missing(nowhere):
    pass

@q("broken", 1)
def test_before_a_call(student):
    1 / 0

@q("broken", 1)
def test_after_a_call(student):
    student.call("f", 1)
    1 / 0

@q("broken", 1)
def test_of_a_fixture(student, missing):
    pass

@q("odd", 1)
def test_of_an_odd_answer(student):
    assert student.call("f", 2) + 1 == 3

@q("drawn", 1, hidden=True, aspect="an aspect")
@pytest.mark.parametrize("x", [1, 2])
def test_of_draws(student, x):
    assert student.call("f", x) == x, f"drawn {rng.random()} {random.random()}"

class TestGroup:
    @q("group", 2, wall=1)
    def test_in_a_class(self, student):
        with pytest.raises(AssertionError):
            student.call("nowhere")
        pytest.fail("as told")

@q("slow", 1, wall=0.5)
def test_many_calls(student):
    for i in range(8):
        assert student.call("f", i) == i

@q("long", 1, wall=0.5)
def test_of_a_long_answer(student):
    n = student.call("g")
    for _ in range(n):
        pass
    assert n == 3

@q("function", 1)
def test_with_a_function(student):
    def objective(x):
        assert x == 2.5, f"h asked for {x}, expected 2.5"
        return x
    assert student.call("h", objective) == 2.5

@q("memory", 1)
def test_with_a_function_that_can_crash(student):
    memory = ctypes.create_string_buffer(b"abc")
    def byte(i):
        return ctypes.string_at(ctypes.addressof(memory) + i)[0]
    assert student.call("second", byte) == ord("b")

@q("part", 1, function="half")
def test_half(student):
    close(student.call("half", 8), 4.0)

@q("whole", 1, function="quarter")
@composite(half=lambda x: x / 2)
def test_quarter(student):
    close(student.call("quarter", 8), 2.0)

@q("whole", 1, function="quarter", invariant=True)
def test_quarter_of_zero(student):
    close(student.call("quarter", 0), 0.0)
"""
ANSWER = """
import time
def f(x):
    return x
def g():
    return 3
def h(objective):
    return objective(2.5)
def second(byte):
    return byte(1)
def half(x):
    return x / 2
def quarter(x):
    return half(half(x))
"""
SWALLOWED = """
def h(objective):
    try:
        objective(1)
    except BaseException as error:
        return float(str(error).split()[-1])
"""
OTHERS = {
    "odd": "def f(x):\n    return None\n",
    "right again": "",
    "odd again": "def f(x):\n    return None\n",
    "slow": "def f(x):\n    time.sleep(0.4)\n    return x\n",
    "hanging": "def g():\n    return 10**18\n",
    "crashing": "def second(byte):\n    return byte(1 << 46)\n",
    "swallowed": SWALLOWED,
    "wrong part": "def half(x):\n    return x / 4\n",
    "wrong whole": "def half(x):\n    return x / 4\ndef quarter(x):\n    return half(x) / 3\n",
}
SECRET = "t0p"


class Judged(NamedTuple):
    """Answer -> test -> result, and the command lines of all processes meanwhile."""

    results: dict[str, dict[str, Result]]
    lines: list[bytes]

    def statuses(self, answer: str, tests: str) -> list[str]:
        return [self.results[answer][f"test_{test}"].status for test in tests.split()]


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """Grade right and odd answers, by two graders; and an odd one with another secret."""
    need("bwrap")
    tests = tmp_path_factory.mktemp("judged") / "test_f.py"
    tests.write_text(TESTS)
    named = {"right": ANSWER} | {name: f"{ANSWER}\n{text}" for name, text in OTHERS.items()}
    reference = f"{ANSWER}# {'x' * 200_000}\n"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Child, "start", subprocess.Popen)  # and no fork, which has no command line
        reports = grade_isolated(
            tests, iter(named.items()), "bwrap", secret=SECRET, reference=reference, jobs=2
        )
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            lines.append(path.read_bytes())
    everything = [*reports, *graded(tests, named["odd"], secret="b")]
    results = [{r.test: r for r in report.results} for report in everything]
    return Judged(dict(zip([*named, "other secret"], results, strict=True)), lines)


def test_a_fault_of_a_test_is_an_error_and_an_odd_answer_is_none(judged):
    for answer in ("right", "odd"):
        assert judged.statuses(answer, "before_a_call after_a_call of_a_fixture") == ["error"] * 3
    assert judged.statuses("right", "of_an_odd_answer") == ["passed"]
    result = judged.results["odd"]["test_of_an_odd_answer"]
    assert result.status == "failed"
    assert "could not go on with what your code returned: TypeError" in result.message
    assert judged.statuses("other secret", "of_an_odd_answer") == ["error"]
    of_odd = ["broken", "odd", "drawn", "group", "slow"]
    assert marks([r for r in judged.results["odd"].values() if r.question in of_odd])[0] == 0


def test_all_students_and_every_regrade_get_the_inputs_of_the_secret(judged):
    first, again, other = (
        [judged.results[answer][f"test_of_draws[{x}]"].message for x in (1, 2)]
        for answer in ("odd", "odd again", "other secret")
    )
    assert first == again
    assert all(a != b for a, b in zip(first, other, strict=True))


def test_the_marker_is_told(judged):
    results = judged.results["odd"]
    drawn, group = results["test_of_draws[1]"], results["TestGroup::test_in_a_class"]
    assert (drawn.hidden, drawn.aspect) == (True, "an aspect")
    assert (group.status, group.message, group.points) == ("failed", "as told", 2)
    assert group.aspect == "in a class"


def test_a_composite_in_the_sandbox_is_judged_apart_from_its_parts(judged):
    tests = "half quarter quarter_of_zero"
    assert judged.statuses("wrong part", tests) == ["failed", "passed", "passed"]
    assert judged.statuses("wrong whole", tests) == ["failed"] * 3


def test_an_answer_that_takes_all_the_time_of_a_test_or_crashes_it_costs_its_question(judged):
    tests = "many_calls of_a_long_answer with_a_function with_a_function_that_can_crash"
    assert judged.statuses("slow", tests) == ["stopped", *["passed"] * 3]
    assert judged.statuses("hanging", tests) == ["passed", "failed", "passed", "passed"]
    assert judged.statuses("swallowed", tests) == ["passed", "passed", "failed", "passed"]
    assert judged.statuses("crashing", tests) == [*["passed"] * 3, "failed"]
    told = judged.results["slow"]["test_many_calls"].message
    assert told.startswith("f was stopped: the 2 seconds for this test are used up.")
    told = judged.results["hanging"]["test_of_a_long_answer"].message
    assert told.endswith("what your code returned: it took too long.")
    told = judged.results["crashing"]["test_with_a_function_that_can_crash"].message
    assert told.endswith("what your code returned: its process ended.")
    told = judged.results["swallowed"]["test_with_a_function"].message
    assert told == "h asked for 1, expected 2.5"


@LINUX
def test_no_other_user_can_read_the_secret_or_a_solution_of_any_length(judged):
    assert all(set(results) == set(judged.results["right"]) for results in judged.results.values())
    assert any(b"fedlab_grade.sandbox.examiner" in line for line in judged.lines)
    assert not any(word in line for line in judged.lines for word in (b"t0p", b"x" * 1000))


def test_reports_come_one_by_one_in_order_and_time_in_all_is_limited():
    need("bwrap")
    slow = "import time\ndef log_uniform(*a):\n    time.sleep(60)\n"
    taken = []

    def endless() -> Iterator[tuple[str, str]]:
        for i in itertools.count():
            taken.append(i)
            yield f"{i}.py", f"{RIGHT}\n\n{slow if i == 0 else ''}"

    limits = Limits(call=10.0, total=3.0)
    reports = grade_isolated(TOY / "test_hw.py", endless(), "bwrap", limits, jobs=1)
    first, second = next(reports), next(reports)
    reports.close()
    assert [str(r.file) for r in (first, second)] == ["0.py", "1.py"]
    assert len(taken) <= 3
    states = [r.status for r in first.results]
    assert states[:3] == ["passed", "passed", "stopped"]
    assert states[3:] == ["stopped"] * 2
    assert "used up" in first.results[3].message


def test_a_million_blank_lines_are_searched_for_imports_in_one_pass():
    text = (
        "\n" * 10**6
        + " \t" * 10**6
        + "\n  import pandas as pd\nfrom scipy import stats\nimported = 1\n"
    )
    assert examiner.IMPORTED.findall(text) == ["pandas", "scipy"]  # with \s it takes an hour


def test_a_library_that_files_import_is_loaded_before_their_workers_start(tmp_path):
    pytest.importorskip("matplotlib")
    need("bwrap")
    tests = tmp_path / "test_f.py"
    tests.write_text("import pytest\n@pytest.mark.q('q', 1)\ndef test_f(student):\n"
                     "    assert student.call('f')\n")  # fmt: skip
    named = "matplotlib.pyplot"
    text = f"import sys\nLOADED = {named!r} in sys.modules\ndef f():\n    return LOADED\n"
    without, with_it = graded(tests, text, f"{text}import {named} as plt\n")
    assert [r.status for r in (*without.results, *with_it.results)] == ["failed", "passed"]


def test_a_grader_that_ends_costs_one_submission_and_the_others_are_graded(tmp_path):
    """Here a test kills the process that all tests are run from."""
    tests = tmp_path / "test_f.py"
    tests.write_text(
        "import os, pytest\n@pytest.mark.q('q', 1)\ndef test_f(student):\n"
        "    if student.call('f') == 'end':\n        os.kill(os.getppid(), 9)\n"
    )
    texts = [f"def f():\n    return {word!r}\n" for word in ("a", "end", "b")]
    named = [("f.py", text) for text in texts]
    reports = grade_isolated(tests, named, "none", trust=True, jobs=1)
    (first,), (second,), (third,) = (report.results for report in reports)
    assert (first.status, second.status, third.status) == ("passed", "error", "passed")
    assert second.message == (
        "The grader failed on this submission, which is no fault of the answer: its process ended."
    )


def test_a_library_that_takes_too_long_to_load_is_given_up_and_no_later_worker_waits_for_it(
    monkeypatch,
):
    asked: list[list[str]] = []

    class Slow:
        def __init__(self, *_: object) -> None: ...

        def worker(self, libraries: list[str]) -> str:
            asked.append(libraries)
            if libraries:
                raise NoSandbox("no reply")
            return "a worker"

    monkeypatch.setattr(examiner, "Zygote", Slow)
    job = {"question": "", "limits": {}, "way": "bwrap", "secret": "", "reference": ""}
    one = examiner.Examiner(job | {"private": []}, io.StringIO())
    for text in ("import pandas\nfrom pandas import DataFrame\n", "import pandas\n", ""):
        assert one.worker(text) == "a worker"
    assert asked == [["pandas"], [], [], []]


def test_a_sandbox_that_does_not_reply_in_time_is_ended(monkeypatch):
    zygote = sandbox.Zygote("none", Limits(), warm=False)
    zygote._control.settimeout(1e-3)
    with pytest.raises(NoSandbox, match="the sandbox has ended"):
        zygote.worker(["unittest.mock", "numpy.f2py"])
    assert zygote._process.poll() is not None


def test_what_a_function_of_a_test_asserts_is_the_message_at_home_too():
    def objective(x: float) -> float:
        assert x == 2.5, f"h asked for {x}"
        return x

    home = Student(Path("h.py"), "def h(f):\n    return f(1)\n\ndef k(f):\n    assert f(2.5) < 0\n")
    with pytest.raises(AssertionError, match=r"^h asked for 1\n?") as raised:
        home.call("h", objective)
    assert not isinstance(raised.value, Failure)
    with pytest.raises(Raised, match="k raised AssertionError"):
        home.call("k", objective)


def test_tests_that_cannot_be_collected_are_refused(tmp_path):
    need("bwrap")
    (tmp_path / "test_f.py").write_text("def test(:\n")
    with pytest.raises(CheckBroken, match="SyntaxError"):
        graded(tmp_path / "test_f.py", "")

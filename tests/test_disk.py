"""Files are written whole or not at all."""

import os
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from fedlab_grade.classroom import commands, handout
from fedlab_grade.classroom.people import Person
from fedlab_grade.classroom.records import ClassList, Record
from fedlab_grade.classroom.store import Store
from fedlab_grade.disk import whole, write_text
from fedlab_grade.run import Result

pytestmark = pytest.mark.grader

KILLED = """\
import os, signal, sys
from pathlib import Path
from fedlab_grade.disk import whole

with whole(Path(sys.argv[1])) as beside, beside.open("w") as file:
    file.write("ha")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def replaced(monkeypatch):
    """The files that were put in their place at once."""
    out: set[Path] = set()
    real = os.replace

    def replace(beside: Path, path: Path) -> None:
        out.add(Path(path))
        real(beside, path)

    monkeypatch.setattr(os, "replace", replace)
    return out


def test_a_kill_in_the_middle_of_a_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "ann.json"
    path.write_text("old")
    process = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert process.returncode == -signal.SIGKILL
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.glob("*.json")] == ["ann.json"]  # and no record of no one


def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path):
    path = tmp_path / "canvas.csv"
    path.write_text("old")

    def write(bytes_left: int) -> None:
        with whole(path) as beside:
            beside.write_text("half"[:bytes_left])
            raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        write(2)
    assert [p.name for p in tmp_path.iterdir()] == ["canvas.csv"]
    assert path.read_text() == "old"


def test_a_link_stays_a_link_and_what_is_no_file_is_not_replaced(tmp_path):
    file, link, pipe = (tmp_path / name for name in ("far.csv", "link.csv", "pipe"))
    link.symlink_to(file)
    write_text(link, "new")
    assert link.is_symlink()
    assert file.read_text() == "new"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_text(pipe, "told")
    assert os.read(reader, 10) == b"told"
    os.close(reader)
    assert pipe.is_fifo()
    assert {path.name for path in tmp_path.iterdir()} == {"far.csv", "link.csv", "pipe"}


def test_each_file_of_grades_and_reports_is_put_in_its_place_at_once(tmp_path, replaced):
    test = Result("t", "q1", "f", 1, "whole", False, "passed")
    out, (gradebook, worksheet) = tmp_path / "out", (tmp_path / "g.csv", tmp_path / "w.csv")
    gradebook.write_text("Student,ID,Section,hw (9)\nann,1,A,\n")
    worksheet.write_text("Identifier,Full name,Grade\nParticipant 1,ann,\n")
    store = Store(out)
    store.begin(ClassList("hw", (test,), (Person("ann", "ann"),)))
    store.write(Record("ann", "ann", (), "hw", "graded", (test,)))
    commands.report(out, exports=["gradescope"], canvas=gradebook, moodle=worksheet)
    files = {path for path in out.rglob("*") if path.is_file()}
    assert {"canvas.csv", "moodle.csv", "class.html", "results.json", "changes.csv"} < {
        path.name for path in files
    }
    assert files == replaced


def test_each_file_of_a_release_is_put_in_its_place_at_once(tmp_path, replaced):
    source, text = tmp_path / "course/hw_solution.py", {"hw.py": "x = 1\n", "README.md": "# hw\n"}
    handout.write(text, tmp_path / "out", source)
    handout.write(text, tmp_path / "hw.zip", source)
    assert replaced == {tmp_path / "out/hw.py", tmp_path / "out/README.md", tmp_path / "hw.zip"}
    with zipfile.ZipFile(tmp_path / "hw.zip") as archive:
        assert archive.read("hw/hw.py") == b"x = 1\n"

"""Submissions in every packaging, with parts that should not count."""

import hashlib
import io
import json
import os
import re
import stat
import tarfile
import time
import tracemalloc
import zipfile
from collections.abc import Callable, Collection
from pathlib import Path
from threading import Thread

import pytest

from fedlab_grade.classroom import intake
from fedlab_grade.classroom.intake import Handed, Wanted, collect
from fedlab_grade.notebook import Module, convert
from fedlab_grade.textfile import Unusable, printable, read_regular, text_of

pytestmark = [pytest.mark.processes, pytest.mark.grader]

GOOD = "def fedavg(states):\n    return states[0]\n"
OTHER = "def fedavg(states):\n    return None\n"
STUB = """\
# %% [markdown]
# # Homework


# %%
def fedavg(states):
    \"\"\"The mean.\"\"\"
    # Your answer goes here: replace the next line.
    raise NotImplementedError("not written yet")
"""
WANTED = Wanted(("hw",), ("fedavg", "given"), f"{STUB}\n\ndef given(x):\n    return x\n")


def taken(path: Path) -> Handed:
    return collect([(path.name, path)], WANTED)


def folder(tmp_path: Path, **files: str | bytes) -> Path:
    """A student's folder; __ stands for the dot before an ending."""
    return written(tmp_path, {name.replace("__", "."): text for name, text in files.items()})


def written(tmp_path: Path, files: dict[str, str | bytes]) -> Path:
    home = tmp_path / "student"
    home.mkdir()
    for name, text in files.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return home


def zipped(path: Path, *entries: tuple[str | zipfile.ZipInfo, str | bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in entries:
            archive.writestr(name, text)
    return path


def tarred(path: Path, *entries: tuple[tarfile.TarInfo | str, bytes], mode: str = "w:gz") -> Path:
    with tarfile.open(path, mode) as archive:
        for entry, data in entries:
            info = tarfile.TarInfo(entry) if isinstance(entry, str) else entry
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


def link_in_tar(name: str, kind: bytes, target: str) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def link_in_zip(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


def notebook(*cells: str, **more: object) -> str:
    kinds = [
        {"cell_type": "code", "metadata": {}, "source": cell, "outputs": [], "id": str(i)}
        for i, cell in enumerate(cells)
    ]
    return json.dumps({"cells": kinds, "metadata": {}, "nbformat": 4, "nbformat_minor": 5} | more)


# --- a file counts ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    """Kinds of packaging in which GOOD is to be found: what it is -> where."""
    out = tmp_path_factory.mktemp("full")
    (out / "spaces and 学生.py").write_text(GOOD)
    (out / "-rf.py").write_text(GOOD)
    (out / "a'b\"$(touch evil)`.py").write_text(GOOD)
    (out / "new\nline.py").write_text(GOOD)
    (out / ("x" * 252 + ".py")).write_text(GOOD)
    (out / "crlf.py").write_bytes(GOOD.replace("\n", "\r\n").encode())
    (out / "bom.py").write_bytes(b"\xef\xbb\xbf" + GOOD.encode())
    zipped(out / "plain.zip", ("hw.py", GOOD))
    zipped(out / "CAPITALS.ZIP", ("hw.py", GOOD))
    zipped(
        out / "mac.zip",
        ("work/hw.py", GOOD),
        ("__MACOSX/work/._hw.py", b"\0\5\x16\7"),
        ("work/.DS_Store", b"\0"),
    )
    zipped(out / "bomb_beside.zip", ("hw.py", GOOD), ("big.bin", bytes(30 << 20)))
    zipped(
        out / "slip.zip",
        ("../evil.py", OTHER),
        ("/abs/evil.py", OTHER),
        ("..\\evil2.py", OTHER),
        ("C:\\evil3.py", OTHER),
        ("hw.py", GOOD),
    )
    with pytest.warns(UserWarning, match="Duplicate name"):
        zipped(out / "twice.zip", ("hw.py", OTHER), ("hw.py", GOOD))
    zipped(out / "case.zip", ("HW.PY", OTHER), ("hw.py", GOOD))
    zipped(out / "deep.zip", ("old/hw.py", OTHER), ("hw.py", GOOD))
    tarred(out / "plain.tar.gz", ("hw.py", GOOD.encode()))
    tarred(out / "plain.tar", ("./work/hw.py", GOOD.encode()), mode="w")
    (out / "hostile").mkdir()
    for name in (
        *("torch.py", "conftest.py", "sitecustomize.py", "test_hw.py", "pytest.ini"),
        *("numpy/__init__.py", "__pycache__/hw.cpython-311.pyc", ".ipynb_checkpoints/hw.py"),
    ):
        path = out / "hostile" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("raise SystemExit('must not run')")
    (out / "hostile/hw.py").write_text(GOOD)
    for name in ("hw (1).py", "HW.PY", "my_hw.py", "hw_final.py", "Copy of hw.py", "homework.py"):
        place = out / f"named {name}"
        place.mkdir()
        (place / name).write_text(GOOD)
        (place / "test_hw.py").write_text(OTHER)
    return {path.name: path for path in out.iterdir()}


def test_in_every_packaging_the_one_file_that_counts_is_found(full):
    for name, path in full.items():
        handed = taken(path)
        assert (name, handed.problem, handed.source) == (name, "", GOOD)
    names = {path.name for path in full["-rf.py"].parent.rglob("*evil*")}
    names |= {path.name for path in Path().glob("*evil*")}
    assert names == {"a'b\"$(touch evil)`.py"}  # nothing was unpacked, and no shell has run


@pytest.mark.parametrize(
    ("name", "note"),
    [
        ("slip.zip", "'../evil.py' points out of its folder: ignored"),
        ("slip.zip", "'/abs/evil.py' points out of its folder: ignored"),
        ("slip.zip", "'../evil2.py' points out of its folder: ignored"),
        ("slip.zip", "'C:/evil3.py' points out of its folder: ignored"),
        ("twice.zip", "hw.py' is there twice: the last one counts"),
        ("case.zip", "HW.PY: ignored"),
        ("hostile", "conftest.py, numpy/__init__.py, sitecustomize.py, test_hw.py, torch.py"),
        ("named hw (1).py", "'hw (1).py' was taken for hw.py or hw.ipynb"),
        ("named homework.py", "'homework.py' was taken for hw.py or hw.ipynb"),
    ],
)
def test_what_was_left_out_is_told(name, note, full):
    assert note in "\n".join(taken(full[name]).notes)


# --- no file counts -----------------------------------------------------------------------------


def build_none(out: Path) -> dict[str, tuple[Path, str]]:
    """Kinds of packaging in which there is nothing to grade: where, and what the student reads."""
    secret = out / "secret.txt"
    secret.write_text("root:x:0:0\n")

    def file(name: str, data: bytes) -> Path:
        (out / name).write_bytes(data)
        return out / name

    def place(name: str, build: Callable[[Path], object]) -> Path:
        (out / name).mkdir()
        build(out / name)
        return out / name

    good = zipped(out / "good.zip", ("hw.py", GOOD)).read_bytes()
    locked = bytearray(good)
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        locked[bytes(locked).index(mark) + at] |= 1
    half = tarred(out / "good.tar.gz", ("hw.py", GOOD.encode() * 500)).read_bytes()
    return {
        "bomb": (
            zipped(out / "bomb.zip", ("hw.py", bytes(60 << 20))),
            "hw.py', which is larger than 8 MB",
        ),
        "zip in zip": (zipped(out / "zz.zip", ("hw.zip", good)), "unpack it once more"),
        "zip link": (zipped(out / "l.zip", (link_in_zip("hw.py"), str(secret))), "is a link"),
        "entries": (
            zipped(out / "many.zip", *((f"{i}.py", "") for i in range(2_500))),
            "2500 entries; at most 2000",
        ),
        "list": (
            zipped(out / "list.zip", *((f"{'x' * 200}{i}", "") for i in range(5_000))),
            "5000 entries; at most 2000 are read",
        ),
        "truncated": (file("cut.zip", good[: len(good) // 2]), "did the upload break off?"),
        "no zip": (
            file("no.zip", b"hello"),
            "is no zip file, whatever its name says: hand in your file",
        ),
        "password": (file("locked.zip", bytes(locked)), "'locked.zip' is a zip with a password"),
        "damaged": (file("bad.zip", good.replace(b"hw.py", b"hv.py", 1)), "is damaged"),
        "tar links": (
            tarred(
                out / "t.tar.gz",
                (link_in_tar("out", tarfile.SYMTYPE, "/tmp"), b""),
                (link_in_tar("hw.py", tarfile.LNKTYPE, str(secret)), b""),
                (link_in_tar("dev.py", tarfile.CHRTYPE, ""), b""),
            ),
            "'hw.py' is a link, a device",
        ),
        "tar bomb": (
            tarred(out / "b.tar.gz", ("big.bin", bytes(60 << 20)), ("hw.py", GOOD.encode())),
            "larger than 20 MB when it is unpacked",
        ),
        "tar cut": (file("cut.tar.gz", half[: len(half) // 2]), "did the upload break off?"),
        "link": (place("1", lambda p: (p / "hw.py").symlink_to(secret)), "'hw.py' is a link"),
        "pipe": (place("2", lambda p: os.mkfifo(p / "hw.py")), "'hw.py' is not an ordinary file"),
        "folder": (place("3", lambda p: (p / "hw.py").mkdir()), "'hw.py' is a folder, not a file"),
        "linked folder": (
            place("4", lambda p: (p / "work").symlink_to(out / "hidden")),
            "'work' is a link",
        ),
        "deep": (
            place("9", lambda p: (p / "a/b/c/d/e/f/g").mkdir(parents=True)),
            "'a/b/c/d/e/f' lies in too many folders",
        ),
        "nothing": (place("5", lambda p: None), "is empty"),
        "large": (file("large.py", b"#" * (20 << 20)), "more than 1 MB of code"),
        "huge": (file("huge.py", b"#" * ((20 << 20) + 1)), "larger than 20 MB"),
        "latin-1": (file("latin.py", "x = 1\n# Größe\n".encode("latin-1")), r"UTF-8 text (line 2)"),
        "utf-16": (file("wide.py", GOOD.encode("utf-16")), "is UTF-16 text: save it as UTF-8"),
        "zeros": (file("zeros.py", bytes(9)), "NUL bytes"),
        "rar": (place("6", lambda p: (p / "hw.rar").write_bytes(b"Rar!")), "pack it as .zip"),
        "text": (place("7", lambda p: (p / "hw.docx").write_bytes(b"")), "holds no hw.py or hw.i"),
        "two": (
            place("8", lambda p: [(p / f"{n}.py").write_text(GOOD) for n in "ab"]),
            "holds 2 files that could be meant ('a.py', 'b.py'): hand in hw.py or hw.ipynb",
        ),
    }


def test_where_nothing_can_be_graded_the_student_reads_why(tmp_path):
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "hw.py").write_text(GOOD)
    for name, (path, message) in build_none(tmp_path).items():
        handed = taken(path)
        assert (name, handed.source) == (name, None)
        assert message in handed.problem
        assert "root:x" not in handed.problem + "".join(handed.notes)


def test_a_submission_that_is_a_link_or_a_pipe_itself_is_not_opened(tmp_path):
    (tmp_path / "real.py").write_text(GOOD)
    (tmp_path / "alice.py").symlink_to(tmp_path / "real.py")
    os.mkfifo(tmp_path / "bob.py")
    assert "is a link" in taken(tmp_path / "alice.py").problem
    assert "is not an ordinary file" in taken(tmp_path / "bob.py").problem


def test_bombs_take_no_memory(tmp_path):
    path = zipped(tmp_path / "bomb.zip", ("hw.py", GOOD), ("test_hw.py", bytes(60 << 20)))
    tracemalloc.start()
    assert taken(path).source == GOOD
    assert tracemalloc.get_traced_memory()[1] < 20e6
    path = zipped(tmp_path / "bomb.zip", ("hw.py", bytes(60 << 20)))
    tracemalloc.reset_peak()
    assert taken(path).source is None
    assert tracemalloc.get_traced_memory()[1] < 40e6
    tracemalloc.stop()


# --- modules and notebooks together -------------------------------------------------------------


def test_of_a_module_and_a_notebook_the_module_counts(tmp_path):
    home = folder(tmp_path, hw__py=GOOD, hw__ipynb=notebook(OTHER))
    assert taken(home).source == GOOD
    assert "hw.ipynb: ignored" in taken(home).notes


def test_of_an_untouched_module_and_a_notebook_the_notebook_counts(tmp_path):
    home = folder(tmp_path, hw__py=WANTED.stub, hw__ipynb=notebook(GOOD))
    assert GOOD.strip() in str(taken(home).source)
    assert "'hw.py' holds no answer: 'hw.ipynb' counts" in taken(home).notes


def test_a_notebook_that_is_none_is_explained(tmp_path):
    home = folder(tmp_path, hw__ipynb="<<<<<<< HEAD\n{}")
    assert "has conflict markers of git: resolve the merge" in taken(home).problem


# --- made to do harm ------------------------------------------------------------------------------


def test_a_long_name_takes_no_longer_than_its_length(tmp_path):
    """The time doubled with each digit: for sixty it would have been thirty thousand years."""
    name = f"hw{'1' * 60}x.py"
    path = zipped(tmp_path / "mallory.zip", (name, GOOD), (f"hw{'copy' * 16_000}x.py", GOOD))
    start = time.process_time()
    assert "2 files that could be meant" in taken(path).problem
    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    "name", ["hw2.py", "HW.py", "Hw (1).py", "hw_final v2 copy(3).ipynb", "my-hw.py"]
)
def test_a_renamed_file_goes_before_any_other(name, tmp_path):
    home = written(tmp_path, {name: notebook(GOOD) if "ipynb" in name else GOOD, "a.py": OTHER})
    assert GOOD.strip() in str(taken(home).source)


def test_notes_are_cut_in_number_and_length(tmp_path):
    home = folder(tmp_path, hw__py=GOOD)
    for i in range(50):
        (home / f"{i}{'x' * 200}").symlink_to(home)
    notes = taken(home).notes
    assert len(notes) == 21
    assert notes[0].startswith("'0xxx")
    assert notes[-1] == "and 30 more notes"
    for i in range(29):
        (home / f"{i}{'x' * 200}").unlink()
    assert taken(home).notes[20:] == ("and 1 more note",)
    (home / f"29{'x' * 200}").unlink()
    assert len(taken(home).notes) == 20
    long = "g" * 9_000
    (tmp_path / "n.ipynb").write_text(
        notebook(f"def {long}():\n    return 1", f"def {long}():\n    return 2")
    )
    (note,) = collect([("n.ipynb", tmp_path / "n.ipynb")], Wanted(("n",), (long,))).notes
    assert len(note) == 300


def test_a_link_or_a_pipe_that_takes_the_place_of_a_file_is_not_read(tmp_path):
    """Between the look at a file and its opening, where only the opening can tell."""
    (tmp_path / "real.py").write_text(GOOD)
    (tmp_path / "link.py").symlink_to(tmp_path / "real.py")
    with pytest.raises(Unusable, match="is a link, not a file"):
        read_regular(tmp_path / "link.py", 100)
    os.mkfifo(tmp_path / "pipe.py")
    told: list[str] = []

    def read() -> None:
        try:
            read_regular(tmp_path / "pipe.py", 100)
        except Unusable as problem:
            told.append(str(problem))

    thread = Thread(target=read, daemon=True)  # it would wait for a writer, for ever
    thread.start()
    thread.join(10)
    assert told == ["is not an ordinary file"]


# --- packed by accident ---------------------------------------------------------------------------


def test_of_an_archive_only_what_could_be_handed_in_is_counted(tmp_path):
    places = ("hw/.git/objects/{}", "hw/.venv/lib/{}.py", "venv/{}.py", "site-packages/x/{}.py")
    junk = [places[i % 4].format(i) for i in range(3_000)]
    path = zipped(tmp_path / "a.zip", *((name, "") for name in junk), ("hw/hw.py", GOOD))
    assert (taken(path).source, taken(path).notes) == (GOOD, ())
    packed = [(name, b"") for name in junk]
    folders = [(link_in_tar(name, tarfile.DIRTYPE, ""), b"") for name in ("hw", "hw/src")]
    path = tarred(tmp_path / "a.tar.gz", *packed, *folders, ("hw/hw.py", GOOD.encode()))
    assert (taken(path).source, taken(path).notes) == (GOOD, ())


def test_of_a_folder_only_what_could_be_handed_in_is_counted(tmp_path):
    home = written(tmp_path, {"hw.py": GOOD, ".git/x.py": OTHER, "venv/hw.py": OTHER})
    for i in range(2_100):
        (home / f".{i}").touch()
    assert (taken(home).source, taken(home).notes) == (GOOD, ())


def test_a_notebook_that_is_called_a_module_is_read_as_a_notebook(tmp_path):
    home = folder(tmp_path, hw__py="\n" + notebook(GOOD, "exit()"))
    handed = taken(home)
    assert GOOD.strip() in str(handed.source)
    assert "read as a notebook, whatever its name says" in handed.notes
    (home / "hw.py").write_text('{"cells"')
    assert "is not a notebook (no JSON" in taken(home).problem


# --- files without an answer give way to those with one -------------------------------------------

UNTOUCHED = {
    "as it was": WANTED.stub,
    "a name above": f"# Jane Doe, 12345\n{WANTED.stub}",
    "a docstring": f'"""Jane Doe"""\n{WANTED.stub.replace("The mean", "Jane")}',
    "spaces": WANTED.stub.replace("\n", "  \r\n\r\n"),
    "an import": f"import math\nNAME = 'Jane'\n{WANTED.stub}",
    "notes of types": WANTED.stub.replace("(states)", "(states: list) -> dict"),
    "no comments": "def fedavg(states):\n    raise NotImplementedError('not written yet')\n",
    "empty": "",
    "given only": "def given(x):\n    return [x]\n",
}


@pytest.mark.parametrize(
    ("stub", "other"),
    [
        *((stub, "hw.ipynb") for stub in UNTOUCHED.values()),
        *((UNTOUCHED["a name above"], f"{n}.py") for n in ("hw_solution", "work/hw", "my answer")),
    ],
)
def test_a_file_without_an_answer_gives_way(stub, other, tmp_path):
    home = written(tmp_path, {"hw.py": stub, other: notebook(GOOD) if "ip" in other else GOOD})
    handed = taken(home)
    assert GOOD.strip() in str(handed.source)
    assert handed.file == other
    assert f"'hw.py' holds no answer: {other!r} counts" in handed.notes
    assert "hw.py: ignored" in handed.notes


@pytest.mark.parametrize("other", ["hw.ipynb", "hw_solution.py", "work/hw.py", "other.py"])
def test_a_file_with_an_answer_does_not_give_way_to_the_stub(other, tmp_path):
    stub = f"# Jane Doe\n{WANTED.stub}"
    home = written(tmp_path, {"hw.py": GOOD, other: notebook(stub) if "ip" in other else stub})
    assert (taken(home).source, taken(home).file) == (GOOD, "hw.py")


def test_where_no_file_has_an_answer_the_usual_one_counts(tmp_path):
    named = f"# Jane Doe\n{WANTED.stub}"
    files = {
        "hw.py": named,
        "hw.ipynb": notebook(WANTED.stub),
        "helper.py": "def f():\n    return 3",
    }
    handed = taken(written(tmp_path, files))
    assert (handed.source, handed.notes) == (named, ("helper.py, hw.ipynb: ignored",))


def test_a_file_that_is_broken_holds_an_attempt(tmp_path):
    broken = "def fedavg(states)\n    return 1\n"
    home = written(tmp_path, {"hw.py": broken, "hw.ipynb": notebook(GOOD)})
    assert taken(home).source == broken
    (home / "hw.py").write_text(WANTED.stub)
    (home / "hw.ipynb").write_text("{")
    assert "holds 'hw.ipynb', which is not a notebook (no JSON" in taken(home).problem
    (home / "hw.ipynb").rename(home / "data.ipynb")  # nobody says that it should be the answer
    assert taken(home).source == WANTED.stub


def test_of_several_files_the_only_one_with_an_answer_counts(tmp_path):
    files = {"hw (1).py": WANTED.stub, "hw (2).py": GOOD, "a.py": "x = 1", "b.py": OTHER}
    handed = taken(written(tmp_path, files))
    assert (handed.file, handed.source) == ("hw (2).py", GOOD)
    assert "'hw (1).py' holds no answer: 'hw (2).py' counts" in handed.notes
    (tmp_path / "student/hw (1).py").write_text(OTHER)
    (tmp_path / "student/hw (2).py").write_text(WANTED.stub)
    assert taken(tmp_path / "student").source == OTHER
    (tmp_path / "student/hw (3).py").write_text(GOOD)
    handed = taken(tmp_path / "student")
    assert "holds 2 files that could be meant ('hw (1).py', 'hw (3)" in handed.problem
    assert handed.notes == ()
    (tmp_path / "student/hw (3).py").unlink()
    (tmp_path / "student/hw (2).py").write_text(GOOD)
    assert "holds 2 files that could be meant ('hw (1).py', 'hw (2)" in (
        taken(tmp_path / "student").problem
    )


def test_two_notebooks_could_be_meant_unless_a_module_has_the_answer(tmp_path):
    files = {"a/hw.ipynb": notebook(GOOD), "b/hw.ipynb": notebook(OTHER)}
    home = written(tmp_path, files)
    assert "holds 2 files that could be meant ('a/hw.ipynb', 'b/hw.ipynb')" in taken(home).problem
    (home / "c").mkdir()
    (home / "c/hw.py").write_text(GOOD)
    assert taken(home).source == GOOD
    (home / "c/hw.py").write_text(WANTED.stub)
    assert "holds 2 files that could be meant" in taken(home).problem


def test_of_many_files_the_one_with_the_answer_counts(tmp_path):
    home = written(tmp_path, {f"{i}.py": WANTED.stub for i in range(9)} | {"x.py": GOOD})
    assert taken(home).source == GOOD
    (home / "hw_solution.py").write_text(OTHER)  # it is named as asked
    assert taken(home).source == OTHER


def test_no_file_is_read_twice(tmp_path, monkeypatch):
    read: list[str] = []

    def counted(text: str, names: Collection[str], files: Collection[str]) -> Module:
        read.append(text)
        return convert(text, names, files)

    monkeypatch.setattr("fedlab_grade.notebook.convert", counted)
    home = folder(tmp_path, hw__py=STUB, hw__ipynb=notebook(GOOD))
    assert GOOD.strip() in str(taken(home).source)
    assert len(read) == 1


def test_an_untouched_module_gives_way_also_where_the_stub_is_not_known(tmp_path):
    home = written(tmp_path, {"hw.py": STUB, "hw.ipynb": notebook(GOOD)})
    bare = Wanted(("hw",), ("fedavg",))
    assert collect([("student", home)], bare).file == "hw.ipynb"
    (home / "hw.py").unlink()
    (home / "hw.ipynb").write_text(notebook("x = 1"))
    assert collect([("student", home)], bare).notes == ("no code cell defines fedavg",)


def test_a_file_that_is_handed_in_alone_may_have_any_name(tmp_path):
    for name in ("test_hw.py", "setup.py", "answer.PY"):
        (tmp_path / name).write_text(GOOD)
        assert (taken(tmp_path / name).source, taken(tmp_path / name).notes) == (GOOD, ())


@pytest.mark.parametrize(
    "name",
    ["hw_test.py", "Test_hw.py", "SETUP.PY", "conftest.py", "sitecustomize.py", "usercustomize.py"],
)
def test_what_is_never_an_answer_is_not_in_the_way_of_one(name, tmp_path):
    home = written(tmp_path, {"homework.py": GOOD, name: OTHER})
    assert taken(home).source == GOOD


def test_a_file_that_is_handed_in_alone_is_not_looked_into(tmp_path, monkeypatch):
    looked: list[str] = []
    monkeypatch.setattr(intake, "written", lambda text: {*(looked.append(text) or ())})
    home = written(tmp_path, {"homework.py": f"# Jane\n{STUB}", "notes.txt": ""})
    assert "# Jane" in str(taken(home).source)
    assert "# Jane" in str(taken(home / "homework.py").source)
    assert looked == [WANTED.stub] * 2


def test_of_two_files_that_were_handed_in_the_one_that_is_named_as_asked_counts(tmp_path):
    for name, text in (("a.py", OTHER), ("hw.py", GOOD)):
        (tmp_path / name).write_text(text)
    both = [(name, tmp_path / name) for name in ("a.py", "hw.py")]
    assert collect(both, WANTED).source == GOOD


def test_what_the_stub_gives_is_not_asked_for(tmp_path):
    home = folder(tmp_path, hw__ipynb=notebook(GOOD))
    assert taken(home).notes == ()
    (home / "hw.ipynb").write_text(notebook("x = 1"))
    assert taken(home).notes == ("no code cell defines fedavg",)


# --- messages name the file and what to do --------------------------------------------------------


def test_files_that_are_too_large_are_named(tmp_path):
    home = folder(tmp_path, hw__py=b"#" * (1 << 20))
    assert taken(home).problem == ""
    (home / "hw.py").write_bytes(b"#" * ((1 << 20) + 1))
    assert taken(home).problem == (
        "What you handed in holds 'hw.py', which has more than 1 MB of code, the most that is "
        "read: take the data out of it"
    )
    (home / "hw.py").unlink()
    text = notebook(GOOD)
    (home / "hw.ipynb").write_text(text + " " * ((8 << 20) - len(text)))
    assert GOOD.strip() in str(taken(home).source)
    (home / "hw.ipynb").write_text(text + " " * ((8 << 20) - len(text) + 1))
    assert "'hw.ipynb', which is a notebook larger than 8 MB: clear its" in taken(home).problem


def test_a_folder_with_too_many_files_is_named(tmp_path):
    home = folder(tmp_path, hw__py=GOOD)
    (home / "data").mkdir()
    for i in range(1_998):
        (home / f"data/{i}").touch()
    assert taken(home).source == GOOD
    (home / "data/1998").symlink_to(home)
    assert taken(home).problem == (
        "What you handed in has more than 2000 files, 1999 of them in the folder 'data': hand in "
        "your own file alone"
    )


def test_an_archive_of_no_use_is_named(tmp_path):
    home = folder(tmp_path, hw__zip=b"PK")
    assert taken(home).problem == (
        "What you handed in holds no hw.py or hw.ipynb ('hw.zip' is not a readable zip file: did "
        "the upload break off? Hand it in again)"
    )
    assert taken(folder_with(tmp_path / "b", {})).problem == (
        "What you handed in is empty: hand in hw.py or hw.ipynb"
    )


def folder_with(place: Path, files: dict[str, str | bytes]) -> Path:
    place.mkdir()
    return written(place, files)


# --- archives beside files ------------------------------------------------------------------------


@pytest.mark.parametrize("beside", ["test_hw.py", "conftest.py", "HW_test.py", "utils.py"])
@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_an_archive_is_opened_where_no_other_file_is_named_as_asked(beside, kind, tmp_path):
    home = written(tmp_path, {beside: OTHER})
    if kind == "zip":
        zipped(home / "hw.zip", ("hw.py", GOOD), (beside, "in the zip"))
    else:
        tarred(home / "hw.tar.gz", ("hw.py", GOOD.encode()))
    assert (taken(home).source, taken(home).file) == (GOOD, f"hw.{kind}/hw.py")
    assert any(note.endswith(f"{beside}: ignored") for note in taken(home).notes)


def test_an_archive_beside_an_answer_is_not_opened(tmp_path):
    home = folder(tmp_path, hw__py=GOOD)
    zipped(home / "old.zip", ("hw.py", OTHER), ("../x.py", OTHER))
    assert (taken(home).source, taken(home).notes) == (GOOD, ("'old.zip' was not opened",))
    (home / "hw.py").rename(home / "homework.py")
    taken_for = "'homework.py' was taken for hw.py or hw.ipynb"
    zipped(home / "old.zip", ("homework.py", OTHER), ("../x.py", OTHER))
    handed = taken(home)
    outside = "'../x.py' points out of its folder: ignored"
    assert handed.source == GOOD
    assert handed.notes == (outside, taken_for, "old.zip/homework.py: ignored")
    (home / "old.zip").write_bytes(b"PK")
    note = "'old.zip' is not a readable zip file: did the upload break off?"
    assert taken(home).source == GOOD
    assert taken(home).notes[0].startswith(note)


def test_a_renamed_answer_counts_beside_an_archive_as_within_one(tmp_path):
    home = written(tmp_path, {"hw_final.py": GOOD})
    zipped(home / "hw.zip", ("hw.py", OTHER))
    assert (taken(home).source, taken(home).file) == (GOOD, "hw_final.py")
    (home / "hw_final.py").rename(home / "utils.py")
    zipped(home / "hw.zip", ("hw_final.py", OTHER))
    assert (taken(home).source, taken(home).file) == (OTHER, "hw.zip/hw_final.py")


def test_of_two_archives_with_an_answer_none_counts(tmp_path):
    home = folder(tmp_path, test_hw__py=OTHER)
    zipped(home / "a.zip", ("hw.py", GOOD))
    tarred(home / "b.tgz", ("hw.py", GOOD.encode()))
    assert (
        "2 files that could be meant ('a.zip/hw.py', 'b.tgz/hw.py'): hand in hw.py"
        in taken(home).problem
    )
    (home / "a.zip").unlink()
    (home / "b.tgz").rename(home / "b.rar")
    assert "'b.rar': pack it as .zip or .tar.gz" in taken(home).problem


# --- limits and odd forms -------------------------------------------------------------------------


def test_a_tar_with_too_many_entries_is_refused(tmp_path):
    many = [(f"{i}.txt", b"") for i in range(1_999)]
    path = tarred(tmp_path / "a.tar", *many, ("hw.py", GOOD.encode()), mode="w")
    assert taken(path).source == GOOD
    path = tarred(tmp_path / "a.tar", *many, ("b", b""), ("hw.py", GOOD.encode()), mode="w")
    assert "'a.tar' is a tar with 2001 entries; at most 2000 are read: pack" in taken(path).problem


def test_a_zip_may_hold_as_many_entries_as_a_folder(tmp_path):
    many = [(f"{i}.txt", "") for i in range(1_999)]
    assert taken(zipped(tmp_path / "a.zip", *many, ("hw.py", GOOD))).source == GOOD
    path = zipped(tmp_path / "a.zip", *many, ("b", ""), ("hw.py", GOOD))
    assert "a zip with 2001 entries; at most 2000 are read: pack" in taken(path).problem


def test_a_large_file_in_a_tar_is_named(tmp_path):
    path = tarred(tmp_path / "a.tgz", ("hw.py", bytes((8 << 20) + 1)))
    assert "hw.py', which is larger than 8 MB" in taken(path).problem
    path = tarred(tmp_path / "a.tgz", ("hw.py", b"#" * (8 << 20)))
    assert "hw.py', which has more than 1 MB of code" in taken(path).problem


def end_record(data: bytes, size: int, offset: bytes, entries: int) -> bytes:
    """The data with another end record, and thus with the list that it tells of."""
    at = data.rfind(b"PK\x05\x06")
    count = entries.to_bytes(2, "little")
    end = b"PK\x05\x06\0\0\0\0" + count + count + size.to_bytes(4, "little") + offset + b"\0\0"
    return data[:at] + end


def test_a_long_list_of_entries_is_refused_behind_whatever_end_record(tmp_path):
    many = zipped(tmp_path / "m.zip", *((f"{'x' * 200}{i}", "") for i in range(5_000)))
    data, note = many.read_bytes(), bytes(60_000)
    many.write_bytes(data[:-2] + len(note).to_bytes(2, "little") + note)
    assert "is a zip with 5000 entries; at most 2000" in taken(many).problem
    at = data.rfind(b"PK\x05\x06")
    many.write_bytes(end_record(data, len(data) - at, b"PK\x05\x06", 5_000))
    assert taken(many).source is None


@pytest.mark.parametrize("kind", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_kind_of_compression_whose_memory_has_no_limit_is_not_read(kind, tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("hw.py", GOOD, compress_type=kind)
    assert "('hw.py' is packed in a way that is not read)" in taken(tmp_path / "a.zip").problem
    with zipfile.ZipFile(tmp_path / "a.zip", "a") as archive:
        archive.writestr("hw (1).py", GOOD, compress_type=zipfile.ZIP_STORED)
    assert taken(tmp_path / "a.zip").source == GOOD


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (GOOD.encode("utf-16-le"), "holds NUL bytes"),
        (b"\xff\xfe" + GOOD.encode("utf-16-le"), "is UTF-16 text: save it as UTF-8"),
        (b"\xfe\xff" + GOOD.encode("utf-16-be"), "is UTF-16 text: save it as UTF-8"),
        (b"x = 1\ny = 2\n# \xe4", "is not UTF-8 text (line 3): save it as UTF-8"),
    ],
)
def test_text_that_is_no_utf_8_is_told_by_file_and_line(data, problem, tmp_path):
    with pytest.raises(Unusable, match=re.escape(problem)):
        text_of(data)
    home = folder(tmp_path, hw__py=data)
    assert f"holds 'hw.py', which {problem}" in taken(home).problem


def test_the_line_ends_of_every_system_are_read(tmp_path):
    assert text_of(b"\xef\xbb\xbfa\rb\r\nc\n\n\rd\x0c") == "a\nb\nc\n\n\nd\x0c"


def test_the_digest_is_of_what_counts():
    """The digest is of the text; without a text of the problem, so that a mended file differs."""
    text = Handed("hw.py", GOOD, notes=("a",))
    assert text.digest == hashlib.sha256(GOOD.encode()).hexdigest()
    assert text.digest == Handed("b.py", GOOD).digest
    problems = {Handed(problem=p).digest for p in ("", "is empty", "is larger")}
    assert len(problems) == 3
    assert Handed(source="").digest == Handed(problem="").digest
    assert Handed(source="\ud800").digest  # a name on the disk may be no Unicode at all


def test_at_most_five_ignored_files_are_named(tmp_path):
    home = written(tmp_path, {"hw.py": GOOD} | {f"test_{i}.py": "" for i in range(5)})
    assert taken(home).notes == ("test_0.py, test_1.py, test_2.py, test_3.py, test_4.py: ignored",)
    (home / "test_5.py").touch()
    assert taken(home).notes[0].endswith("test_4.py and 1 more: ignored")


@pytest.mark.parametrize("name", ["a..b/hw.py", "hw..py", "ab:c/hw.py"])
def test_dots_and_colons_in_a_name_lead_nowhere(name, tmp_path):
    assert taken(zipped(tmp_path / "a.zip", (name, GOOD))).source is not None


def test_a_file_with_holes_in_a_tar_is_not_read(tmp_path):
    """It takes no room in the tar, so the limit of the tar would not stop two thousand of them."""
    info = link_in_tar("hw.py", tarfile.GNUTYPE_SPARSE, "")
    head = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    head[386:410] = b"00000000000\0" * 2  # nothing is there, at the beginning
    head[483:495] = b"00030000000\0"  # and 6 MB are told
    head[148:156] = b" " * 8
    head[148:156] = b"%06o\0 " % sum(head[:512])
    path = tmp_path / "a.tar"
    path.write_bytes(bytes(head) + bytes(1024))
    assert "'hw.py' is a link, a device or a file with holes" in taken(path).problem


def test_names_are_shown_on_one_line_and_cut():
    assert printable("a\nb\x1b[0mü") == "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}[0mü"
    assert printable("x" * 80) == "x" * 80
    assert printable("x" * 81) == "x" * 77 + "..."


def test_a_name_given_twice_counts_once(tmp_path):
    for number, text in enumerate((OTHER, GOOD)):
        (tmp_path / str(number)).write_text(text)
    handed = collect([("hw.py", tmp_path / "0"), ("hw.py", tmp_path / "1")], WANTED)
    assert (handed.source, handed.notes) == (GOOD, ("'hw.py' is there twice: the last one counts",))
    packed = tarred(tmp_path / "a.tar", ("hw.py", OTHER.encode()), ("hw.py", GOOD.encode()))
    assert taken(packed).source == GOOD
    assert taken(packed).notes == ("'a.tar/hw.py' is there twice: the last one counts",)


def test_a_file_that_is_gone_is_told(tmp_path):
    handed = collect([("hw.py", tmp_path / "gone.py")], WANTED)
    assert handed.problem == (
        "What you handed in holds no hw.py or hw.ipynb ('hw.py' cannot be opened (No such file or "
        "directory))"
    )
    assert handed.notes == ("'hw.py' cannot be opened (No such file or directory): ignored",)
    with pytest.raises(Unusable, match="cannot be opened"):
        read_regular(tmp_path / "gone.py", 100)
    (tmp_path / "six.py").write_bytes(b"123456")
    assert read_regular(tmp_path / "six.py", 6) == b"123456"


# --- files that are nearly what is asked for ------------------------------------------------------


@pytest.mark.parametrize("wanted", [Wanted(("hw",), ("fedavg",)), Wanted(("hw",))])
@pytest.mark.parametrize("empty", ["", "\n\n", "# Jane Doe, 12345\n"])
def test_an_empty_module_gives_way_to_a_notebook_where_no_stub_is_known(wanted, empty, tmp_path):
    home = written(tmp_path, {"hw.py": empty, "hw.ipynb": notebook(GOOD)})
    handed = collect([(home.name, home)], wanted)
    assert handed.file == "hw.ipynb"
    assert "'hw.py' holds no answer: 'hw.ipynb' counts" in handed.notes


@pytest.mark.parametrize("wanted", [Wanted(("hw",), ("fedavg",)), Wanted(("hw",))])
def test_a_module_with_an_answer_goes_before_a_notebook_where_no_stub_is_known(wanted, tmp_path):
    home = written(tmp_path, {"hw.py": GOOD, "hw.ipynb": notebook(OTHER)})
    assert collect([(home.name, home)], wanted).source == GOOD


@pytest.mark.parametrize(
    ("names", "told"),
    [
        (["hw.py.txt"], "but 'hw.py.txt': rename it"),
        (["data.csv", "hw.pyw"], "but 'hw.pyw': rename it"),
        (["hw.py~"], "but 'hw.py~': rename it"),
        (["hw.ipynb.json", "x.txt"], "but 'hw.ipynb.json': rename it"),
        (["a.docx", "b.pdf"], "but 'a.docx', 'b.pdf'"),
        (["a.txt", "b.txt", "c.txt", "d.txt"], "but 'a.txt', 'b.txt', 'c.txt' and 1 more"),
        (["a.pyw", "b.pyw"], "but 'a.pyw', 'b.pyw'"),
    ],
)
def test_what_is_there_instead_of_the_file_is_named(names, told, tmp_path):
    handed = taken(written(tmp_path, dict.fromkeys(names, GOOD)))
    assert handed.problem == f"What you handed in holds no hw.py or hw.ipynb {told}"


def test_a_module_may_say_that_it_is_in_an_old_coding(tmp_path):
    text = f"# coding: latin-1\nNAME = 'J\xf6rg'\n{GOOD}"
    handed = taken(folder(tmp_path, hw__py=text.encode("latin-1")))
    assert handed.source == text
    assert "read as latin-1, as it says; better save it as UTF-8" in handed.notes


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ("# coding: rot13\nx = '\xf6'".encode("latin-1"), "is not UTF-8 text (line 2)"),
        ("# coding: idna\nx = '\xf6'".encode("latin-1"), "is not UTF-8 text (line 2)"),
        ("# coding: nothing\nx = '\xf6'".encode("latin-1"), "is not UTF-8 text (line 2)"),
        ("# coding: isolated\nx = '\xf6'".encode("latin-1"), "is not UTF-8 text (line 2)"),
        (b"# coding: gbk\nx = '\xff'", "is no gbk text, as it says"),
        ("x = 1".encode("utf-32"), "is UTF-32 text"),
        ("x = 1".encode("utf-16"), "is UTF-16 text"),
    ],
)
def test_other_codings_are_refused_by_name(data, why):
    with pytest.raises(Unusable) as told:
        text_of(data)
    assert str(told.value) == f"{why}: save it as UTF-8"


def test_a_notebook_becomes_a_module_with_the_places_of_its_statements(tmp_path):
    handed = taken(folder(tmp_path, hw__ipynb=notebook("import re", GOOD)))
    head = "# a notebook with: fedavg"
    assert handed.source == f"{head}\n# cell 1, line 1\nimport re\n\n# cell 2, line 1\n{GOOD}"


def test_a_notebook_may_write_the_file_that_is_asked_for(tmp_path):
    handed = taken(folder(tmp_path, hw__ipynb=notebook(f"%%writefile hw.py\n{GOOD}")))
    assert GOOD.strip() in str(handed.source)

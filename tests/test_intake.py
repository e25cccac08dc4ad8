"""What students hand in: every packaging, and what is in it that should not count."""

import io
import json
import os
import stat
import tarfile
import time
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pytest

from fedlab_edu.grading.intake import Handed, Wanted, collect
from fedlab_edu.grading.unpack import Unusable, read_regular

GOOD = "def fedavg(states):\n    return states[0]\n"
OTHER = "def fedavg(states):\n    return None\n"
WANTED = Wanted(("hw",), ("fedavg",), "def fedavg(states):\n    raise NotImplementedError\n")


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
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
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
def full(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
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


def test_in_every_packaging_the_one_file_that_counts_is_found(full: dict[str, Path]) -> None:
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
        ("twice.zip", "'hw.py' is there twice: the last one counts"),
        ("case.zip", "HW.PY: ignored"),
        ("hostile", "conftest.py, numpy/__init__.py, sitecustomize.py, test_hw.py, torch.py"),
        ("named hw (1).py", "'hw (1).py' was taken for hw.py or hw.ipynb"),
        ("named homework.py", "'homework.py' was taken for hw.py or hw.ipynb"),
    ],
)
def test_what_was_left_out_is_told(name: str, note: str, full: dict[str, Path]) -> None:
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
            "'hw.py', which is larger than 8 MB",
        ),
        "zip in zip": (zipped(out / "zz.zip", ("hw.zip", good)), "unpack it once more"),
        "zip link": (zipped(out / "l.zip", (link_in_zip("hw.py"), str(secret))), "is a link"),
        "entries": (
            zipped(out / "many.zip", *((f"{i}.py", "") for i in range(2_500))),
            "2500 entries; at most 2000",
        ),
        "list": (
            zipped(out / "list.zip", *((f"{'x' * 200}{i}", "") for i in range(5_000))),
            "a very long list of entries",
        ),
        "truncated": (file("cut.zip", good[: len(good) // 2]), "did the upload break off?"),
        "no zip": (file("no.zip", b"hello"), "not a readable zip"),
        "password": (file("locked.zip", bytes(locked)), "a zip with a password"),
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
        "large": (file("large.py", b"#" * (20 << 20)), "larger than 1 MB"),
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


def test_where_nothing_can_be_graded_the_student_reads_why(tmp_path: Path) -> None:
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "hw.py").write_text(GOOD)
    for name, (path, message) in build_none(tmp_path).items():
        handed = taken(path)
        assert (name, handed.source) == (name, None)
        assert message in handed.problem
        assert "root:x" not in handed.problem + "".join(handed.notes)


def test_a_submission_that_is_a_link_or_a_pipe_itself_is_not_opened(tmp_path: Path) -> None:
    (tmp_path / "real.py").write_text(GOOD)
    (tmp_path / "alice.py").symlink_to(tmp_path / "real.py")
    os.mkfifo(tmp_path / "bob.py")
    assert "is a link" in taken(tmp_path / "alice.py").problem
    assert "is not an ordinary file" in taken(tmp_path / "bob.py").problem


def test_bombs_take_no_memory(tmp_path: Path) -> None:
    path = zipped(tmp_path / "bomb.zip", ("hw.py", GOOD), ("test_hw.py", bytes(60 << 20)))
    tracemalloc.start()
    assert taken(path).source == GOOD
    assert tracemalloc.get_traced_memory()[1] < 20e6
    tracemalloc.stop()


# --- modules and notebooks together -------------------------------------------------------------


def test_of_a_module_and_a_notebook_the_module_counts(tmp_path: Path) -> None:
    home = folder(tmp_path, hw__py=GOOD, hw__ipynb=notebook(OTHER))
    assert taken(home).source == GOOD
    assert "hw.ipynb: ignored" in taken(home).notes


def test_of_an_untouched_module_and_a_notebook_the_notebook_counts(tmp_path: Path) -> None:
    home = folder(tmp_path, hw__py=WANTED.stub, hw__ipynb=notebook(GOOD))
    assert GOOD.strip() in str(taken(home).source)
    assert "'hw.py' is as it was handed out: the notebook counts" in taken(home).notes


def test_a_notebook_that_is_none_is_explained(tmp_path: Path) -> None:
    home = folder(tmp_path, hw__ipynb="<<<<<<< HEAD\n{}")
    assert "has conflict markers of git: resolve the merge" in taken(home).problem


# --- made to do harm ------------------------------------------------------------------------------


def test_a_long_name_takes_no_longer_than_its_length(tmp_path: Path) -> None:
    """The time doubled with each digit: for sixty it would have been thirty thousand years."""
    name = f"hw{'1' * 60}x.py"
    path = zipped(tmp_path / "mallory.zip", (name, GOOD), (f"hw{'copy' * 16_000}x.py", GOOD))
    start = time.process_time()
    assert "2 files that could be meant" in taken(path).problem
    assert time.process_time() - start < 2


@pytest.mark.parametrize("name", ["hw2.py", "hw (1).py", "hw_final v2 copy(3).ipynb", "my-hw.py"])
def test_a_renamed_file_goes_before_any_other(name: str, tmp_path: Path) -> None:
    home = written(tmp_path, {name: notebook(GOOD) if "ipynb" in name else GOOD, "a.py": OTHER})
    assert GOOD.strip() in str(taken(home).source)


def test_notes_are_cut_in_number_and_length(tmp_path: Path) -> None:
    home = folder(tmp_path, hw__py=GOOD)
    for i in range(50):
        (home / f"{i}{'x' * 200}").symlink_to(home)
    notes = taken(home).notes
    assert len(notes) == 21
    assert notes[-1] == "and 30 more notes"
    long = "g" * 9_000
    (tmp_path / "n.ipynb").write_text(notebook(f"def {long}():\n    return 1", f"{long}.x = 1"))
    (note,) = collect([("n.ipynb", tmp_path / "n.ipynb")], Wanted(("n",), (long,))).notes
    assert len(note) == 300


def test_a_link_or_a_pipe_that_takes_the_place_of_a_file_is_not_read(tmp_path: Path) -> None:
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


def test_of_an_archive_only_what_could_be_handed_in_is_counted(tmp_path: Path) -> None:
    places = ("hw/.git/objects/{}", "hw/.venv/lib/{}.py", "venv/{}.py", "site-packages/x/{}.py")
    junk = [places[i % 4].format(i) for i in range(3_000)]
    path = zipped(tmp_path / "a.zip", *((name, "") for name in junk), ("hw/hw.py", GOOD))
    assert (taken(path).source, taken(path).notes) == (GOOD, ())
    packed = [(name, b"") for name in junk]
    path = tarred(tmp_path / "a.tar.gz", *packed, ("hw/hw.py", GOOD.encode()))
    assert taken(path).source == GOOD


def test_of_a_folder_only_what_could_be_handed_in_is_counted(tmp_path: Path) -> None:
    home = written(tmp_path, {"hw.py": GOOD, ".git/x.py": OTHER, "venv/hw.py": OTHER})
    for i in range(2_100):
        (home / f".{i}").touch()
    assert (taken(home).source, taken(home).notes) == (GOOD, ())


def test_a_notebook_that_is_called_a_module_is_read_as_a_notebook(tmp_path: Path) -> None:
    home = folder(tmp_path, hw__py="\n" + notebook(GOOD, "exit()"))
    handed = taken(home)
    assert GOOD.strip() in str(handed.source)
    assert "'hw.py' is a notebook, whatever its name says, and read as one" in handed.notes
    (home / "hw.py").write_text('{"cells"')
    assert "is not a notebook (no JSON" in taken(home).problem

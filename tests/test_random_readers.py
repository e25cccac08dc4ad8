"""Random rosters, archives and notebooks are read as written; damaged ones are read or refused."""

import csv
import io
import json
import tarfile
import zipfile
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedlab_grade.classroom.intake import Wanted, collect
from fedlab_grade.classroom.roster import read_roster, read_table
from fedlab_grade.notebook import convert
from fedlab_grade.notebook.load import load
from fedlab_grade.options import Refusal
from fedlab_grade.textfile import Unusable
from tests.fuzz import fuzz

pytestmark = pytest.mark.grader

text = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8)
cell = text | st.sampled_from(["", "a,b", 'say "a"', "a;b", "a\nb", "=1+1", " ", "\ufeff", "1E+9"])
plain = st.from_regex(r"[A-Za-z0-9 ]{1,8}", fullmatch=True).filter(str.strip)
changes = st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), max_size=4)
WANTED = Wanted(("hw",), ("f", "g"))


def damaged(data: bytes, places: list[tuple[int, int]], cut: int | None) -> bytes:
    out = bytearray(data)
    for place, byte in places:
        out[place % len(out)] = byte
    return bytes(out if cut is None else out[: cut % len(out)])


@fuzz(10)
@given(
    st.lists(plain, min_size=2, max_size=4), st.lists(st.lists(cell, max_size=4), max_size=5),
    st.sampled_from(",;\t"), st.sampled_from(["\n", "\r\n"]), st.booleans(), st.booleans(),
)  # fmt: skip
def test_a_table_has_the_cells_that_a_spreadsheet_wrote(head, rows, between, end, marked, quoted):
    rows = [row[: len(head)] for row in rows]
    out = io.StringIO()
    quoting = csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL
    csv.writer(out, delimiter=between, lineterminator=end, quoting=quoting).writerows([head, *rows])
    with TemporaryDirectory() as folder:
        path = Path(folder) / "roster.csv"
        path.write_bytes(out.getvalue().encode("utf-8-sig" if marked else "utf-8"))
        found, seen = read_table(path)
    assert seen == between
    full = [row for row in rows if any(map(str.strip, row))]
    wanted = [[*row, *[""] * len(head)][: len(head)] for row in [head, *full]]
    assert [row for _, row in found] == wanted


@fuzz(10)
@given(st.lists(text | plain, min_size=1, max_size=6), changes, st.none() | st.integers(0, 999))
def test_students_of_a_roster_are_those_of_its_rows_and_a_damaged_one_is_read_or_refused(
    names, places, cut
):
    out = io.StringIO()
    rows = [[name, f"s{i}"] for i, name in enumerate(names)]
    csv.writer(out).writerows([["name", "student id"], *rows])
    data = out.getvalue().encode()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "roster.csv"
        path.write_bytes(data)
        assert [one.ids for one in read_roster(path)] == [(f"s{i}",) for i in range(len(names))]
        path.write_bytes(damaged(data, places, cut))
        with suppress(Refusal):
            found = read_roster(path)
            assert len({one.key for one in found}) == len(found)


def packed(files: dict[str, bytes], kind: str) -> bytes:
    out = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in files.items():
                archive.writestr(name, data)
    else:
        with tarfile.open(fileobj=out, mode="w:gz" if kind == "tar.gz" else "w") as tar:
            for name, data in files.items():
                entry = tarfile.TarInfo(name)
                entry.size = len(data)
                tar.addfile(entry, io.BytesIO(data))
    return out.getvalue()


@fuzz(40)
@given(
    st.sampled_from(["zip", "tar", "tar.gz"]), st.sampled_from(["", "a/", "a/b/", "Ann Doe/"]),
    st.dictionaries(st.sampled_from(["data.csv", "a/x.txt", "README.md"]), st.binary(max_size=50)),
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=30), changes,
    st.none() | st.integers(0, 9999),
)  # fmt: skip
def test_an_archive_gives_the_file_that_was_packed_and_a_damaged_one_is_read_or_refused(
    kind: str, folder: str, others: dict[str, bytes], note: str,
    places: list[tuple[int, int]], cut: int | None,
) -> None:  # fmt: skip
    source = f"# {note}\ndef f(x):\n    return x\n\n\ndef g(x):\n    return 2 * x\n"
    data = packed({**others, f"{folder}hw.py": source.encode()}, kind)
    with TemporaryDirectory() as place:
        path = Path(place) / f"handed.{kind}"
        path.write_bytes(data)
        handed = collect([(path.name, path)], WANTED)
        assert (handed.source, handed.problem) == (source, "")
        path.write_bytes(damaged(data, places, cut))
        handed = collect([(path.name, path)], WANTED)
    assert (handed.source is None) == handed.problem.startswith("What you handed in ")
    if kind != "tar":  # whose contents have no checksum
        assert handed.source in (None, source)


JUNK = [
    "%matplotlib inline", "!ls", "import math", "f(", "print('x')", "1 / 0", "x = [", "", "y = f",
    "%%html\n<b>x</b>", "while True:\n    pass", "def h():\n    raise", "?f", "'''",
]  # fmt: skip


@fuzz(40)
@given(
    st.permutations(["f", "g", "k"]), st.lists(st.sampled_from(JUNK), min_size=4, max_size=4),
    st.integers(-99, 99), st.sampled_from(["%%time\n", "%pip install x\n", "", "# %%\n"]),
    st.booleans(), changes, st.none() | st.integers(0, 9999),
)  # fmt: skip
def test_answers_of_a_notebook_are_what_its_cells_define_and_a_damaged_one_is_read_or_refused(
    order: list[str], junk: list[str], K: int, magic: str, lines: bool,
    places: list[tuple[int, int]], cut: int | None,
) -> None:  # fmt: skip
    cells = {"f": f"{magic}def f(x):\n    return x + K", "g": "def g(x):\n    return 2 * f(x)",
             "k": f"K = {K}"}  # fmt: skip
    sources = [part for pair in zip(junk, [cells[n] for n in order], strict=False) for part in pair]
    notebook = {"cells": [{"cell_type": "code", "metadata": {}, "outputs": [],
                           "source": s.splitlines(keepends=True) if lines else s}
                          for s in [*sources, junk[-1]]]}  # fmt: skip
    whole, made = json.dumps(notebook), ModuleType("student_hw")
    load(made, convert(whole, ("f", "g")).source, "hw.py")
    assert [made.f(3), made.g(3)] == [3 + K, 2 * (3 + K)]
    broken = damaged(whole.encode(), places, cut).decode("utf-8", "replace")
    with suppress(Unusable):
        compile(convert(broken, ("f", "g")).source, "hw.py", "exec")

"""A chapter's notebook reads well where MyST's roles and directives are not known."""

import re
import sys
from pathlib import Path

import jupytext
import nbclient
import nbformat
import pytest

BOOK = Path(__file__).parents[1] / "book"
sys.path.insert(0, str(BOOK / "_ext"))
from notebooks import SETUP, Book, convert, plain  # noqa: E402

CHAPTERS = [
    pytest.param(path.stem, marks=[] if "ch10" in path.stem else [pytest.mark.nightly])
    for path in sorted(BOOK.glob("ch*_[!m]*.md"))
]
GLUED = {"gain": "1.25", "best": "'row 3'"}
PAIRS = {
    "{glue:text}`gain`": "1.25",
    "{glue:text}`gain:+.1f` points": "+1.2 points",
    "{glue:text}`best`": "row 3",
    "{cite:t}`khodak2021` say": "Khodak et al. (2021) say",
    "so {cite:p}`holm1979,mcmahan2017`": "so (Holm, 1979; McMahan et al., 2017)",
    "{doc}`ch04_fedex`": "Tuning while training",
    "{doc}`chapter 4 <ch04_fedex>`": "chapter 4",
    "{prf:ref}`alg-fedex`": "FedEx",
    "(label)=\n## Title": "## Title",
    "```{math}\n:label: eq-a\n\na = b\n```": "$$\na = b\n$$",
    "::::{admonition} Note\n:class: tip\n\n```{math}\na\n```\n\n::::": "**Note**\n\n$$\na\n$$",
    "```python\nx = {1}\n```": "```python\nx = {1}\n```",
}


@pytest.fixture(scope="module")
def book():
    return Book(BOOK)


@pytest.mark.parametrize("myst", PAIRS)
def test_roles_and_directives_become_plain_markdown(book, myst):
    assert plain(myst, GLUED, book) == PAIRS[myst]


def test_an_included_solution_is_its_function(book):
    text = (
        "```{literalinclude} ../solutions/ex10_tables.py\n:language: python\n:pyobject: holm\n```"
    )
    shown = plain(text, {}, book)
    assert shown.startswith("```python\ndef holm(p: list[float])")
    assert "return corrected" in shown


def test_removed_cells_are_left_out_and_folded_ones_collapsed(book):
    new = nbformat.v4
    cells = [
        new.new_code_cell("a = 1", metadata={"tags": ["remove-cell"]}),
        new.new_code_cell("b = 2", metadata={"tags": ["remove-input"]}),
        new.new_code_cell("c = 3", metadata={"mystnb": {"figure": {"caption": "A\nline."}}}),
    ]
    found = convert(new.new_notebook(cells=cells), {}, book, {"R": r"\mathbb{R}"}).cells
    assert [cell.source for cell in found] == [
        r"$\newcommand{\R}{\mathbb{R}}$", SETUP, "b = 2", "c = 3", "*A line.*",
    ]  # fmt: skip
    assert found[2].metadata["jupyter"] == {"source_hidden": True}
    assert "jupyter" not in found[3].metadata


def test_a_notebook_finds_the_records_beside_it_above_it_and_of_the_project(tmp_path, monkeypatch):
    here = tmp_path / "downloads/deep"
    here.mkdir(parents=True)
    monkeypatch.chdir(here)
    exec(SETUP, {})
    assert Path.cwd() == BOOK  # of the project from which the package is
    for folder in (tmp_path / "downloads", here):
        (folder / "records").mkdir()
        (folder / "records/live-curves.json").touch()
        monkeypatch.chdir(here)
        exec(SETUP, {})
        assert Path.cwd() == folder


def test_a_notebook_without_records_says_where_they_belong(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("fedlab_edu.__file__", str(tmp_path / "fedlab_edu/__init__.py"))
    with pytest.raises(AssertionError, match="put the folder `records` of the book beside"):
        exec(SETUP, {})


@pytest.mark.long
@pytest.mark.processes
@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_downloaded_chapter_runs_in_any_folder(book, chapter, tmp_path):
    source = jupytext.read(BOOK / f"{chapter}.md")
    notebook = convert(source, dict.fromkeys(glued(chapter), "0"), book, {})
    where = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=300, resources=where).execute()


def glued(chapter):
    text = (BOOK / f"{chapter}.md").read_text(encoding="utf-8")
    return re.findall(r"\{glue:text\}`([\w-]+)", text)

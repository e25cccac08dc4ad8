"""A chapter's notebook reads well where MyST's roles and directives are not known."""

import sys
from pathlib import Path

import nbformat
import pytest

BOOK = Path(__file__).parents[1] / "book"
sys.path.insert(0, str(BOOK / "_ext"))
from notebooks import Book, convert, plain  # noqa: E402

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
def book() -> Book:
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
        r"$\newcommand{\R}{\mathbb{R}}$", "b = 2", "c = 3", "*A line.*",
    ]  # fmt: skip
    assert found[1].metadata["jupyter"] == {"source_hidden": True}
    assert "jupyter" not in found[2].metadata

"""The chapters' sources: what a reader sees of their code."""

import re
from pathlib import Path

import pytest

CHAPTERS = sorted((Path(__file__).parents[1] / "book").glob("*.md"))
CELL = re.compile(r"```\{code-cell\}[^\n]*\n((?::[^\n]*\n)*)(.*?)```", re.DOTALL)


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_a_line_of_a_shown_cell_has_at_most_80_columns(chapter: Path) -> None:
    long = [
        line
        for tags, code in CELL.findall(chapter.read_text(encoding="utf-8"))
        if "hide-" not in tags and "remove-" not in tags
        for line in code.splitlines()
        if len(line) > 80
    ]
    assert long == []

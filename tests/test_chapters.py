"""The chapters' sources: what a reader sees of their code."""

import json
import re
from collections import defaultdict
from pathlib import Path

import pytest

BOOK = Path(__file__).parents[1] / "book"
CHAPTERS = sorted(BOOK.glob("*.md"))
COMMAND = re.compile(
    r"fedlab-edu reproduce (\S+) --dataset (\S+) --seeds (\d+) --folder book/records"
)
COMMANDS = [found for page in CHAPTERS for found in COMMAND.findall(page.read_text("utf-8"))]
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


@pytest.mark.parametrize(("experiment", "data", "seeds"), COMMANDS)
def test_a_printed_command_made_the_record_that_the_chapter_reads(
    experiment: str, data: str, seeds: str
) -> None:
    found: defaultdict[str, set[int]] = defaultdict(set)
    text = (BOOK / "records" / f"{experiment}-{data}-book.jsonl").read_text("utf-8")
    for record in map(json.loads, text.splitlines()):
        found[record["variant"]].add(record["seed"])
    assert {frozenset(each) for each in found.values()} == {frozenset(range(int(seeds)))}

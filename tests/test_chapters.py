"""The chapters' sources: the form of a reader's path, and what a reader sees of the code."""

import ast
import json
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import jupytext
import pytest
import yaml

BOOK = Path(__file__).parents[1] / "book"
CHAPTERS = sorted(BOOK.glob("*.md"))
MORE = [page.stem for page in CHAPTERS if page.stem.endswith("_more")]
#: Readers' paths: the chapters that have a companion page for researchers, `chNN_more.md`.
PATHS = [
    page.stem
    for page in CHAPTERS
    if page.stem not in MORE and f"{page.stem.partition('_')[0]}_more" in MORE
]
SHOWING = [page for page in CHAPTERS if re.search(r"\bshow\(", page.read_text("utf-8"))]
COMMAND = re.compile(
    r"fedlab-edu reproduce (\S+)(?: --scale (\S+))? --dataset (\S+)(?: --data FOLDER)?"
    r" --seeds (\d+) --folder book/(records(?:/curves)?)\b"
)
PRINTED = re.sub(r"\\\n +", "", "\n".join(page.read_text("utf-8") for page in CHAPTERS))
COMMANDS = COMMAND.findall(PRINTED)
CELL = re.compile(r"^```\{code-cell\}[^\n]*\n(.*?)^```$", re.M | re.S)
FENCE = re.compile(r"^(`{3,}|:{3,})\{(?!admonition|exercise).*?^\1$", re.M | re.S)
RIDDLES = ["nobody", "somebody", "whoever", "anew"]
AMERICAN = r"\w*(?:[^aeiou\W]ize[ds]?|izing|ization|color|behavior|center)\b"


class Cell(NamedTuple):
    """A code cell: the tags and metadata of its head, and its code."""

    tags: list[str]
    meta: dict[str, Any]
    code: str


def cells(text: str) -> list[Cell]:
    found = []
    for body in CELL.findall(text):
        meta: dict[str, Any] = {}
        if body.startswith("---\n"):
            head, body = body[4:].split("\n---\n", 1)
            meta = yaml.safe_load(head)
        while body.startswith(":"):
            line, body = body.split("\n", 1)
            key, _, value = line[1:].partition(":")
            meta[key] = yaml.safe_load(value)
        found.append(Cell(meta.get("tags", []), meta, body))
    return found


def folded(cell: Cell) -> bool:
    return any(tag.startswith("hide-") for tag in cell.tags)


def removed(cell: Cell) -> bool:
    return any(tag.startswith("remove-") for tag in cell.tags)


def prose(text: str) -> str:
    """Return a page's text without its head, code, formulas, directives and their options."""
    text = FENCE.sub(" ", text.split("---\n", 2)[2])
    text = re.sub(r"^```.*?^```$|^\$\$.*?\$\$$", " ", text, flags=re.M | re.S)
    return re.sub(r"^(`{3,}|:{3,}|:\w+:).*$", "", text, flags=re.M)


def source(name: str) -> str:
    return (BOOK / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_a_line_of_a_shown_cell_has_at_most_80_columns(chapter):
    long = [
        line
        for cell in cells(chapter.read_text(encoding="utf-8"))
        if not removed(cell)
        for line in cell.code.splitlines()
        if len(line) > 80
    ]
    assert long == []


def imported(every: list[Cell]) -> dict[str, Any]:
    """Return what the imports of a page's cells give."""
    names: dict[str, Any] = {}
    for cell in every:
        for node in ast.parse(cell.code).body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                exec(compile(ast.Module([node], []), "cell", "exec"), names)
    return names


@pytest.mark.parametrize("chapter", SHOWING, ids=lambda path: path.stem)
def test_source_on_show_has_at_most_80_columns(chapter):
    every = cells(chapter.read_text(encoding="utf-8"))
    names = imported(every)
    calls = [
        node
        for cell in every
        for node in ast.walk(ast.parse(cell.code))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "show"
    ]
    assert calls
    for call in calls:
        text = eval(compile(ast.Expression(call), "cell", "eval"), names).data
        listing = text.partition("```python\n")[2]
        assert [line for line in listing.splitlines() if len(line) > 80] == []


@pytest.mark.parametrize("page", sorted(BOOK.rglob("*.md")), ids=lambda page: page.stem)
def test_python_in_a_page_has_at_most_80_columns(page):
    listings = re.findall(r"^```python\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S)
    lines = [line for listing in listings for line in listing.splitlines()]
    assert [line for line in lines if len(line) > 80] == []


@pytest.mark.parametrize("solution", sorted(BOOK.glob("../solutions/*.py")), ids=lambda p: p.stem)
def test_a_function_of_a_solution_has_at_most_80_columns(solution):
    lines = solution.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if len(line) > 80 and not line.startswith("#")] == []


@pytest.mark.parametrize("name", PATHS)
def test_the_visible_cells_of_a_path_need_none_of_the_folded_or_removed_ones(name):
    every = cells(source(name))
    assert len(every) == source(name).count("{code-cell}")
    shown = [cell for cell in every if not removed(cell)]
    for chosen in (shown, [cell for cell in shown if not folded(cell)]):
        code = "\n".join(cell.code for cell in chosen)
        ruff = [sys.executable, "-m", "ruff", "check", "--isolated", "--select=F821", "-q", "-"]
        found = subprocess.run(ruff, input=code, capture_output=True, text=True, timeout=60)
        assert found.stdout + found.stderr == ""


@pytest.mark.nightly
@pytest.mark.parametrize("name", PATHS)
def test_the_visible_cells_of_a_path_run_alone(name):
    visible = [cell.code for cell in cells(source(name)) if not (folded(cell) or removed(cell))]
    code = "display = print\n" + "\n".join(visible)
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-"], input=code, text=True, cwd=BOOK, capture_output=True
    )
    assert ran.returncode == 0, ran.stderr[-2000:]


@pytest.mark.parametrize("name", PATHS)
def test_a_reader_guesses_before_the_figure_with_the_results(name):
    figures = [part for part in re.split("^## ", source(name), flags=re.M) if "name: fig-" in part]
    before, _, _ = figures[-1].partition("name: fig-")
    assert re.search(r"^choice\($", before, re.M)


def test_a_quiz_is_written_in_html_and_not_in_markdown():
    codes = [cell.code for page in CHAPTERS for cell in cells(page.read_text("utf-8"))]
    quizzes = [
        node
        for code in codes
        if re.search(r"^choice\($", code, re.M)
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "choice"
    ]
    words = [
        re.sub(r"\$[^$]*\$", "", text.value)
        for quiz in quizzes
        for text in ast.walk(quiz)
        if isinstance(text, ast.Constant) and isinstance(text.value, str)
    ]
    assert len(quizzes) > 30
    assert [text for text in words if re.search(r"\*|`", text)] == []


@pytest.mark.parametrize("name", [*MORE, "engine"])
def test_each_figure_with_controls_has_a_name_and_a_caption(name):
    for cell in cells(source(name)):
        if re.search(r"^frames\(", cell.code, re.M):
            assert set(cell.meta["mystnb"]["figure"]) >= {"name", "caption"}


@pytest.mark.parametrize("name", PATHS)
def test_each_figure_of_a_path_has_a_name_a_caption_and_an_alternative_text(name):
    for cell in cells(source(name)):
        for call in re.findall(r"^picture\((.*)", cell.code, re.M):
            assert set(cell.meta["mystnb"]["figure"]) >= {"name", "caption"}
            assert "," in call  # picture(fig, alt)
    for options in re.findall(r"^```\{live\} \S+\n(.*?)^```$", source(name), re.M | re.S):
        assert ":check:" in options or ":caption:" in options


@pytest.mark.parametrize("name", PATHS)
def test_a_path_is_short_and_has_the_parts_of_the_form(name):
    text = source(name)
    assert 1500 <= len(prose(text).split()) <= 2500
    for part in (
        ":::{admonition} In this chapter you will\n:class: tip", "**You need**", "**Time:**",
        "\n## Five takeaways\n", "\n## Check yourself\n", "```{exercise}", "\n## For researchers\n",
    ):  # fmt: skip
        assert text.count(part) == 1, part
    assert f"ch{name[2:4]}_more" in text.rpartition("\n## For researchers\n")[2]
    takeaways = text.partition("\n## Five takeaways\n")[2].partition("\n## ")[0]
    assert re.findall(r"^\d\. \*\*", takeaways, re.M) == [f"{i}. **" for i in range(1, 6)]
    toc = (BOOK / "_toc.yml").read_text(encoding="utf-8")
    assert f"- file: {name}\n        sections:\n          - file: ch{name[2:4]}_more\n" in toc


@pytest.mark.parametrize("name", MORE)
def test_a_companion_page_says_how_long_it_is(name):
    text = source(name)
    (minutes,) = re.findall(r"\*\*Time:\*\* about (\d+) minutes for all of it\.", text)
    usual = len(prose(text).split()) / 75  # words a minute, formulas and figures between them
    print(f"{name}: {75 * usual:.0f} words, {minutes} minutes")
    assert abs(int(minutes) - usual) <= 5 + usual / 5


@pytest.mark.parametrize("name", PATHS)
def test_a_path_types_no_result_and_uses_plain_british_words(name):
    words = re.sub(r"`[^`]*`|\$[^$]*\$", " ", prose(source(name)))
    assert re.findall(r"\d\.\d+ ?(?:%|points?\b|percent)", words) == []
    assert re.findall(rf"\b(?:{'|'.join(RIDDLES)})\b", words, re.I) == []
    assert [word for word in re.findall(AMERICAN, words) if "size" not in word] == []


def test_each_printed_command_that_makes_a_record_is_read():
    assert len(COMMANDS) == len(re.findall(r"^fedlab-edu reproduce .*--folder ", PRINTED, re.M))


def test_no_page_waits_for_a_record():
    assert re.findall(r"record[^.]{0,80}\byet\b|\bnot there yet\b", PRINTED) == []


@pytest.mark.parametrize(("experiment", "scale", "data", "seeds", "folder"), COMMANDS)
def test_a_printed_command_made_the_record_that_the_chapter_reads(
    experiment, scale, data, seeds, folder
):
    found: defaultdict[str, set[int]] = defaultdict(set)
    text = (BOOK / folder / f"{experiment}-{data}-{scale or 'book'}.jsonl").read_text("utf-8")
    for record in map(json.loads, text.splitlines()):
        found[record["variant"]].add(record["seed"])
    assert {frozenset(each) for each in found.values()} == {frozenset(range(int(seeds)))}


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_saving_a_page_in_jupyterlab_keeps_its_settings(chapter):
    text = chapter.read_text(encoding="utf-8")
    if not text.startswith("---\njupytext:"):
        return  # a page without cells
    head = yaml.safe_load(text.split("---\n", 2)[1])
    saved = jupytext.writes(jupytext.reads(text, fmt="md:myst"), fmt="md:myst")
    assert yaml.safe_load(saved.split("---\n", 2)[1]).get("mystnb") == head.get("mystnb")


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_a_page_names_each_glued_value_once(chapter):
    calls = [
        node
        for cell in cells(chapter.read_text("utf-8"))
        for node in ast.walk(ast.parse(re.sub(r"^[%!].*$", "", cell.code, flags=re.M)))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    ]
    kept = [word.arg for call in calls if call.func.id == "keep" for word in call.keywords]
    glued = [call.args[0] for call in calls if call.func.id == "glue"]
    names = [arg.value for arg in glued if isinstance(arg, ast.Constant)]
    names += [name for name in kept if name is not None]
    assert sorted(names) == sorted({*names})

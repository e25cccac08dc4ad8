"""The page *Paper by paper* names what exists: code, sections, questions, experiments, records."""

import json
import re
import tomllib
from collections import defaultdict
from pathlib import Path
from pkgutil import resolve_name

import pytest

from fedlab_edu.papers.reproduce import EXPERIMENTS

BOOK = Path(__file__).parents[1] / "book"
RECORDS = BOOK / "records"
PAGE = (BOOK / "papers.md").read_text(encoding="utf-8")
PAGES = {page.stem: page.read_text(encoding="utf-8") for page in BOOK.glob("*.md")}
NAMED = re.findall(r"`([a-z][\w./-]+)` \((\d+)(?: to (\d+))?\)", PAGE)


def path(name: str) -> Path:
    """Return the file of a record; a name without a scale is of the book's."""
    scale = "" if name.endswith(("-middle", "-paper")) else "-book"
    return RECORDS / f"{name}{scale}.jsonl"


@pytest.mark.parametrize("name", sorted({*re.findall(r"\{py:obj\}`~([\w.]+)`", PAGE)}))
def test_each_name_of_code_is_defined_where_the_page_says(name):
    found = resolve_name(name)
    assert name == f"{found.__module__}.{found.__qualname__}"


def test_each_section_algorithm_and_citation_exists():
    every = "\n".join(PAGES.values())
    for kind, label in re.findall(r"\{(ref|prf:ref|doc|cite:t)\}`([\w-]+)`", PAGE):
        if kind == "doc":
            assert label in PAGES
        elif kind == "cite:t":
            assert f"{{{label}," in (BOOK / "references.bib").read_text(encoding="utf-8")
        else:
            mark = f"\n({label})=\n" if kind == "ref" else f"\n:label: {label}\n"
            assert every.count(mark) == 1, label


def test_each_question_exists():
    hints = Path(__file__).parent / "exercises" / "hints"
    for question in {*re.findall(r"\bex\d\d\.\d\b", PAGE)}:
        assert question in tomllib.loads((hints / f"{question[:4]}.toml").read_text("utf-8"))


@pytest.mark.parametrize(("name", "least", "most"), NAMED)
def test_each_record_has_the_seeds_that_the_page_says(name, least, most):
    seeds: defaultdict[str, set[int]] = defaultdict(set)
    for record in map(json.loads, path(name).read_text("utf-8").splitlines()):
        seeds[record["variant"]].add(record["seed"])
    counts = {len(found) for found in seeds.values()}
    assert {min(counts), max(counts)} == {int(least), int(most or least)}
    assert all(found == {*range(len(found))} for found in seeds.values())


def test_each_record_and_each_experiment_is_on_the_page():
    assert {path(name) for name, *_ in NAMED} == {*RECORDS.rglob("*.jsonl")}
    assert [name for name in EXPERIMENTS if f"`{name}" not in PAGE] == []


@pytest.mark.parametrize("path", sorted(RECORDS.glob("curves/*")), ids=lambda path: path.stem)
def test_runs_made_again_for_their_curves_are_those_of_the_record_without_up_to_rounding(path):
    first, again = (
        {(r["variant"], r["seed"]): r for r in map(json.loads, text.splitlines())}
        for text in ((RECORDS / path.name).read_text("utf-8"), path.read_text("utf-8"))
    )
    assert again.keys() == {key for key, run in first.items() if "curve" not in run}
    near = 0
    for key, run in again.items():
        assert run["budget"] == first[key]["budget"]
        end, target = run["curve"][-1], key[0].rpartition(", ")[2]
        assert end[0] == run["rounds"]
        assert target not in run or end[1] == round(run[target], 4)
        near += all(abs(run[t] - first[key][t]) < 1e-4 for t in ("global", "personalised"))
    assert near > 0.8 * len(again)  # the others' training is chaotic

"""A notebook becomes the module that its author would have written."""

import json
import math

import pytest

from fedlab_edu.grading.notebook import Module, NotANotebook, convert, convert_apart

GOOD = "def fedavg(states):\n    return states[0]"


def cells(*sources: str | tuple[str, str]) -> str:
    """A notebook with these code cells; a pair is (kind, source)."""
    pairs = [s if isinstance(s, tuple) else ("code", s) for s in sources]
    return json.dumps({"cells": [{"cell_type": k, "source": s} for k, s in pairs]})


def values(module: Module) -> dict[str, object]:
    """What the module defines."""
    out: dict[str, object] = {}
    exec(module.source, out)
    out.pop("__builtins__")
    return out


def answer(*sources: str | tuple[str, str]) -> object:
    """What fedavg([3]) of the notebook returns."""
    return values(convert(cells(*sources)))["fedavg"]([3])  # type: ignore[operator]


@pytest.mark.parametrize(
    "sources",
    [
        (GOOD,),
        ("import torch", GOOD, "fedavg([1])"),
        ("%matplotlib inline\n!pip install torch\n" + GOOD, "fedavg?", "%%html\n<b>x</b>"),
        ("files = !ls\n" + GOOD,),
        ("%%time\n" + GOOD,),
        (GOOD, "while True:\n    pass", "exit()", "import sys\nsys.exit(0)"),
        (GOOD, "def fedavg(states)\n    return 4"),
        (GOOD, "out = fedavg([1])", "out + 1", "y = out", "z = y.shape", "print(z)"),
        ("def fedavg(states):\n    return 4", GOOD),
        (GOOD, "get_ipython().ast_transformers.append(4)", "import torch\ntorch.allclose = all"),
        (GOOD, ("markdown", "def fedavg(states):\n    return 4")),
        ("FIRST = 0", "def fedavg(states):\n    return states[FIRST]"),
        ("FIRST: int = 0", "def fedavg(states, first=FIRST):\n    return states[first]"),
        ("fedavg = lambda states: sorted(states)[0]",),
        ("class M:\n    def of(self, x):\n        return x[0]", "fedavg = lambda s: M().of(s)"),
        ("import functools\n@functools.cache\ndef f(x):\n    return x", "fedavg = lambda s: f(*s)"),
    ],
)  # fmt: skip
def test_experiments_magics_and_broken_cells_do_no_harm(sources: tuple[str, ...]) -> None:
    assert answer(*sources) == 3


def test_a_percent_sign_at_the_beginning_of_a_continued_line_is_no_magic() -> None:
    assert values(convert(cells("x = (7\n% 4)")))["x"] == 3


def test_old_notebooks_and_lists_of_lines_are_read() -> None:
    old = {"worksheets": [{"cells": [{"cell_type": "code", "input": GOOD.splitlines(True)}]}]}
    assert values(convert(json.dumps(old))).keys() == {"fedavg"}


@pytest.mark.parametrize(
    ("sources", "note"),
    [
        ((GOOD, GOOD), r"fedavg is defined twice (cells 1 and 2): the last one counts"),
        ((("markdown", GOOD),), "cell 1: fedavg stands in a markdown cell, so it does not count"),
        (("def fedavg(:\n",), "cell 1, line 1: the cell is not Python (invalid syntax)"),
        (("<<<<<<< HEAD\n" + GOOD,), "the cell has conflict markers of git"),
        (("x = 1",), "no code cell defines fedavg"),
        (
            ("from random import random\nr = random()", "def fedavg(s):\n    return r * s[0]"),
            "cell 2 needs r, which cell 1 computes",
        ),
    ],
)
def test_what_may_surprise_is_told(sources: tuple[str, ...], note: str) -> None:
    assert note in "\n".join(convert(cells(*sources), ["fedavg"]).notes)


def test_a_plain_notebook_needs_no_notes() -> None:
    assert convert(cells("import torch", GOOD, "fedavg([1])"), ["fedavg"]).notes == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no json", "no JSON at line 1"),
        ("<<<<<<< HEAD\n{}", "conflict markers of git"),
        ("[]", "it has no cells"),
        ('{"cells": 3}', "it has no cells"),
        ('{"worksheets": 3}', "it has no cells"),
        ("[" * 100_000, "nested too deeply|no JSON"),
    ],
)
def test_what_is_no_notebook_is_refused(text: str, message: str) -> None:
    for read in (convert, convert_apart):
        with pytest.raises(NotANotebook, match=message):
            read(text)


@pytest.mark.parametrize(
    "source",
    [
        "x = " + "(" * 5_000,
        "x = " + "-" * 300_000 + "1",
        "x = " + "a." * 100_000 + "b",
        "x = [" * 50_000,
        "x = 1" + " + 1" * 100_000,
        "\ud800",
        "\0",
    ],
    ids=["brackets", "minus", "dots", "lists", "sum", "surrogate", "zero"],
)
def test_a_cell_made_to_break_the_parser_breaks_nothing_else(source: str) -> None:
    try:
        told = convert_apart(cells(source, GOOD), ["fedavg"]).source
    except NotANotebook as error:
        told = str(error)
    assert GOOD in told or "too deeply nested or too large" in told


def test_apart_and_here_come_to_the_same() -> None:
    text = cells("import torch", GOOD, GOOD, "x = 3", "print(x)", "größe = 'ä'")
    assert convert_apart(text, ["fedavg"]) == convert(text, ["fedavg"])


def test_a_stored_script_is_left_in_the_notebook() -> None:
    stored = {"cell_type": "code", "source": GOOD, "outputs": [{"text/html": "<script>"}]}
    assert "script" not in convert(json.dumps({"cells": [stored]})).source


# --- how lines and statements are cut out ---------------------------------------------------------


@pytest.mark.parametrize("odd", ["\u2028", "\u2029", "\x0c", "\x0b", "\x85", "\x1c"])
def test_what_only_looks_like_the_end_of_a_line_is_none(odd: str) -> None:
    assert answer(f"# copied{odd}comment\n{GOOD}") == 3


def test_a_form_feed_before_a_function_does_no_harm() -> None:
    assert answer(f"\x0c\n{GOOD}") == 3


def test_an_old_macs_lines_are_lines() -> None:
    assert answer("FIRST = 0\r" + GOOD.replace("\n", "\r")) == 3


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("import os; os._exit(3)", ["import os"]),
        ("data = open('mydata.csv').read(); import os", ["import os"]),
        ("ä = 'ü'; exit(); b = [1,\n 2]; exit()", ["ä = 'ü'", "b = [1,\n 2]"]),
        ("a = 1; b = 2", ["a = 1", "b = 2"]),
        ("a = 1;", ["a = 1"]),
    ],
)
def test_of_a_line_with_semicolons_each_statement_counts_by_itself(
    line: str, kept: list[str]
) -> None:
    parts = convert(cells(line)).source.strip().split("\n\n")
    assert [part.partition("\n")[2] for part in parts] == kept


def test_a_future_import_stands_above_all_else() -> None:
    source = f"from __future__ import annotations\n{GOOD}\nx: nowhere = 3"
    assert answer("import math\nFIRST = 0", source) == 3


@pytest.mark.parametrize(
    "line",
    ["x = 1 / 0", "x = 'a' + 1", "a, b = 1, 2, 3", "import math\nx = math.nothing",
     "x: nothing = 3", "a = 1 / 0\nx = a", "x = 1\nx += 'a'", "x = {[]: 3}",
     'x = 1 / (\n"""\n  a""")', "x = lambda a=nothing: 3"],
)  # fmt: skip
def test_a_constant_that_raises_costs_nothing_else(line: str) -> None:
    assert answer(line, GOOD) == 3


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("X = [1]\nX += [2]", [1, 2]),
        ("X = 3\nX *= 2", 6),
        ("try:\n    import nowhere as n\nexcept ImportError:\n    n = None\nX = n", None),
        ("try:\n    import math\nexcept ImportError:\n    pass\nX = math.pi", math.pi),
    ],
)
def test_a_constant_that_grows_and_an_import_that_may_fail_count(
    lines: str, expected: object
) -> None:
    assert values(convert(cells(lines)))["X"] == expected


@pytest.mark.parametrize(
    ("source", "note"),
    [
        (f"{GOOD}\nfedavg.cache = {{}}", "cell 1 changes fedavg, which does not count"),
        (f"{GOOD}\nfedavg = id(fedavg)", "cell 1 changes fedavg, which does not count"),
        (
            "T = [1]\nT[0] = 2\ndef fedavg(s):\n    return T",
            "cell 1 changes T, which does not count",
        ),
        (
            "K = 1\nK **= 9\ndef fedavg(s):\n    return K",
            "cell 1 changes K, which does not count",
        ),
        (
            "if True:\n    def fedavg(s):\n        return 1",
            "cell 1 has fedavg within another statement",
        ),
        (
            "try:\n    y = open('x')\nexcept OSError:\n    pass\ndef fedavg(s):\n    return y",
            "cell 1 needs y, which cell 1 computes",
        ),
    ],
)
def test_a_change_that_does_not_count_is_told(source: str, note: str) -> None:
    (found,) = convert(cells(source), ["fedavg"]).notes
    assert note in found


def test_experiments_that_change_only_themselves_need_no_notes() -> None:
    cell = "log = []\nlog += [1]\nbest = {}\nbest['a'] = 3\nfor i in range(3):\n    best[i] = i"
    assert convert(cells(GOOD, cell), ["fedavg"]).notes == []

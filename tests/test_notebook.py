"""A notebook becomes the module that its author would have written."""

import json

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

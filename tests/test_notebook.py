"""A notebook becomes the module that its author would have written."""

import ast
import inspect
import json
import math
import re
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from fedlab_grade.notebook import (
    Module,
    convert,
    looks_like_notebook,
    module_apart,
    module_of,
    written,
)
from fedlab_grade.notebook.cells import python_of
from fedlab_grade.notebook.load import load
from fedlab_grade.student import NotGradable, Raised, Student
from fedlab_grade.textfile import Unusable, lines_of, place_of, stopped_at

pytestmark = [pytest.mark.processes, pytest.mark.grader]

ROOT = str(Path(__file__).parents[1])
GOOD = "def fedavg(states):\n    return states[0]"


def cells(*sources: str | tuple[str, str]) -> str:
    """A notebook with these code cells; a pair is (kind, source)."""
    pairs = [s if isinstance(s, tuple) else ("code", s) for s in sources]
    return json.dumps({"cells": [{"cell_type": k, "source": s} for k, s in pairs]})


def values(module: Module) -> dict[str, object]:
    """Return the names that the module defines."""
    made = ModuleType("student_hw")
    fresh = {*vars(made)}
    load(made, module.source, "hw.py")
    return {
        name: value for name, value in vars(made).items() if name not in {*fresh, "__builtins__"}
    }


def told(module: Module, name: str, *arguments: object) -> str:
    """Return what is said of a call of a function that raises an exception."""
    with pytest.raises(Raised) as caught:
        Student(Path("hw.py"), module.source).call(name, *arguments)
    return str(caught.value)


def answer(*sources: str | tuple[str, str]) -> object:
    """Return the value of fedavg([3]) of the notebook."""
    return values(convert(cells(*sources)))["fedavg"]([3])


@pytest.mark.parametrize(
    "sources",
    [
        (GOOD,),
        ("import torch", GOOD, "fedavg([1])"),
        ("%matplotlib inline\n!pip install torch\n" + GOOD, "fedavg?", "%%html\n<b>x</b>"),
        ("files = !ls\n" + GOOD,),
        ("%%time\n" + GOOD,),
        ("%%capture out\n" + GOOD,),
        ("%%prun\n" + GOOD,),
        (GOOD, "K = [1]\nK += exit()"),
        (GOOD, "while True:\n    pass", "exit()", "import sys\nsys.exit(0)"),
        (GOOD, "def fedavg(states)\n    return 4"),
        (GOOD, "def failed():\n    raise", "def odd():\n    raise ValueError"),
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
def test_experiments_magics_and_broken_cells_do_no_harm(sources):
    assert answer(*sources) == 3
    assert values(convert(cells(*sources), ["fedavg"])).keys() >= {"fedavg"}


@pytest.mark.parametrize(
    "line",
    ["x = 9 ** 9 ** 9", "x = [open(i) for i in (1, 2)]", "x = [i for i in range(10**9)]",
     "x = str(input())", "x, y = exit()", "x: int = exit()", "x = (y := exit())",
     "a = exit()\nx = a", "x = {}\nx[exit()] = 3", "if exit():\n    x = 3",
     "with exit() as x:\n    y = 3"],
)  # fmt: skip
def test_what_no_answer_looks_up_is_not_run(line):
    assert values(convert(cells(line, GOOD), ["fedavg"])).keys() == {"fedavg"}
    assert values(convert(cells(line, GOOD))).keys() == {"fedavg"}


@pytest.mark.parametrize(
    "use", ["s * x", "helper(s)", "M().of(s)", "(lambda: x)()", "[x for _ in s]"]
)
def test_what_an_answer_looks_up_is_run_also_through_others(use):
    code = (
        "import random\nrng = random.Random(3)\nx = [rng.random() for _ in range(2)][0]\n"
        "def helper(s):\n    return s * x\n"
        f"class M:\n    def of(self, s):\n        return s * x\ndef fedavg(s):\n    return {use}"
    )
    module = convert(cells(code), ["fedavg"])
    assert {"x", "rng"} <= values(module).keys()
    assert module.notes == []


@pytest.mark.parametrize("name", ["x", "total", "s"])
def test_a_name_of_an_answers_own_is_not_looked_up(name):
    answer = f"def fedavg(s):\n    {name} = s[0]\n    return [{name} for _ in s]"
    assert name not in values(convert(cells(f"{name} = exit()", answer), ["fedavg"]))


def test_what_takes_long_costs_only_those_who_need_it():
    code = f"def area(r):\n    return x\nx = [0 for _ in iter(int, 1)]\n{GOOD}"
    made = convert(cells(code), ["fedavg", "area"])
    assert values(made)["fedavg"]([3]) == 3
    assert "TimeoutError: it takes more than" in told(made, "area", 3)  # 1 s, or 6 by the clock
    leaves = convert(cells("x = exit()", "def fedavg(s):\n    return x + 1"), ["fedavg"])
    assert "SystemExit" in told(leaves, "fedavg", 3)


def test_a_percent_sign_at_the_beginning_of_a_continued_line_is_no_magic():
    assert values(convert(cells("x = (7\n% 4)")))["x"] == 3


def test_old_notebooks_and_lists_of_lines_are_read():
    old = {"worksheets": [{"cells": [{"cell_type": "code", "input": GOOD.splitlines(True)}]}]}
    assert values(convert(json.dumps(old))).keys() == {"fedavg"}
    lines = {"cell_type": "code", "source": ["x = '''a\n", "b'''"]}
    assert values(convert(json.dumps({"cells": [lines]}))) == {"x": "a\nb"}


def test_a_notebook_is_known_by_its_name_or_by_what_is_in_it():
    assert looks_like_notebook("HW.IPYNB", b"")
    assert looks_like_notebook("hw.py", b'\xef\xbb\xbf \r\n\t{"cells": []}')
    assert not looks_like_notebook("hw.py", b"{'a': 1}")
    assert not looks_like_notebook("hw.py", b'x = {"cells": []}')


@pytest.mark.parametrize(
    ("sources", "note"),
    [
        ((GOOD, GOOD), r"fedavg is defined twice (cells 1 and 2): the last one counts"),
        ((("markdown", GOOD),), "cell 1: fedavg stands in a markdown cell, so it does not count"),
        (
            (GOOD, "x = 1\nprint 'ü'"),
            "cell 2, line 2: \"print 'ü'\" is not Python (Missing parentheses in call to 'print'. "
            "Did you mean print(...)?), so the cell does not count",
        ),
        ((GOOD, "x = '\0'"), "cell 2 is not Python (source code string cannot contain null bytes)"),
        ((GOOD, "x = '\ud800'"), "cell 2 is not Python ('utf-8' codec can't encode character"),
        ((GOOD, "x = " + "-" * 10_000 + "1"), "cell 2 is not Python (too deeply nested or too "),
        ((GOOD, "x = = '<<<<<<<'"), "cell 2, line 1: \"x = = '<<<<<<<'\" is not Python"),
        ((GOOD, "<<<<<<< HEAD\nx = 1"), "cell 2 has conflict markers of git (resolve the merge)"),
        (("x = 1",), "no code cell defines fedavg"),
    ],
)
def test_what_may_surprise_is_told(sources, note):
    assert note in "\n".join(convert(cells(*sources), ["fedavg"]).notes)


def test_a_plain_notebook_needs_no_notes():
    example = ("markdown", f"It begins so:\n\n{GOOD}")
    assert convert(cells(example, GOOD), ["fedavg"]).notes == []
    assert convert(cells(("markdown", "no def fedavg")), ["fedavg"]).notes == [
        "no code cell defines fedavg"
    ]
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
def test_what_is_no_notebook_is_refused(text, message):
    with pytest.raises(Unusable, match=message):
        convert(text)
    with pytest.raises(Unusable, match=message):
        module_apart("hw.ipynb", text.encode(), ())


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
def test_a_cell_made_to_break_the_parser_breaks_nothing_else(source):
    try:
        told = module_apart("hw.ipynb", cells(source, GOOD).encode(), ["fedavg"]).source
    except Unusable as error:
        told = str(error)
    assert GOOD in told or "too deeply nested or too large" in told


def test_apart_and_here_come_to_the_same():
    text = cells("import torch", GOOD, GOOD, "x = 3", "print(x)", "größe = 'ä'")
    here = convert(text, ["fedavg"])
    assert module_apart("hw.ipynb", text.encode(), ["fedavg"]) == replace(here, of_notebook=True)


def test_a_stored_script_is_left_in_the_notebook():
    stored = {"cell_type": "code", "source": GOOD, "outputs": [{"text/html": "<script>"}]}
    assert "script" not in convert(json.dumps({"cells": [stored]})).source


def test_blank_lines_and_blanks_are_looked_through_in_one_pass():
    """In the square of their number these would take minutes."""
    blank = "\n" * 1_000_000 + "def fedavg(s): ..."
    broken = "a?" + " " * 1_000_000 + "x ="
    module = convert(cells(("markdown", blank), broken, GOOD), ["fedavg"])
    assert values(module)["fedavg"]([3]) == 3


# --- how lines and statements are cut out ---------------------------------------------------------


@pytest.mark.parametrize("odd", ["\u2028", "\u2029", "\x0c", "\x0b", "\x85", "\x1c"])
def test_what_only_looks_like_the_end_of_a_line_is_none(odd):
    assert answer(f"# copied{odd}comment\n{GOOD}") == 3


def test_a_form_feed_before_a_function_does_no_harm():
    assert answer(f"\x0c\n{GOOD}") == 3


def test_an_old_macs_lines_are_lines():
    assert answer("FIRST = 0\r" + GOOD.replace("\n", "\r")) == 3


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("import os; os._exit(3)", ["import os"]),
        ("os.fork(); import os", ["import os"]),
        ("ä = 'ü'; exit(); b = [1,\n 2]; exit()", ["ä = 'ü'", "b = [1,\n 2]"]),
        ("a = 1; b = 2", ["a = 1", "b = 2"]),
        ("a = 1;", ["a = 1"]),
    ],
)
def test_of_a_line_with_semicolons_each_statement_counts_by_itself(line, kept):
    found = ast.parse(convert(cells(line)).source).body
    nothing = ast.dump(ast.parse("...").body[0])
    parts = [ast.dump(node) for node in found if ast.dump(node) != nothing]
    assert parts == [ast.dump(ast.parse(text).body[0]) for text in kept]


def test_a_future_import_stands_above_all_else():
    source = f"from __future__ import annotations\n{GOOD}\nx: nowhere = 3"
    assert answer("import math\nFIRST = 0", source) == 3


@pytest.mark.parametrize(
    "line",
    ["x = 1 / 0", "x = 'a' + 1", "a, b = 1, 2, 3", "import math\nx = math.nothing",
     "x: nothing = 3", "a = 1 / 0\nx = a", "x = 1\nx += 'a'", "x = {[]: 3}",
     'x = 1 / (\n"""\n  a""")', "x = lambda a=nothing: 3"],
)  # fmt: skip
def test_a_constant_that_raises_costs_nothing_else(line):
    assert answer(line, GOOD) == 3


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("X = [1]\nX += [2]", [1, 2]),
        ("X = 3\nX *= 2", 6),
        ("try:\n    import nowhere as n\nexcept ImportError:\n    n = None\nX = n", None),
        ("try:\n    import math\nexcept ImportError:\n    pass\nX = math.pi", math.pi),
        ("try:\n    import math\n    X = math.pi\nexcept ImportError:\n    X = 3", math.pi),
    ],
)
def test_a_constant_that_grows_and_an_import_that_may_fail_count(lines, expected):
    assert values(convert(cells(lines)))["X"] == expected


@pytest.mark.parametrize(
    "lines",
    ["T = [1]\nT[0] = 3", "T = [1, 2]\nT += [3]", "T = 3\nT **= 1",
     "T = {}\nT['a'] = {}\nT['a']['b'] = 3", "class A: pass\nT = A()\nT.a = 3",
     "T = [3, 4]\ndel T[1]"],
)  # fmt: skip
def test_changes_of_what_an_answer_needs_count(lines):
    module = convert(cells(f"{lines}\ndef fedavg(s):\n    return T"), ["fedavg"])
    assert module.notes == []
    assert "3" in repr(vars(made) if hasattr(made := values(module)["T"], "a") else made)


@pytest.mark.parametrize(
    "lines",
    ["T = []\nT.append(3)", "T = {}\nT.setdefault('a', []).append(3)", "T = []\nT += [1]\nT[0] = 3",
     "T = [1, 2, 3]\nfor i in range(2):\n    T.pop(0)", "for T in (1, 2, 3):\n    print(T)",
     "T = 0\nwhile T < 3:\n    T += 1", "def g(x):\n    return x\nif 1:\n    T = g(3)",
     "import io\nwith io.StringIO('3') as file:\n    T = file.read()",
     "class A:\n    pass\nT = [A()]\nT[0].x = []\nT[0].x.append(3)\nT = T[0].x",
     "T = []\n[T.append(i) for i in range(4)]", "from math import pi as T\nT = []\nT.append(3)",
     "T = 0\ndef main():\n    global T\n    T = 3\nif __name__ == '__main__':\n    main()"],
)  # fmt: skip
def test_loops_and_calls_of_methods_count_where_they_make_what_an_answer_needs(lines):
    module = convert(cells(lines, "def f(s): return T"), ["f"])
    assert module.notes == []
    assert "3" in str(values(module)["f"](0))


@pytest.mark.parametrize(
    "line",
    ["plt.plot(T)", "plt.figure().show()", "for t in range(9):\n    plt.plot(t)", "show(T)",
     "losses = []\nfor i in iter(int, 1):\n    losses.append(T)", "print(T)", "T\nlen(T)", "T[0]",
     "if T:\n    plt.plot(T)", "[plt.plot(t) for t in T]"],
)  # fmt: skip
def test_experiments_with_what_an_answer_needs_are_not_run(line):
    head = "import math as plt\nT = [3]\ndef fedavg(s):\n    return plt.floor(T[0])"
    module = convert(cells(head, line), ["fedavg"])
    assert module == convert(cells(head), ["fedavg"])


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ("while True:\n    T = 3", "TimeoutError: it takes more than 0.2 s"),
        (
            "T = 1\nwhile True:\n    try:\n        T += 1\n    except OSError:\n        pass",
            "0.2 s",
        ),
        ("with open('nowhere'):\n    T = 3", "FileNotFoundError"),
        ("while True:\n    def T(s):\n        return 1", "TimeoutError"),
        ("async def f():\n    return 3\nT = await f()", "SyntaxError: 'await' outside function"),
    ],
)
def test_a_statement_that_fails_or_never_ends_is_told_to_those_who_need_it(lines, why, monkeypatch):
    monkeypatch.setattr("fedlab_grade.notebook.load.SECONDS", 0.2)
    module = convert(cells(GOOD, lines, "def area(s):\n    return T"), ["fedavg", "area"])
    assert values(module)["fedavg"]([3]) == 3
    said = told(module, "area", 3)
    assert "name 'T' is not defined, because cell 2, line" in said
    assert why in said


def test_many_statements_that_take_long_take_a_limited_time_together(monkeypatch):
    monkeypatch.setattr("fedlab_grade.notebook.load.ALL", 0.2)
    monkeypatch.setattr("fedlab_grade.notebook.load.LEAST", 0.02)
    slow = [f"T{i} = 0\nwhile True:\n    T{i} += 1" for i in range(12)]
    total = " + ".join(f"T{i}" for i in range(12))
    answer = f"late = 3\ndef fedavg(s):\n    return late\ndef area(s):\n    return {total}"
    module = convert(cells(*slow, answer), ["fedavg", "area"])
    began = time.process_time()
    assert values(module)["fedavg"]([3]) == 3
    assert time.process_time() - began < 1  # alone, each of the 12 could take 0.2 s
    assert "more than 0.2 s, the rest of 0.2 s for all cells" in told(module, "area", 3)


def test_a_statement_that_waits_costs_only_those_who_need_it(monkeypatch):
    monkeypatch.setattr("fedlab_grade.notebook.load.CLOCK", 0.5)
    code = "import time\nT = [time.sleep(60) for _ in range(9)]\ndef area(r):\n    return T"
    module = convert(cells(code, GOOD), ["fedavg", "area"])
    began = time.monotonic()
    assert values(module)["fedavg"]([3]) == 3
    assert time.monotonic() - began < 50
    assert "cell 1, line 2 (T = " in told(module, "area", 3)
    assert "TimeoutError: it takes more than 0.5 s" in told(module, "area", 3)


def test_an_experiment_that_takes_long_leaves_a_generator_that_an_answer_needs(monkeypatch):
    monkeypatch.setattr("fedlab_grade.notebook.load.SECONDS", 0.2)
    head = "import random\nrng = random.Random(0)"
    line = "for _ in iter(int, 1):\n    rng.shuffle([1, 2])"
    answer = "def fedavg(s):\n    return s[rng.randrange(1)]"
    module = convert(cells(head, line, answer), ["fedavg"])
    assert values(module)["fedavg"]([3]) == 3


def test_a_name_that_an_answer_binds_itself_is_not_missed():
    answer = "def fedavg(s):\n    total = s[0]\n    return total"
    assert convert(cells("total = open('x')", answer), ["fedavg"]).notes == []


def test_experiments_that_change_only_themselves_need_no_notes():
    cell = "log = []\nlog.append(1)\nbest = {}\nbest['a'] = 3\nfor i in range(3):\n    best[i] = i"
    assert convert(cells(GOOD, cell), ["fedavg"]).notes == []


# --- cells that Python cannot read ----------------------------------------------------------------

BROKEN = "def fedavg(states):\n    total = = states\n    return total"
FAULT = "cell 1, line 2: 'total = = states' is not Python (invalid syntax)"
STUB = 'def fedavg(states):\n    """Doc."""\n    raise NotImplementedError("not written yet")'


def raised(module: Module, name: str) -> str:
    """Return the error of a call of the function."""
    with pytest.raises(SyntaxError) as caught:
        values(module)[name](1, b=2)
    return str(caught.value)


@pytest.mark.parametrize(
    "broken",
    [
        "def fedavg(states):\n    total = = states",
        "async def fedavg(states):\n    total = = states",
        "  def fedavg(states):\n    total = = states",
        "import math\nclass fedavg:\n    total = = states",
        "Def fedavg(states):\n    total = 3",
        "function fedavg(states):",
        "fedavg = lambda states: (",
        "<<<<<<< HEAD\ndef fedavg(states):\n    return 1",
        "%matplotlib inline\ndef fedavg(states):\n    total = = states",
    ],
)
def test_a_notebook_whose_only_answer_is_broken_cannot_be_run(broken):
    for others in ((), ("import torch", "x = 3"), (STUB,)):
        for sources in ((broken, *others), (*others, broken)):
            with pytest.raises(Unusable, match="and no other cell defines fedavg: mend that"):
                convert(cells(*sources), ["fedavg"])


def test_the_students_own_line_is_shown_with_its_cell_and_the_reason():
    with pytest.raises(Unusable) as caught:
        convert(cells(BROKEN), ["fedavg"])
    told = f"cannot be run: {FAULT}, and no other cell defines fedavg: mend that cell"
    assert str(caught.value) == told
    with pytest.raises(Unusable, match=f"line 1: '{'f' * 80}' is not Python"):
        convert(cells(f"{'f' * 200} =\ndef fedavg(s):\n    return s"), ["fedavg"])


def test_all_that_one_cell_should_have_defined_is_named():
    both = f"{BROKEN}\ndef area(r):\n    return r"
    with pytest.raises(Unusable, match="no other cell defines area or fedavg: mend"):
        convert(cells(both), ["area", "fedavg"])


def test_a_broken_answer_costs_its_own_question_and_tells_why():
    module = convert(cells(BROKEN, "def area(r):\n    return r"), ["fedavg", "area"])
    assert values(module)["area"](7) == 7
    assert raised(module, "fedavg") == FAULT
    assert module.notes == [f"{FAULT}, so the cell does not count"]


def test_each_of_several_broken_cells_is_told_where_it_is_called():
    area = "def area(r):\n    return r r"
    module = convert(cells(BROKEN, area, "def x(r):\n    return r"), ["fedavg", "area", "x"])
    assert raised(module, "fedavg") == FAULT
    assert raised(module, "area").startswith("cell 2, line 2: 'return r r' is not Python")
    with pytest.raises(Unusable, match=r"defines fedavg: mend") as told:
        convert(cells(BROKEN, area), ["fedavg", "area"])
    assert FAULT in str(told.value)


def test_a_broken_helper_is_told_where_it_is_called():
    helper = "def first(states):\n    return states[[0]"
    module = convert(cells(helper, "def fedavg(s, b):\n    return first(s)"), ["fedavg"])
    assert "cell 1, line 2: 'return states[[0]' is not Python" in raised(module, "fedavg")


def test_a_class_that_is_broken_can_still_be_the_base_of_another():
    base = "class Base:\n    x = = 3"
    sources = ("from __future__ import annotations", "class Model(Base):\n    pass", GOOD, base)
    module = convert(cells(*sources), ["fedavg"])
    assert values(module)["fedavg"]([3]) == 3
    assert raised(module, "Model").startswith("cell 4, line 2: 'x = = 3'")


def test_an_answer_that_is_written_in_another_cell_outlives_a_broken_copy():
    refuses = convert(cells(BROKEN, "def fedavg(s):\n    raise ValueError"), ["fedavg"])
    assert "ValueError" in refuses.source
    written = 'def fedavg(s):\n    return s[0]\n    raise NotImplementedError("not written yet")'
    for sources in ((BROKEN, GOOD), (GOOD, BROKEN), (BROKEN, written), (STUB, GOOD, BROKEN)):
        module = convert(cells(*sources), ["fedavg"])
        assert values(module)["fedavg"]([3]) == 3
        assert "SyntaxError" not in module.source


def test_a_stub_does_not_hide_that_the_answer_below_it_is_broken():
    area = "def area(r):\n    return r"
    assert FAULT.replace("1", "2", 1) in raised(
        convert(cells(STUB, BROKEN, area), ["fedavg", "area"]), "fedavg"
    )
    methods = "class fedavg:\n    def step(self):\n        raise NotImplementedError"
    with pytest.raises(Unusable):
        convert(cells(methods, BROKEN), ["fedavg"])
    empty = convert(cells("class fedavg:\n    x = 3", BROKEN), ["fedavg"])
    assert values(empty)["fedavg"].x == 3
    partly = f"{methods}\n    def stop(self):\n        return 3"
    assert "stop" in convert(cells(partly, BROKEN), ["fedavg"]).source


def test_a_broken_scratch_cell_hides_no_builtin_and_makes_no_function_of_a_word():
    scratch = "def sorted(x:\ndef class(\nclass 2020 begins\ndefine 3x"
    assert answer(scratch, "def fedavg(states):\n    return sorted(states)[0]") == 3


def test_an_asked_for_name_that_is_also_a_builtin_is_missed_like_any_other():
    with pytest.raises(Unusable, match="no other cell defines sum"):
        convert(cells("def sum(x:"), ["sum"])


# --- what has an answer in it ---------------------------------------------------------------------


def test_what_is_written_is_bound_and_no_stub():
    assert written(f"# Jane\n{STUB.replace('Doc', 'My')}  # ?") == set()
    assert written(STUB.replace("    raise", "    x = 1\n    raise")) == set()
    assert written(f"import math as m\nX = 1\n{STUB}") == {"m", "X"}
    for text in (GOOD, "fedavg = lambda s: s", "if 1:\n    def fedavg(s):\n        return s"):
        assert written(text) == written(f"{STUB}\n{text}") == {"fedavg"}
    assert written(f"if 1:\n    X = 1\n    {STUB.replace(chr(10), chr(10) + '    ')}") == {"X"}


def test_of_a_text_that_is_not_python_the_names_are_known():
    assert written(f"{GOOD}\n{BROKEN}") == {"fedavg"}
    assert written("x = " + "a." * 100_000 + f"b\n{GOOD}") >= {"fedavg"}


def test_a_decorator_is_part_of_its_function():
    code = "import functools\n@functools.cache\n@functools.cache\ndef fedavg(s):\n    return s"
    assert hasattr(values(convert(cells(code)))["fedavg"], "cache_info")


# --- what fails costs only those who need it ------------------------------------------------------


@pytest.mark.parametrize(
    "broken",
    ["def f(a, a): pass", "def f():\n    await x", "class A:\n    return 3",
     "try:\n    from __future__ import annotations\nexcept ImportError:\n    pass"],
)  # fmt: skip
def test_what_only_the_compiler_refuses_costs_nothing_else(broken):
    """`ast.parse` takes all of these, and a module with one of them cannot be compiled."""
    (note,) = convert(cells(broken, GOOD), ["fedavg"]).notes
    assert note.startswith("cell 1, line ")
    assert note.endswith("so it does not count")
    assert answer(f"{broken}\n{GOOD}") == 3


def test_an_answer_that_only_the_compiler_refuses_is_told_where_it_is_called():
    area = "def area(r):\n    return r"
    module = convert(cells(f"def fedavg(s, s): pass\n{area}"), ["fedavg", "area"])
    assert values(module)["area"](7) == 7
    assert raised(module, "fedavg").startswith("cell 1, line 1: 'def fedavg(s, s): pass'")
    assert values(convert(cells("def sum(s, s): pass\nx = 3"))) == {"x": 3}


SCRATCH = [
    "from google.colab import drive", "import wandb", "from nowhere import *", "import nowhere.b",
    "@undefined\ndef s(): ...", "class A(undefined): ...", "class A:\n    x = 1 / 0",
    "def s(x=undefined): ...", "def s(x: undefined): ...", "if undefined:\n    import math",
    "class A(metaclass=undefined): ...", "with torch.no_grad():\n    x = 3",
]  # fmt: skip


@pytest.mark.parametrize("line", SCRATCH)
def test_a_scratch_line_that_fails_costs_nothing_else(line):
    assert answer(line, GOOD) == 3


@pytest.mark.parametrize(
    ("line", "use"),
    [
        ("from google.colab import drive", "drive.mount()"),
        ("import nowhere as s", "s.plot(1)"),
        ("@undefined\ndef s(): ...", "s()"),
        ("class s(undefined): ...", "s().of(3)"),
        ("s = [1][3]", "3 * s"),
        ("s = 1 / 0", "s + 1"),
        ("s = 1 / 0", "[x for x in s]"),
        ("s = 1 / 0", "s < 3"),
    ],
)
def test_who_needs_what_failed_is_told_cell_and_reason(line, use):
    module = convert(cells("x = 3", line, f"def fedavg(states):\n    return {use}"), ["fedavg"])
    assert re.match(
        r"fedavg raised NameError: name '\w+' is not defined, because cell 2, line 1 \(.+\) raised",
        told(module, "fedavg", [3]),
    )


@pytest.mark.parametrize(
    ("raised", "seen"),
    [
        *((f"NameError('no', name={name})", "NameError: no") for name in ("[]", "{}", "None")),
        *((f"Odd({kind})", "Odd") for kind in ("SystemExit", "KeyboardInterrupt", "ValueError")),
    ],
)
def test_an_exception_that_hides_costs_only_its_own_answer(raised, seen):
    """Its name cannot be looked up, or its text raises; where a module is loaded, and in a call."""
    odd = "class Odd(Exception):\n    def __str__(self):\n        raise self.args[0]"
    bad = f"def fedavg(s):\n    raise {raised}"
    for cell in ("y = fedavg(3)\ndef area(r):\n    return y", "def area(r):\n    return fedavg(r)"):
        module = convert(cells(odd, bad, cell, "def good(s):\n    return s"), ["area", "good"])
        assert values(module)["good"](3) == 3
        assert seen in told(module, "area", 3)


@pytest.mark.parametrize("depth", [90, 300, 1000, 3000])
@pytest.mark.parametrize("form", ["1{}", "{}1", "f{}"], ids=["sum", "signs", "calls"])
def test_a_long_expression_costs_its_own_statement(form, depth):
    """It is as deep as it is long, and the library's functions that walk through it recurse."""
    part = {"1{}": " + 1", "{}1": "~", "f{}": "()"}[form]
    deep = form.format(part * depth)
    for cell in (
        f"{deep}\nprint({deep})\nx = {deep}",
        f"def s():\n    raise ValueError({deep})",
        f"if {deep}:\n    def s(): ...",
    ):
        module = convert(cells(f"def f(): return f\n{cell}", GOOD), ["fedavg"])
        assert values(module)["fedavg"]([3]) == 3


@pytest.mark.skipif(sys.version_info < (3, 12), reason="Python has had such aliases since 3.12")
def test_an_alias_of_a_type_is_there_for_the_answers():
    assert answer("type Many = list[int]", "def fedavg(s: Many) -> int:\n    return s[0]") == 3


def test_what_a_cell_before_has_made_stays_where_a_later_one_fails():
    first = "def first(s):\n    return s[0]"
    again = "@undefined\ndef first(s):\n    return 4"
    assert answer(first, again, "def fedavg(s):\n    return first(s)") == 3
    assert answer("from nowhere import sum", "def fedavg(s):\n    return sum(s)") == 3


def test_an_answer_that_fails_costs_the_others_nothing_unless_all_fail():
    bad, good = "@undefined\ndef fedavg(s):\n    return s", "def area(r):\n    return r"
    module = convert(cells(bad, good), ["fedavg", "area"])
    assert values(module)["area"](7) == 7
    assert "cell 1, line 1 (@undefined) raised NameError" in told(module, "fedavg", 7)
    with pytest.raises(NotGradable, match=r"fedavg.*cell 1, line 1"):
        Student(Path("hw.py"), convert(cells(bad), ["fedavg"]).source)


def test_a_wrapped_function_keeps_its_strings_and_its_lines():
    code = (
        "import functools\n@functools.cache\ndef fedavg(s):\n"
        '    """Two\n\n  lines."""\n\tx = (1,\n2)\n    return """a\n b\n""", f"""{s}\n  c""", x\n'
    ).replace("\tx", "    x")
    made = values(convert(cells(code)))["fedavg"]
    assert made(7) == ("a\n b\n", "7\n  c", (1, 2))
    assert inspect.getdoc(made) == "Two\n\nlines."  # Python 3.13 keeps no margin
    assert answer("@undefined\n\x0cdef x(): pass", "import functools", GOOD) == 3


# --- constants that are computed ------------------------------------------------------------------

COMPUTED = {
    "dict[str, int]": dict[str, int],
    "10 ** -2": 0.01,
    "float('inf')": math.inf,
    "dict(lr=[3][0])": {"lr": 3},
    "set()": set(),
    "{'eps': 3}['eps']": 3,
    "f'{3}'": "3",
    "3 if 2 > 1 and not 0 else 4": 3,
    "m.sqrt(m.pi * 0)": 0,
    "list(range(3))": [0, 1, 2],
    "[10 ** -i for i in range(2)]": [1, 0.1],
    "{i: j for i, j in zip('ab', (1, 2))}": {"a": 1, "b": 2},
    "len('abc')": 3,
    "Path('a') / 'b'": Path("a/b"),
}


@pytest.mark.parametrize(("value", "expected"), COMPUTED.items())
def test_a_constant_may_be_computed(value, expected):
    lines = f"import math as m\nfrom pathlib import Path\nX = {value}"
    assert values(convert(cells(lines))).get("X") == expected


def test_an_answer_finds_what_its_notebook_makes():
    code = """
from collections import namedtuple
from dataclasses import dataclass
from functools import partial
import torch, numpy as np
from typing import TypeVar
T = TypeVar("T")
P = namedtuple("P", "a b")
State = dict[str, torch.Tensor]
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
rng = np.random.default_rng(0)
g = torch.Generator().manual_seed(0)
LRS = np.logspace(-3, 0, 4)
@dataclass
class Config:
    lr: float = 3
C = Config(lr=3)
def make(k):
    def inner(x): return x * k
    return inner
triple = make(3)
class A: pass
def of(self): return 3
A.of = of
sum = 4
del sum
def fedavg(s: State):
    needs = device, rng, g, P(1, 2), len(LRS), T
    return sum([C.lr, triple(1), A().of()]) / 3
"""
    assert convert(cells(code), ["fedavg"]).notes == []
    assert answer(code) == 3


# --- blocks, magics and files ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "head",
    ["if True:", "if __name__ == '__main__':", "if '__main__'  ==  __name__ :", "try:",
     "import contextlib\nwith contextlib.suppress(OSError):"],
)  # fmt: skip
def test_definitions_in_a_block_count(head):
    tail = "\nexcept Exception as e:\n    print(e)" if head == "try:" else ""
    code = f"{head}\n    def fedavg(states):\n        return states[0]{tail}"
    assert answer(code) == 3
    assert convert(cells(code), ["fedavg"]).notes == []


@pytest.mark.parametrize(
    "guard",
    ["IN_COLAB = False\nif IN_COLAB:\n    !pip install torch", "for i in [1]:\n    %timeit 1",
     "try:\n    import nowhere\nexcept ImportError:\n    !pip install nowhere\n    import nowhere",
     "if 1:\n\t%pip install torch\nelse:\n  !ls"],
)  # fmt: skip
def test_a_magic_within_a_statement_does_not_cost_the_cell(guard):
    assert answer(f"{guard}\n{GOOD}") == 3
    assert convert(cells(f"{guard}\n{GOOD}"), ["fedavg"]).notes == []


def test_what_continues_a_string_or_an_expression_is_no_magic():
    code = f"!ls\nx = '''\n!ls\n%time\n'''\ny = (7\n%z)\n{GOOD}\nw = 7 \\\n%z"
    made = values(convert(cells("z = 4", code), ["x", "y", "w"]))
    assert (made["x"], made["y"], made["w"]) == ("\n!ls\n%time\n", 3, 3)


@pytest.mark.parametrize("form", ["{}", "x = '''\n{}\n'''", "y = (7)\n{}\nz = [\n{}\n]"])
def test_sixty_thousand_magics_are_read_in_one_pass(form):
    text = form.replace("{}", "\n".join(["%time f(1)", "%ls"] * 30_000))
    module = module_of("hw.py", text.encode(), ())  # in the square of their number it takes an hour
    assert module.source.count("%") == (60_000 if form.endswith(("'", "]")) else 0)
    outside = f"if 1:\n        %ls\n    x = '\\''\n  %ls\n{GOOD}"
    assert module_of("hw.py", outside.encode(), ()).notes == [
        "lines 2, 4: for Jupyter only, so ignored"
    ]


LINES = [
    "%matplotlib inline", "!pip install \\\n    torch", "x = !ls -l \\\n    .", "y = %pwd", "x?",
    "?x", "x.y??", "!!ls", "%timeit -n 3 x", "o.b = !ls", "if 1:\n    !ls\n    v = 2", "# it's",
    "for i in [1]:\n    %time x", "x = '''\n!ls\n%time\n'''", "x = 7 \\\n% 4",
    "w = (3\n% 2)", "!echo 'it", "!echo \"\"\"", "g = 'a' # \"\"\"", "z = 4;", "k = {1:\n2}",
    "print('%d' % 3)", "def f():\n    !ls\n    return 3", "%env A='b",
]  # fmt: skip


class Shell:
    """An IPython whose magics do nothing."""

    def __getattr__(self, name: str) -> object:
        return lambda *_: None


@pytest.mark.parametrize("first", LINES)
def test_a_cell_becomes_the_python_that_ipython_makes_of_it(first):
    ipython = pytest.importorskip("IPython.core.inputtransformer2").TransformerManager()

    def run(code: str) -> list[object]:
        made: dict[str, object] = {"get_ipython": Shell, "o": Shell(), "z": 2}
        exec(code, made)
        return [made.get(name, "not set") for name in "gkvwxyz"]

    for second in LINES:
        cell = f"{first}\n{second}"
        assert run(python_of(cell, ())[0]) == run(ipython.transform_cell(cell)), cell


@pytest.mark.parametrize("head", ["%%writefile hw.py", "%%writefile -a ./hw.py", "%%file 'hw.py'"])
def test_a_cell_that_writes_the_file_that_is_asked_for_counts(head):
    text = cells(f"{head}\n{GOOD}", "from hw import *")
    module = convert(text, ["fedavg"], ["hw"])
    assert values(module)["fedavg"]([3]) == 3
    assert "# cell 1, line 2\ndef" in module.source
    assert module.notes == []
    assert convert(text, ["fedavg"], ["other"]).notes[0] == (
        "cell 1 writes the file 'hw.py': what is in it does not count".replace(
            "hw.py", head.partition(" ")[2].removeprefix("-a ").strip("'")
        )
    )


# --- modules that were saved from a notebook ------------------------------------------------------


def test_lines_for_jupyter_in_a_module_are_ignored_and_the_others_keep_their_places():
    lines = [
        "get_ipython().run_line_magic('matplotlib', 'inline')",
        "%matplotlib inline",
        "!pip install torch",
        "if True:",
        "    get_ipython().system('ls')",
        "files = get_ipython().getoutput('ls')",
        "x = (7",
        "%time) if 0 else '''",
        "!ls'''",
    ]
    module = module_of("hw.py", "\n".join(lines).encode(), ())
    assert module.source.split("\n") == [
        "", "", "", "if True:", "    pass", "files = None", *lines[6:],
    ]  # fmt: skip
    assert module.notes == ["lines 1, 2, 3, 5, 6: for Jupyter only, so ignored"]


@pytest.mark.parametrize(
    "text",
    ["x = 7 \\\n%time", "x = '''\n%matplotlib inline'''", "get_ipython().magic('a'); y = 3",
     "get_ipython().system(\n'ls')", "%unknown magic", "! = 3", "x = (\n!ls"],
)  # fmt: skip
def test_other_lines_of_a_module_stay_as_they_are(text):
    assert module_of("hw.py", text.encode(), ()) == Module(text)


def test_code_within_a_cell_magic_of_a_module_is_told():
    text = r"get_ipython().run_cell_magic('time', '', 'x = 1\n')"
    assert "run_cell_magic(...) does not count" in module_of("hw.py", text.encode(), ()).notes[1]


# --- places ---------------------------------------------------------------------------------------


def test_a_line_of_the_module_is_told_as_a_line_of_its_cell():
    code = "import functools\n\n@functools.cache\ndef fedavg(s):\n    return 1 / 0"
    module = convert(cells("import nowhere", ("markdown", "a"), code), ["fedavg"])
    lines = lines_of(module.source)
    for statement, line in (("    return 1 / 0\n", 5), ("def fedavg(s):\n", 4)):
        assert place_of(lines.index(statement) + 1, lines) == f"cell 3, line {line}"
    assert place_of(1, lines) == ""  # above the first cell
    at = "\n  cell 3, line 5, in fedavg: return 1 / 0"
    assert told(module, "fedavg", 1).endswith(at)
    for number, said in ((lines.index("    return 1 / 0\n") + 1, at), (1, "")):
        dump = f'Timeout (0:00:10)!\n  File "hw.py", line {number} in fedavg\n'
        assert stopped_at(dump, "hw.py", lines) == said
    assert place_of(2, lines_of("import math\nmath.e")) == "line 2"

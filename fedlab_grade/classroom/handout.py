"""Make the files for students: the file to fill in, also as a notebook, and its public tests.

A guard looks at every line before it goes out. It knows the answers from the solution's text alone,
not from how the files were made.
"""

import ast
import json
import re
import zipfile
from collections import Counter
from collections.abc import Iterable, Mapping, Set
from itertools import pairwise
from pathlib import Path

from fedlab_grade.assignment import Assignment, own_text
from fedlab_grade.classroom.pages import render
from fedlab_grade.disk import whole, write_text
from fedlab_grade.notebook.statements import start_of
from fedlab_grade.options import Refusal, extra
from fedlab_grade.release import secret

HIDDEN_AT = 5  # the place of `hidden` among the arguments of the marker


def handout(assignment: Assignment) -> dict[str, str]:
    """Return the files for students: name -> text."""
    if assignment.source is None:
        raise Refusal(f"{assignment.tests.parent} holds no solution to make a release from.")
    module, notebook = f"{assignment.stem}.py", f"{assignment.stem}.ipynb"
    tests = {path.name: own_text(path) for path in assignment.files}
    if not any("mark.q" in text for text in tests.values()):
        raise Refusal(f"{assignment.tests} holds no test with the marker q, as in pytest.mark.q.")
    try:
        tests[assignment.tests.name], hidden = public(tests[assignment.tests.name])
    except SyntaxError as error:
        raise Refusal(f"{assignment.tests}, line {error.lineno}: {error.msg}.") from None
    about = {"name": assignment.name, "functions": assignment.functions, "hidden": hidden}
    readme = render("readme.md", module=module, notebook=notebook, **about)
    work = {module: assignment.stub, notebook: as_notebook(assignment.stub)}
    guard(assignment.reference, work, tests)
    return {**work, **tests, "README.md": readme}


def public(tests: str) -> tuple[str, int]:
    """Return the text of tests without the hidden ones, and how many these were.

    A test is hidden where its marker, or the name that stands for the marker, has ``hidden=True``.
    Tests without a decorator are tests of the tests, and stay behind as well.
    """
    short: set[str] = set()  # names of hidden markers
    out: set[int] = set()  # lines
    hidden = 0
    for node in ast.parse(tests).body:
        marks = node.decorator_list if isinstance(node, ast.FunctionDef) else []
        is_test = isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
        is_hidden = any(_is_hidden(mark, short) for mark in marks)
        if isinstance(node, ast.Assign) and _is_hidden(node.value, short):
            short |= {target.id for target in node.targets if isinstance(target, ast.Name)}
            is_hidden = True
        if is_hidden or (is_test and not marks):
            out |= set(range(start_of(node), (node.end_lineno or node.lineno) + 1))
            hidden += is_test and is_hidden
    lines = tests.split("\n")  # as Python counts them
    kept = "\n".join(line for number, line in enumerate(lines, 1) if number not in out)
    if _is_hidden(ast.parse(kept)):
        raise Refusal("the tests say hidden=True where only a decorator of a test should say it.")
    return kept.rstrip() + "\n", hidden


def as_notebook(module: str) -> str:
    """Return a module in cells as a notebook; one without cells gets one for each function."""
    jupytext = extra("jupytext")
    notebook = jupytext.reads(module, fmt="py:percent" if "# %%" in module else "py:light")
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}
    }
    for number, cell in enumerate(notebook.cells, start=1):
        cell["id"] = f"cell-{number}"  # the same in every release
    return str(jupytext.writes(notebook, fmt="ipynb"))


def guard(solution: str, work: Mapping[str, str], tests: Mapping[str, str]) -> None:
    """Raise if a file would give an answer away.

    A file to fill in may hold no line of an answer, unless the line stands outside of the answers
    as well. Tests may share a line with an answer by chance, but not two in a row, nor a whole
    answer.
    """
    blocks = secret(solution)
    inside = Counter(line for block in blocks for line in block)
    outside = Counter(map(str.strip, solution.split("\n"))) - inside
    answers = inside.keys() - outside.keys()
    for name, text in work.items():
        for line in _code(name, text):
            if line in answers:
                raise Refusal(f"{name} would give away the line {line!r} of the solution.")
    for name, text in tests.items():
        lines = [line for line in _code(name, text) if line]
        pairs = set(pairwise(lines))
        for block in blocks:
            if len(block) == 1 and block[0] in lines:
                raise Refusal(f"{name} would give away the answer {block[0]!r}.")
            for pair in pairwise(block):
                if pair in pairs:
                    raise Refusal(f"{name} would give away {pair[0]!r} and the line after it.")


def write(files: Mapping[str, str], out: Path, source: Path) -> None:
    """Put the files into a folder, or into a zip where the name ends so."""
    if out.resolve() == source.resolve().parent:
        raise Refusal(f"{out} holds the solution: name another folder for the release.")
    if out.suffix != ".zip":
        for name, text in files.items():
            write_text(out / name, text)
        return
    with whole(out) as beside, zipfile.ZipFile(beside, "w") as archive:
        for name, text in files.items():
            entry = zipfile.ZipInfo(f"{out.stem}/{name}")  # of 1980, every time
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, text, zipfile.ZIP_DEFLATED)


def _is_hidden(node: ast.AST, short: Set[str] = frozenset()) -> bool:
    """Return whether a marker has ``hidden=True``, or is called like one that has."""
    if isinstance(node, ast.Call) and len(node.args) > HIDDEN_AT:
        return True
    names = "".join(rf"|\b{re.escape(name)}\b" for name in short)
    return bool(re.search(rf"\bhidden=(?!False\b|None\b|0\b){names}", ast.unparse(node)))


def _code(name: str, text: str) -> Iterable[str]:
    """Return the lines of a file, those in a notebook's cells included."""
    if name.endswith(".ipynb"):
        cells = json.loads(text)["cells"]
        text = "\n".join("".join(cell["source"]) for cell in cells)
    return [line.strip() for line in text.split("\n")]

"""The order of the rooms: imports point down; rules are plain Python; files are short."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "fedlab_edu"
LEVEL = {
    "validate": 0, "progress": 0, "tensors": 1, "seeds": 1, "models": 2, "data": 2,
    "training": 3, "features": 3, "oco": 3, "methods": 4, "rounds": 5, "search": 6, "tuners": 7,
    "flower": 6, "papers": 8, "experiments": 8, "widgets": 9, "live": 9,
}  # fmt: skip
COMMAND = {"cli.py"}
FILES = [p for p in sorted(PACKAGE.rglob("*.py")) if p.relative_to(PACKAGE).parts[0] not in COMMAND]
GRADER = PACKAGE.parent / "fedlab_grade"
GRADING = sorted(GRADER.rglob("*.py"))
BENCHMARKS = sorted((PACKAGE.parent / "benchmarks").rglob("*.py"))
RULES = [*PACKAGE.glob("**/rules.py"), PACKAGE / "search/schedules.py"]
RULES += [PACKAGE / "search/neighbours.py"]


def room(parts: tuple[str, ...]) -> str:
    return parts[0].removesuffix(".py")


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_point_down(path):
    here = room(path.relative_to(PACKAGE).parts)
    if here not in LEVEL:
        return  # the package itself
    for module in imported(path):
        name, _, rest = module.partition(".")
        other = rest.partition(".")[0]
        if name == "fedlab_edu" and other and other != here:
            assert LEVEL[other] < LEVEL[here], f"{here} imports {module}"


def test_no_two_modules_of_a_room_import_one_another():
    needs: dict[str, set[str]] = {}
    for path in FILES:
        name = ".".join(("fedlab_edu", *path.relative_to(PACKAGE).with_suffix("").parts))
        needs[name] = {m for m in imported(path) if m.startswith("fedlab_edu.")} - {name}
    done: set[str] = set()
    while ready := {m for m in needs if m not in done and not (needs[m] & needs.keys()) - done}:
        done |= ready
    assert needs.keys() - done == set()


@pytest.mark.parametrize("path", RULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_rules_are_plain_python(path):
    ours = {"fedlab_edu.validate", "fedlab_edu.search.schedules"}
    assert {m for m in imported(path) if m.startswith("fedlab_edu")} <= ours
    assert not {m.partition(".")[0] for m in imported(path)} & {"torch", "numpy", "jaxtyping"}


@pytest.mark.parametrize("path", GRADING, ids=lambda p: str(p.relative_to(GRADER)))
def test_the_grader_takes_nothing_from_the_algorithms_but_the_version(path):
    taken = [
        [alias.name for alias in node.names]
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("fedlab_edu")
    ]
    assert [names for names in taken if names != ["__version__"]] == []
    assert not [m for m in imported(path) if m.startswith("fedlab_edu.")]


@pytest.mark.parametrize("path", GRADING, ids=lambda p: str(p.relative_to(GRADER)))
def test_a_room_of_the_grader_imports_no_other_room(path):
    rooms = {"sandbox", "classroom", "home"}
    here = path.relative_to(GRADER).parts[0]
    for module in imported(path):
        other = module.removeprefix("fedlab_grade.").partition(".")[0]
        if module.startswith("fedlab_grade.") and other in rooms - {here}:
            assert path.name in ("cli.py", "commands.py"), module


@pytest.mark.parametrize(
    "path", [*FILES, *GRADING, *BENCHMARKS], ids=lambda p: str(p.relative_to(GRADER.parent))
)
def test_a_file_fits_in_250_lines_and_a_function_without_its_docstring_in_50(path):
    text = path.read_text()
    assert len(text.splitlines()) <= 250
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            lines = (node.end_lineno or 0) - node.lineno + 1
            if ast.get_docstring(node):
                lines -= (node.body[0].end_lineno or 0) - node.body[0].lineno + 1
            assert lines <= 50, node.name

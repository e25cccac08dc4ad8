"""``make book``: what must fail the build does, nothing stale is kept, nothing is done twice."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.book.conftest import ROOT

pytestmark = pytest.mark.book

HEAD = """---
file_format: mystnb
kernelspec: {name: python3, display_name: Python 3}
---
# A small book
"""
LIVE = HEAD + "\n```{live} fedlab_edu.%s.one\n:view: fedlab_edu.modern.view\n```\n"
CELL = HEAD + "\n```{code-cell}\n%s\n```\n"
MODERN = """def one():
    return [*"ab"]

def view():
    return "<svg></svg>"
"""  # which CPython understands, and MicroPython does not
PACKAGE = '__version__ = "1"\nANSWER = "%s answer"\n'
SETTINGS = (
    "Makefile", "_config.yml", "constraints.txt", "pyproject.toml", "package.json",
    "package-lock.json", "book/_ext", "book/_static", "book/references.bib",
    "fedlab_edu/widgets/columns.py",
)  # fmt: skip


@pytest.fixture
def book(tmp_path):
    """A function that makes a small book with this project's settings and tools."""

    def make(page: str, **others: str) -> Path:
        root = tmp_path / "book"
        for path in SETTINGS:
            target = root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            (shutil.copytree if (ROOT / path).is_dir() else shutil.copy)(ROOT / path, target)
        for tools in (".venv", "node_modules"):
            (root / tools).symlink_to(ROOT / tools)
        listed = "".join(f"\n- file: {name}" for name in others)
        chapters = f"chapters:{listed}\n" if others else ""
        (root / "book/_toc.yml").write_text(f"format: jb-book\nroot: index\n{chapters}")
        for name, text in {"index": page, **others}.items():
            (root / f"book/{name}.md").write_text(text)
        for name in ("fedlab_edu", "fedlab_grade", "exercises", "solutions", "book/records"):
            (root / name).mkdir(exist_ok=True)
        (root / "fedlab_edu/__init__.py").write_text(PACKAGE % "first")
        (root / "fedlab_edu/heavy.py").write_text("import torch\n\ndef one():\n    pass\n")
        (root / "fedlab_edu/modern.py").write_text(MODERN)
        return root

    return make


def start(root: Path) -> subprocess.Popen:
    """Start ``make book`` there; the tools are taken as they are."""
    tools = ["-o", ".venv/book.stamp", "-o", "node_modules/.stamp"]
    outer = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MAKELEVEL")}
    return subprocess.Popen(
        ["make", "book", *tools],
        cwd=root,
        env={**outer, "PYTHONPATH": str(root)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def finish(process: subprocess.Popen) -> tuple[int, str]:
    said, _ = process.communicate(timeout=300)
    return process.returncode, said


def test_a_warning_a_missing_reference_and_a_live_cell_that_cannot_run_each_fail_the_build(book):
    broken = {
        "warning": (CELL % "import warnings; warnings.warn('look')", "stderr was found"),
        "reference": (HEAD + "See {ref}`nowhere`.\n", "undefined label: 'nowhere'"),
        "torch": (
            LIVE % "heavy",
            "fedlab_edu.heavy imports torch, which the browser does not have",
        ),
        "syntax": (LIVE % "modern", "in the browser's Python"),
    }
    root = book(HEAD, **{name: page for name, (page, _) in broken.items()})
    for _ in range(2):  # what failed once fails again, with nothing changed
        code, said = finish(start(root))
        assert code != 0, said
        for name, (_, reason) in broken.items():
            assert re.search(rf"{name}\.md:\d+: (WARNING|ERROR): .*{reason}", said), said
        assert "build finished with problems, 4 warnings" in said  # each of which fails it
        assert not (root / "_build/html").exists()


def test_a_page_that_is_not_in_the_table_of_contents_fails_the_build(book):
    root = book(HEAD)
    (root / "book/extra.md").write_text(HEAD)
    code, said = finish(start(root))
    assert code != 0, said
    assert "_build/html/extra.html is missing: is the chapter in book/_toc.yml?" in said
    assert not (root / "_build/html").exists()


@pytest.mark.nightly
def test_a_page_shows_what_the_package_says_now_is_built_when_needed_and_fails_with_its_cells(book):
    page = CELL % "import fedlab_edu\nprint(fedlab_edu.ANSWER)"
    root = book(f"{page}\n```{{literalinclude}} ../solutions/answer.py\n```\n")
    built, answer = root / "_build/html/index.html", root / "solutions/answer.py"
    answer.write_text("first_solution = 1\n")
    code, said = finish(start(root))
    assert code == 0, said
    assert "first answer" in built.read_text()
    assert "first_solution" in built.read_text()

    code, said = finish(start(root))
    assert (code, said.count("\n")) == (0, 1), said  # where the book is, and no more

    answer.write_text("second_solution = 2\n")
    code, said = finish(start(root))
    assert code == 0, said
    assert "Using cached notebook" in said
    assert "second_solution" in built.read_text()

    (root / "fedlab_edu/__init__.py").write_text(PACKAGE % "second")
    code, said = finish(start(root))
    assert code == 0, said
    assert "second answer" in built.read_text()

    (root / "book/index.md").write_text(CELL % "1 / 0")  # an error in a cell fails the build
    code, said = finish(start(root))
    assert code != 0, said
    assert "ZeroDivisionError" in said
    assert not built.exists()


def test_without_the_scripts_that_pages_carry_the_build_fails_and_says_why(book):
    root = book(HEAD)
    (root / "node_modules").unlink()
    code, said = finish(start(root))
    assert code != 0
    assert "node_modules/mathjax/LICENSE is missing" in said

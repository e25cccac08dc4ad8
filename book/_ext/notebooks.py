"""Write each executed chapter as a notebook that reads well anywhere, and link to it.

JupyterLab and pages of repositories know plain Markdown and LaTeX, but neither MyST's roles and
directives nor the numbers that a page takes from its cells. All of these are written out. Code that
a page folds is collapsed, and what it leaves out is left out. The first cell finds the records,
which lie beside the pages, too, so that a notebook runs in any folder.
"""

import ast
import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nbformat
from pybtex.database import Entry, parse_file
from sphinx.application import Sphinx

from fedlab_edu import __version__

SETUP = f"""\
# Run this cell first. It goes to the folder in which the book's records are.
# Without the package: pip install "fedlab_edu-{__version__}-py3-none-any.whl[book]"
import os
from pathlib import Path

import fedlab_edu

above = Path.cwd(), *Path.cwd().parents, Path(fedlab_edu.__file__).parents[1]
places = [place for folder in above for place in (folder, folder / "book")]
found = [p for p in places if (p / "records/live-curves.json").exists()]
assert found, "put the folder `records` of the book beside this notebook"
os.chdir(found[0])"""
CHAPTER = re.compile(r"ch\d\d_")
ROLE = re.compile(r"\{([a-z:]+)\}`([^`]+)`")
FENCE = re.compile(r"^(`{3,}|:{3,})\{([a-z:-]+)\}([^\n]*)\n(.*?)^\1[ \t]*$", re.M | re.S)
OPTION = re.compile(r"\A(?::[\w-]+:[^\n]*\n)+\n?")
LABELLED = re.compile(r"\{(?:prf:\w+|exercise|figure)\}([^\n]*)\n(?::[^\n]*\n)*?:label: (\S+)")


class Book:
    """What the pages refer to: citations, labels, and titles."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.entries: Mapping[str, Entry] = parse_file(folder / "references.bib").entries
        texts = {path.stem: path.read_text(encoding="utf-8") for path in folder.glob("*.md")}
        self.names = {
            label: re.sub(r" ?\{cite:\w\}`[^`]*`", "", title).strip() or "the exercise"
            for text in texts.values()
            for title, label in LABELLED.findall(text)
        }
        for name, text in texts.items():
            self.names[name] = next(iter(re.findall(r"^# (.+)$", text, re.M)), name)
            for label, title in re.findall(r"^\(([\w-]+)\)=\n+#+ (.+)$", text, re.M):
                self.names[label] = title

    def cite(self, keys: str, bracketed: bool) -> str:
        """Return "Author et al. (year)", or "(Author et al., year)", for each key."""
        found = []
        for key in keys.split(","):
            entry = self.entries[key.strip()]
            names = [" ".join(person.last_names).strip("{}") for person in entry.persons["author"]]
            who = " and ".join(names) if len(names) < 3 else f"{names[0]} et al."
            year = entry.fields.get("year", "")
            found.append(f"{who}, {year}" if bracketed else f"{who} ({year})")
        return f"({'; '.join(found)})" if bracketed else ", ".join(found)


def plain(text: str, glued: Mapping[str, str], book: Book) -> str:
    """Return MyST's Markdown as plain Markdown."""
    while found := FENCE.search(text):
        text = text[: found.start()] + _directive(*found.groups()[1:], book) + text[found.end() :]
    text = re.sub(r"^\([\w-]+\)=\n", "", text, flags=re.M)
    return ROLE.sub(lambda role: _role(role[1], role[2], glued, book), text)


def _directive(kind: str, argument: str, body: str, book: Book) -> str:
    options, body = (OPTION.search(body) or [""])[0], OPTION.sub("", body).strip("\n")
    argument = argument.strip()
    if kind == "math":
        return f"$$\n{body}\n$$"
    if kind == "literalinclude":
        (name,) = re.findall(r":pyobject: (\w+)", options) or [""]
        return f"```python\n{_source(book.folder / argument, name)}\n```"
    if kind == "live":
        return f"*A live cell, `{argument.rpartition('.')[2]}`: it runs in the book's page.*"
    title = {"exercise": "Exercise", "solution": "Solution", "prf:proof": "Proof"}.get(kind, "")
    title = argument if kind.startswith(("prf:", "admonition")) and argument else title
    return f"**{title or kind.rpartition(':')[2].capitalize()}**\n\n{body}"


def _source(path: Path, name: str) -> str:
    text = path.read_text(encoding="utf-8")
    if not name:
        return text.strip("\n")
    for node in ast.parse(text).body:
        if getattr(node, "name", "") == name:
            return ast.get_source_segment(text, node) or ""
    raise ValueError(f"pyobject is {name!r}; allowed: what {path.name} defines")


def _role(kind: str, text: str, glued: Mapping[str, str], book: Book) -> str:
    shown, target = (re.findall(r"^(.*?)\s*<([^>]+)>$", text, re.S) or [("", text)])[0]
    if kind == "glue:text":
        name, _, form = target.partition(":")
        value = glued[name].strip("'")
        return format(ast.literal_eval(value), form) if form else value
    if kind.startswith("cite:"):
        return book.cite(target, kind == "cite:p")
    if kind == "eq":
        return f"the equation `{target}`"
    return shown or book.names.get(target, target)


def convert(notebook: Any, glued: Mapping[str, str], book: Book, macros: Mapping[str, str]) -> Any:
    """Return the notebook with plain Markdown, collapsed code where the page folds it."""
    defined = "".join(f"$\\newcommand{{\\{name}}}{{{tex}}}$" for name, tex in macros.items())
    cells = [nbformat.v4.new_markdown_cell(defined), nbformat.v4.new_code_cell(SETUP)]
    for cell in notebook.cells:
        tags = cell.metadata.get("tags", [])
        if "remove-cell" in tags:
            continue
        if cell.cell_type == "markdown":
            cell.source = plain(cell.source, glued, book)
        elif {"hide-input", "remove-input"} & {*tags}:
            cell.metadata["jupyter"] = {"source_hidden": True}
        cells.append(cell)
        if caption := cell.metadata.get("mystnb", {}).get("figure", {}).get("caption"):
            cells.append(nbformat.v4.new_markdown_cell(f"*{' '.join(caption.split())}*"))
    return nbformat.v4.new_notebook(cells=cells, metadata=notebook.metadata)


def write(app: Sphinx, error: Exception | None) -> None:
    """Write a notebook beside each chapter's page."""
    executed = Path(app.outdir).parent / "jupyter_execute"
    if error or not executed.exists():
        return
    book, macros = Book(Path(app.srcdir)), app.config.mathjax3_config["tex"]["macros"]
    for path in sorted(executed.glob("ch*.ipynb")):
        if path.stem not in app.env.found_docs:
            continue
        kept = path.with_name(f"{path.stem}.glue.json")
        stored = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
        glued = {name: value["data"].get("text/plain", "") for name, value in stored.items()}
        notebook = convert(nbformat.read(path, 4), glued, book, macros)
        nbformat.write(notebook, Path(app.outdir, path.name))
    shutil.copytree(Path(app.srcdir, "records"), Path(app.outdir, "records"), dirs_exist_ok=True)


def offer(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Put links to the notebook and to the reader's answers under a chapter's title."""
    if CHAPTER.match(page):
        links = f'<a href="{page}.ipynb" download>Download this page as a notebook</a>'
        links += ' · <a href="progress.html">Your progress</a>'
        context["body"] = context["body"].replace(
            "</h1>", f'</h1>\n<p class="fedlab-download">{links}</p>', 1
        )


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", offer)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

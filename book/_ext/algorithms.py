"""What the pages of algorithms take from the package: options, results, and how to cite.

    ```{options} fedlab_edu.tuners.fedex.tuner.FedEx
    :without: thetas rounds
    step: |
      the paper's recommendation; ...
    ```

lists each argument that has a default, with its default, its docstring, and the text given here.
The build fails if an option has no text, or a text no option. `{results} fedex-table1` is a table
of all claims of an experiment, from the records; `{bibtex} khodak2021` shows entries to copy.
"""

import inspect
import re
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import yaml
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

ENTRY = re.compile(r"^    (\w[\w, ]*): (.*?)(?=^    \w[\w, ]*: |^\S|\Z)", re.M | re.S)


def described(text: str) -> dict[str, str]:
    """Return what a docstring's Args or Fields say of each name."""
    parts = re.split(r"^(?:Args|Fields):\n", text, flags=re.M)
    body = re.split(r"^\S", parts[1], flags=re.M)[0] if len(parts) > 1 else ""
    return {
        name.strip(): " ".join(said.split())
        for names, said in ENTRY.findall(body)
        for name in names.split(",")
    }


class Options(SphinxDirective):
    """The options of a class or function."""

    required_arguments, has_content = 1, True
    option_spec = {"without": directives.unchanged}  # noqa: RUF012

    def run(self) -> list[nodes.Node]:
        of = resolve_name(self.arguments[0])
        left_out = self.options.get("without", "").split()
        given = yaml.safe_load("\n".join(self.content))
        said = described(inspect.getdoc(of) or "")
        defaults = {
            name: parameter.default
            for name, parameter in inspect.signature(of).parameters.items()
            if parameter.default is not parameter.empty and name not in left_out
        }
        if set(given) != set(defaults):
            raise ExtensionError(
                f"{self.arguments[0]}: the options are {sorted(defaults)}, "
                f"and the page has text for {sorted(given)}"
            )
        lines = ["First what an option does here; *paper* and *code* are the authors'.", ""]
        for name, default in defaults.items():
            shown = "" if "object" in repr(default) or "<" in repr(default) else f" = {default!r}"
            head = f"`{name}{shown}`\n: " + (_first_upper(said[name]) if name in said else "")
            lines += [head, "", *(f"  {line}" for line in given[name].splitlines()), ""]
        return self.parse_text_to_nodes("\n".join(lines))


def _first_upper(text: str) -> str:
    return text[:1].upper() + text[1:]


@cache
def judged(folder: Path) -> list[Any]:
    """Return all claims that the records can judge."""
    return resolve_name("fedlab_edu.papers.verdicts.verdicts")(folder)  # type: ignore[no-any-return]


class Results(SphinxDirective):
    """The claims of experiments, each with its difference and verdict."""

    required_arguments, optional_arguments = 1, 20

    def run(self) -> list[nodes.Node]:
        found = [
            one
            for one in judged(Path(self.env.srcdir, "records"))
            if one.experiment in self.arguments and one.scale == "book" and one.differences
        ]
        if missing := {*self.arguments} - {one.experiment for one in found}:
            raise ExtensionError(f"{sorted(missing)} have no claim with records")
        experiments = resolve_name("fedlab_edu.papers.reproduce.EXPERIMENTS")
        lines = ["| | claimed to be better | than | data | difference | seeds | verdict |"]
        lines += ["|---|---|---|---|---|---|---|"]
        for one in found:
            _, _, place = experiments[one.experiment].source.partition(", ")
            difference = f"{one.mean:+.1f} ± {one.half:.1f}".replace("-", "−")
            lines.append(
                f"| {place} | {one.better} | {one.worse} | {one.dataset} | {difference} "
                f"| {len(one.differences)} | {one.verdict} |"
            )
        return self.parse_text_to_nodes("\n".join(lines))


class Bibtex(SphinxDirective):
    """Entries of the bibliography, to copy."""

    required_arguments, optional_arguments = 1, 20

    def run(self) -> list[nodes.Node]:
        relative, file = self.env.relfn2path("/references.bib")
        self.env.note_dependency(relative)
        entries = re.split(r"\n(?=@)", Path(file).read_text(encoding="utf-8"))
        of = {entry.partition("{")[2].partition(",")[0]: entry.strip() for entry in entries}
        text = "\n\n".join(of[key] for key in self.arguments)
        return [nodes.literal_block(text, text, language="bibtex")]


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("options", Options)
    app.add_directive("results", Results)
    app.add_directive("bibtex", Bibtex)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""The reference has each module of the package that defines something public, once."""

import ast
import re
import sys
from collections import Counter
from pathlib import Path

from docutils.core import publish_doctree
from sphinx.pycode import ModuleAnalyzer

import fedlab_edu
from fedlab_edu.tuners.fedex import FedEx

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "book/_ext"))
import reference  # noqa: E402

PAGES = sorted((ROOT / "book/reference").glob("*.md"))
ROOMS = [name for page in PAGES for name in re.findall(r"\{room\} (.+)", page.read_text("utf-8"))]
ELSEWHERE = {"live", "cli", "__main__", "__init__"}  # the pages' own tools and the command line


def test_every_room_of_the_package_stands_on_one_page_of_the_reference():
    package = Path(fedlab_edu.__file__).parent
    rooms = {path.stem for path in package.glob("*.py")} - ELSEWHERE
    rooms |= {path.parent.name for path in package.glob("*/*.py")} - ELSEWHERE
    assert Counter(room for line in ROOMS for room in line.split()) == dict.fromkeys(rooms, 1)


def test_every_public_name_is_defined_in_a_module_that_the_reference_shows():
    shown = {name for line in ROOMS for room in line.split() for name in reference.modules(room)}
    homes = {name: getattr(fedlab_edu, name).__module__ for name in fedlab_edu.__all__}
    assert {name: home for name, home in homes.items() if home not in shown} == {}


def test_a_name_in_a_docstring_is_linked_to_what_its_module_means_by_it():
    lines = ["See `gradient` and `LocalHP`, |V_i| * x, *Local perturbation*, `nothing`."]
    reference.escape(None, "class", "fedlab_edu.tuners.fedex.tuner.FedEx", FedEx, None, lines)
    assert lines == [
        "See :py:obj:`gradient <fedlab_edu.tuners.fedex.rules.gradient>` and "
        ":py:obj:`LocalHP <fedlab_edu.training.hparams.LocalHP>`, \\|V_i\\| \\* x, "
        "*Local perturbation*, ``nothing``."
    ]
    text = publish_doctree(lines[0].replace(":py:obj:", "")).astext()
    assert "|V_i| * x, Local perturbation, nothing." in text


def test_code_in_a_docstring_stays_as_it_is():
    code = ["    def ask(self, *, who):", "", "        return *who, 2 * 3"]
    lines = ["A * B::", "", *code, "", "C * D."]
    reference.escape(None, "class", "fedlab_edu.tuners.fedex.tuner.FedEx", FedEx, None, lines)
    assert lines == ["A \\* B::", "", *code, "", "C \\* D."]


def test_a_signature_shows_types_and_no_addresses():
    given = (
        "(lr: ~typing.Annotated[float, <function share at 0x7f1>] = 0.0, *, how: ~typing.Annotated"
        "[~typing.Literal['a', 'b'], functools.partial(<function f.<locals>.g at 0x7f2>, least=1)]"
        " = 'a', c: LocalHP = <factory>)"
    )
    shown, _ = reference.plain(None, "class", "FedEx", FedEx, None, given, "None")
    assert shown == "(lr: float = 0.0, *, how: ~typing.Literal['a', 'b'] = 'a', c: LocalHP = ...)"


def test_the_text_of_a_property_has_no_colon_which_the_reference_takes_for_a_type():
    for path in sorted(Path(fedlab_edu.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef) and "property" in map(
                ast.unparse, node.decorator_list
            ):
                first = (ast.get_docstring(node) or "").partition("\n")[0]
                assert ": " not in first, f"{path.name}: {node.name}"


def test_sphinx_can_read_the_source_of_each_module():
    for path in sorted(Path(fedlab_edu.__file__).parent.rglob("*.py")):
        ModuleAnalyzer.for_string(path.read_text("utf-8"), path.stem).analyze()  # or no source page

"""Typical answers, right and wrong: functions that are spliced into the solution and graded.

They stand in one module for each assignment, ``mutants.py`` beside its tests:

    from fedlab_grade.mutants import edits, right, wrong

    @wrong("q1", "each entry", "each entry is clipped by itself")
    def clip(v, bound):
        return v.clamp(-bound, bound)

    @edits("q1", {"stretched": ("a short vector is stretched", "(max=1)", "()")})
    def clip(v, bound):
        return v * (bound / v.norm()).clamp(max=1)

    @right
    class short:
        def clip(v, bound): ...
        def clipped_mean(V, bound): ...

All other functions of an answer are the solution's, and these keep calling the solution's, so that
one mistake fails one question. A class holds an answer of several definitions. Imports and
undecorated functions go along with each answer.
"""

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from fedlab_grade.options import Refusal
from fedlab_grade.textfile import Unusable, text_of

_T = TypeVar("_T")
_Marked = tuple[str, list[ast.stmt], str, str, str]  # where, definitions, question, name, hint
_MARKER = re.compile(r"(edits|right|wrong)(\(|$)")
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
# The solution's functions find one another in a namespace of their own.
TEXT = """\
{rest}

_solution = {{"__name__": __name__}}
exec({solution!r}, _solution)
globals().update({{name: value for name, value in _solution.items() if name[:2] != "__"}})

{answer}
"""


def wrong(question: str, name: str, hint: str) -> Callable[[_T], _T]:
    """Mark a wrong answer.

    Args:
        question: the only question that it fails.
        name: a few words on the mistake, unique within the module.
        hint: a regular expression that a message to the student must match.
    """
    return lambda answer: answer


def right(answer: _T) -> _T:
    """Mark a right answer, which gets full marks. It is called by the name of its class."""
    return answer


def edits(question: str, answers: dict[str, tuple[str, str, str]]) -> Callable[[_T], _T]:
    """Mark a function of which wrong answers are made, each by one replacement in its text.

    The function itself is no answer. The statement ``edits(...)`` edits the solution's functions.

    Args:
        question: the only question that each of them fails.
        answers: name -> (hint, old text, new text), see `wrong`. The old text stands there once.
    """
    return lambda answer: answer


def include(module: str, question: str) -> None:
    """Add the answers of another module, in which N stands for the question.

    Args:
        module: a file in the same folder, which includes none itself. For the question ex04.6, its
            ``@wrong("N", ...)`` and ``table_N`` are read as ``@wrong("ex04.6", ...)``, ``table_6``.
    """


@dataclass(frozen=True)
class Mutant:
    """A typical answer.

    Fields:
        name: unique within its module.
        text: the whole file, as a student would hand it in.
        question: the question that it fails, "" for a right answer.
        hint: a regular expression that a message to the student must match, "" for a right answer.
        functions: those of the solution that it defines otherwise.
    """

    name: str
    text: str
    question: str = ""
    hint: str = ""
    functions: tuple[str, ...] = ()


def read_mutants(path: Path, solution: str) -> list[Mutant]:
    """Read the typical answers in a module, and splice each into the text of the solution.

    Raises:
        Refusal: the module cannot be read, a marker is not understood, a name stands twice, an
            edit's old text does not stand once, or an answer defines nothing that the solution
            defines.
    """
    answers: dict[str, Mutant] = {}
    for where, answer in _read(path, solution):
        if answer.name in answers:
            raise Refusal(f"{where}: {answer.name!r} is the name of another answer.")
        answers[answer.name] = answer
    return [*answers.values()]


def _read(path: Path, solution: str, question: str = "") -> Iterator[tuple[str, Mutant]]:
    """Yield the answers of a module and where they stand; first those of modules that it includes.

    Args:
        question: what N stands for.
    """
    try:
        text = text_of(path.read_bytes())
    except Unusable as problem:
        raise Refusal(f"{path} {problem}.") from None
    if question:
        text = text.replace('"N"', f'"{question}"')
        text = re.sub(r"(?<=_)N\b", question.rpartition(".")[2], text)
    try:
        module = ast.parse(text)
    except SyntaxError as error:
        raise Refusal(f"{path.name}, line {error.lineno}: {error.msg}.") from None
    top = (node for node in ast.parse(solution).body if isinstance(node, _DEFINITIONS))
    known = {node.name: ast.get_source_segment(solution, node) or "" for node in top}
    rest: list[ast.stmt] = []
    marked: list[_Marked] = []
    for node in module.body:
        where = f"{path.name}, line {node.lineno}"
        call = node.value if isinstance(node, ast.Expr) else None
        markers = [d for d in getattr(node, "decorator_list", ()) if _MARKER.match(ast.unparse(d))]
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and markers:
            node.decorator_list.remove(markers[0])
            marked += _answers(where, markers[0], node, text)
        elif isinstance(call, ast.Call) and ast.unparse(call.func) == "edits":
            marked += _edited(where, call, known)
        elif isinstance(call, ast.Call) and not question:
            words = _words(call)
            if len(words) != 2:
                raise Refusal(f'{where}: write include("module.py", "question").')
            other = path.parent / words[0]
            if not other.is_file():
                raise Refusal(f"{where}: there is no {other} to include.")
            yield from _read(other, solution, words[1])
        elif not (isinstance(node, ast.ImportFrom) and node.module == __name__):
            rest.append(node)
    for where, body, asked, name, hint in marked:
        made = [n.name for n in body if isinstance(n, _DEFINITIONS) and n.name in known]
        if not made:
            there = ", ".join(known)
            raise Refusal(f"{where}: the solution has no such function; it has: {there}.")
        whole = TEXT.format(rest=_text(rest), solution=solution, answer=_text(body))
        yield where, Mutant(name, whole, asked, hint, tuple(made))


def _text(nodes: Sequence[ast.stmt]) -> str:
    return ast.unparse(ast.Module([*nodes], []))


def _answers(
    where: str, marker: ast.expr, node: ast.FunctionDef | ast.ClassDef, text: str
) -> list[_Marked]:
    """Return the answers of a marked definition in the text of a module."""
    body: list[ast.stmt] = node.body if isinstance(node, ast.ClassDef) else [node]
    if ast.unparse(marker) == "right":
        return [(where, body, "", node.name, "")]
    if isinstance(marker, ast.Call) and ast.unparse(marker.func) == "edits":
        return _edited(where, marker, {node.name: ast.get_source_segment(text, node) or ""})
    words = _words(marker) if isinstance(marker, ast.Call) else []
    if not ast.unparse(marker).startswith("wrong") or len(words) != 3 or not all(words):
        raise Refusal(f'{where}: write @right, or @wrong("question", "name", "hint").')
    return [(where, body, words[0], words[1], words[2])]


def _edited(where: str, marker: ast.Call, texts: dict[str, str]) -> list[_Marked]:
    """Return the answers of ``edits(question, answers)``, applied to texts of functions."""
    try:
        question, table = map(ast.literal_eval, marker.args)
        rows = [(name, *words) for name, words in table.items()]
        if not all(len(row) == 4 and all(isinstance(text, str) for text in row) for row in rows):
            raise ValueError
    except (AttributeError, TypeError, ValueError):
        form = 'edits("question", {"name": ("hint", "old text", "new text")})'
        raise Refusal(f"{where}: write {form}.") from None
    marked: list[_Marked] = []
    for name, hint, old, new in rows:
        edit = f"{where}, {question}, {name!r}"
        count = sum(text.count(old) for text in texts.values())
        if count != 1:
            raise Refusal(f"{edit}: {old!r} stands {count} times in the text, expected once.")
        (text,) = (text for text in texts.values() if old in text)
        try:
            body = ast.parse(text.replace(old, new)).body
        except (SyntaxError, ValueError) as error:  # ValueError: half a surrogate
            raise Refusal(f"{edit}: with {new!r} it is {getattr(error, 'msg', error)}.") from None
        marked.append((where, body, question, name, hint))
    return marked


def _words(call: ast.Call) -> list[str]:
    """Return the arguments of a call that are texts; [] if it has named ones."""
    values = [node.value for node in call.args if isinstance(node, ast.Constant)]
    return [] if call.keywords else [value for value in values if isinstance(value, str)]

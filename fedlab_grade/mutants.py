"""Typical answers, right and wrong: functions that are spliced into the solution and graded.

They stand in one module for each assignment, ``mutants.py`` beside its tests:

    from fedlab_grade.mutants import right, wrong

    @wrong("q1", "each entry", "each entry is clipped by itself")
    def clip(v, bound):
        return v.clamp(-bound, bound)

    @right
    class short:
        def clip(v, bound): ...
        def clipped_mean(V, bound): ...

Nothing else of an answer is written: all other functions are the solution's, and these keep calling
the solution's, so that one mistake fails one question. A class holds an answer of several
definitions. Imports and undecorated functions of the module go along. Answers that several
questions share stand once, in a module that is included for each of them.
"""

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

_T = TypeVar("_T")
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
        ValueError: the module cannot be read, a marker is not understood, a name stands twice, or
            an answer defines nothing that the solution defines.
    """
    answers: dict[str, Mutant] = {}
    for where, answer in _read(path, solution):
        if answer.name in answers:
            raise ValueError(f"{where}: {answer.name!r} is the name of another answer")
        answers[answer.name] = answer
    return [*answers.values()]


def _read(path: Path, solution: str, question: str = "") -> Iterator[tuple[str, Mutant]]:
    """Yield the answers of a module and where they stand; first those of modules that it includes.

    Args:
        question: what N stands for.
    """
    text = path.read_text(encoding="utf-8")
    if question:
        text = text.replace('"N"', f'"{question}"')
        text = re.sub(r"(?<=_)N\b", question.rpartition(".")[2], text)
    try:
        module = ast.parse(text)
    except SyntaxError as error:
        raise ValueError(f"{path.name}, line {error.lineno}: {error.msg}") from None
    rest: list[ast.stmt] = []
    marked: list[tuple[str, ast.stmt, tuple[str, str, str]]] = []
    for node in module.body:
        where = f"{path.name}, line {node.lineno}"
        if marker := _take_marker(node, where):
            marked.append((where, node, marker))
        elif not question and isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            words = _words(node.value)
            if len(words) != 2:
                raise ValueError(f'{where}: write include("module.py", "question")')
            yield from _read(path.with_name(words[0]), solution, words[1])
        elif not (isinstance(node, ast.ImportFrom) and node.module == __name__):
            rest.append(node)
    known = [node.name for node in ast.parse(solution).body if isinstance(node, _DEFINITIONS)]
    for where, node, (asked, name, hint) in marked:
        body = node.body if isinstance(node, ast.ClassDef) else [node]
        made = [n.name for n in body if isinstance(n, _DEFINITIONS) and n.name in known]
        if not made:
            there = ", ".join(known)
            raise ValueError(f"{where}: the solution has no such function; it has: {there}")
        whole = TEXT.format(rest=_text(rest), solution=solution, answer=_text(body))
        yield where, Mutant(name, whole, asked, hint, tuple(made))


def _text(nodes: Sequence[ast.stmt]) -> str:
    return ast.unparse(ast.Module([*nodes], []))


def _take_marker(node: ast.stmt, where: str) -> tuple[str, str, str] | None:
    """Take ``@wrong(...)`` or ``@right`` off a definition, and return question, name and hint.

    Of a right answer these are "", the name of its class, and "".
    """
    for decorator in getattr(node, "decorator_list", []):
        kind, _, given = ast.unparse(decorator).partition("(")
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and kind in ("wrong", "right"):
            node.decorator_list.remove(decorator)
            words = _words(decorator) if isinstance(decorator, ast.Call) else []
            if kind == "right" and not given:
                return "", node.name, ""
            if kind == "right" or len(words) != 3 or not all(words):
                raise ValueError(f'{where}: write @right, or @wrong("question", "name", "hint")')
            return words[0], words[1], words[2]
    return None


def _words(call: ast.Call) -> list[str]:
    """Return the arguments of a call that are texts; [] if it has named ones."""
    values = [node.value for node in call.args if isinstance(node, ast.Constant)]
    return [] if call.keywords else [value for value in values if isinstance(value, str)]

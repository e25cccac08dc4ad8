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
definitions. Imports and undecorated functions of the module go along where they are used. Answers
that several questions share stand once, in a module that is included for each of them.
"""

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

_T = TypeVar("_T")
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


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
    """

    name: str
    text: str
    question: str = ""
    hint: str = ""


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
    rest: dict[str, ast.stmt] = {}  # by the names that they bind
    marked: list[tuple[ast.FunctionDef | ast.ClassDef, ast.expr]] = []
    for node in _parse(text, path.name).body:
        marker = _marker(node)
        if marker is not None and isinstance(node, ast.FunctionDef | ast.ClassDef):
            marked.append((node, marker))
        elif not question and isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            words = _words(node.value)
            if len(words) != 2:
                told = 'write include("module.py", "question")'
                raise ValueError(f"{path.name}, line {node.lineno}: {told}")
            yield from _read(path.with_name(words[0]), solution, words[1])
        elif not (isinstance(node, ast.ImportFrom) and node.module == __name__):
            rest |= dict.fromkeys(_bound(node), node)
    for node, marker in marked:
        where = f"{path.name}, line {node.lineno}"
        question, name, hint = _fields(node, marker, where)
        body = node.body if isinstance(node, ast.ClassDef) else [_bare(node)]
        text = _splice(_used(body, rest), body, solution, where)
        yield where, Mutant(name, text, question, hint)


def _parse(text: str, name: str) -> ast.Module:
    try:
        return ast.parse(text)
    except SyntaxError as error:
        raise ValueError(f"{name}, line {error.lineno}: {error.msg}") from None


def _marker(node: ast.stmt) -> ast.expr | None:
    """Return the decorator ``@wrong(...)`` or ``@right``."""
    for decorator in getattr(node, "decorator_list", []):
        name = decorator.func if isinstance(decorator, ast.Call) else decorator
        if isinstance(name, ast.Name) and name.id in ("wrong", "right"):
            return decorator
    return None


def _fields(
    node: ast.FunctionDef | ast.ClassDef, marker: ast.expr, where: str
) -> tuple[str, str, str]:
    """Return question, name and hint; of a right answer "", the name and ""."""
    if isinstance(marker, ast.Name) and marker.id == "right":
        return "", node.name, ""
    words = _words(marker) if isinstance(marker, ast.Call) else []
    if len(words) != 3 or not all(words):
        raise ValueError(f'{where}: write @right, or @wrong("question", "name", "hint")')
    return words[0], words[1], words[2]


def _words(call: ast.Call) -> list[str]:
    """Return the arguments of a call that are texts; [] if it has named ones."""
    values = [node.value for node in call.args if isinstance(node, ast.Constant)]
    return [] if call.keywords else [value for value in values if isinstance(value, str)]


def _bare(node: ast.FunctionDef | ast.ClassDef) -> ast.stmt:
    """Remove the marker."""
    node.decorator_list = [d for d in node.decorator_list if d is not _marker(node)]
    return node


def _bound(node: ast.stmt) -> list[str]:
    """Return the names that a statement of a module binds."""
    if isinstance(node, _DEFINITIONS):
        return [node.name]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [(a.asname or a.name).partition(".")[0] for a in node.names]
    stored = (n for n in ast.walk(node) if isinstance(n, ast.Name))
    return [n.id for n in stored if isinstance(n.ctx, ast.Store)]


def _used(body: list[ast.stmt], rest: dict[str, ast.stmt]) -> list[ast.stmt]:
    """Return the statements of the module that an answer needs, in their order."""
    needed: list[ast.stmt] = []
    todo, own = list(body), {name for node in body for name in _bound(node)}
    while todo:
        for name in _names(todo.pop()) - own:
            node = rest.get(name)
            if node is not None and node not in needed:
                needed.append(node)
                todo.append(node)
    return sorted(needed, key=lambda node: node.lineno)


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}


def _splice(needed: list[ast.stmt], body: list[ast.stmt], solution: str, where: str) -> str:
    """Return the solution with the answer's definitions in the place of its own."""
    new = frozenset(node.name for node in body if isinstance(node, _DEFINITIONS))
    there = [node.name for node in ast.parse(solution).body if isinstance(node, _DEFINITIONS)]
    if new.isdisjoint(there):
        names = ", ".join(there)
        raise ValueError(f"{where}: the solution has no such function; it has: {names}")
    return f"{_rest(solution, new)}\n\n{ast.unparse(ast.Module([*needed, *body], []))}\n"


@lru_cache
def _rest(solution: str, names: frozenset[str]) -> str:
    """Return the solution, in which functions of these names are called otherwise."""
    tree: ast.AST = ast.parse(solution)
    for name in names:
        tree = _Renamed(name).visit(tree)
    return ast.unparse(tree)


class _Renamed(ast.NodeTransformer):
    """Rename a function of the solution, and each use of it."""

    def __init__(self, name: str) -> None:
        self.old, self.new = name, f"_solution_{name}"

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if node.name == self.old:
            node.name = self.new
        local = {a.arg for a in ast.walk(node.args) if isinstance(a, ast.arg)}
        stored = (n for n in ast.walk(node) if isinstance(n, ast.Name))
        local |= {n.id for n in stored if isinstance(n.ctx, ast.Store)}
        return node if self.old in local else self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if node.id == self.old:
            node.id = self.new
        return node

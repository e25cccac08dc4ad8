"""Decide which statements of a notebook count: what makes the answers, and what these look up."""

import ast
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property

from fedlab_grade.notebook.names import (
    Block,
    Definition,
    Import,
    bound,
    changed,
    definitions,
    looked_up,
    outside_lambdas,
)


@dataclass(frozen=True)
class Statement:
    """A statement of a cell, and the lines of that cell."""

    cell: int
    node: ast.stmt
    lines: list[str]

    @cached_property
    def sets(self) -> set[str]:
        """The names that it binds, deletes or changes."""
        return {*bound(self.node), *changed(self.node)}

    @cached_property
    def reads(self) -> set[str]:
        """The global names that it looks up, then or later."""
        return looked_up(self.node)


def needed_names(statements: Collection[Statement], names: Collection[str]) -> set[str]:
    """Return the names that the answers look up, directly or not.

    Args:
        names: of the answers; without them all functions and classes, or else everything.
    """
    setting: dict[str, list[Statement]] = defaultdict(list)
    for statement in statements:
        for name in statement.sets:
            setting[name].append(statement)
    needed: set[str] = set()
    done: set[int] = set()
    made = (s for s in statements if definitions(s.node) or _is_lambda(s.node))
    todo = [*names] or [name for s in made for name in s.sets] or [*setting]
    while todo:
        name = todo.pop()
        needed.add(name)
        for statement in setting.pop(name, ()):
            if id(statement) not in done:
                done.add(id(statement))
                todo += statement.reads
    return needed


def _is_lambda(node: ast.stmt) -> bool:
    return isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda)


def is_kept(statement: Statement, needed: Collection[str]) -> bool:
    """Whether a statement counts."""
    node = statement.node
    if isinstance(node, Block) and not all(map(_is_simple, inside(node))):
        return False
    makes = isinstance(node, Definition | Import) or (
        isinstance(node, Block) and any(isinstance(n, Definition | Import) for n in inside(node))
    )
    return makes or (_is_simple(node) and not statement.sets.isdisjoint(needed))


def _is_simple(node: ast.stmt) -> bool:
    """Whether it makes or changes something without a loop, or only passes or prints."""
    value = node.value if isinstance(node, ast.Expr) else None
    if isinstance(value, ast.Call):
        prints = isinstance(value.func, ast.Name) and value.func.id == "print"
        return prints and not any(isinstance(n, ast.Call) for a in value.args for n in ast.walk(a))
    if isinstance(node, Definition | Import | Block | ast.Pass) or isinstance(value, ast.Constant):
        return True
    assigns = isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign) and node.value
    return bool(assigns or isinstance(node, ast.Delete)) and not any(
        isinstance(n, ast.Await | ast.Yield | ast.YieldFrom) for n in outside_lambdas(node)
    )


def inside(node: ast.stmt) -> Iterator[ast.stmt]:
    """Yield a statement, or instead of a block those within it."""
    if not isinstance(node, Block):
        yield node
        return
    handlers = node.handlers if isinstance(node, ast.Try) else []
    for body in (
        *(h.body for h in handlers),
        node.body,
        getattr(node, "orelse", []),
        getattr(node, "finalbody", []),
    ):
        for inner in body:
            yield from inside(inner)

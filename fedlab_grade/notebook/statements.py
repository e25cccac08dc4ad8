"""Decide which statements of a notebook count: what makes the answers, and what these look up."""

import ast
import builtins
import dis
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from types import CodeType

Import = ast.Import | ast.ImportFrom
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Block = ast.If | ast.With | ast.Try
BUILTINS = frozenset(dir(builtins))

_SIMPLE = Definition | Import | Block | ast.Pass | ast.Delete | ast.Assign | ast.AnnAssign
_SIMPLE |= ast.AugAssign | getattr(ast, "TypeAlias", ast.Pass)  # `type X = ...`, in Python 3.12
_WAITS = ast.Await | ast.Yield | ast.YieldFrom
_SETS = {"STORE_NAME", "DELETE_NAME", "STORE_GLOBAL"}
_READS = {"LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS"}


@dataclass(eq=False)
class Statement:
    """A statement of a cell.

    Fields:
        binds: the names that it binds or deletes; sets: these, and those of which it changes an
            entry or an attribute; reads: the global names that it looks up, then or later.

    Raises:
        SyntaxError, ValueError, MemoryError, RecursionError: Python cannot compile it.
    """

    cell: int
    node: ast.stmt
    binds: set[str] = field(init=False)
    sets: set[str] = field(init=False)
    reads: set[str] = field(init=False)

    def __post_init__(self) -> None:
        module, flags = ast.Module([self.node], []), ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        code: CodeType = compile(module, "cell", "exec", flags, dont_inherit=True)
        self.binds = _used(code, _SETS)
        self.sets = {*self.binds, *_changed(self.node)}
        self.reads, todo = set(), [code]
        while todo:
            code = todo.pop()
            self.reads |= _used(code, _READS)
            todo += [inner for inner in code.co_consts if isinstance(inner, CodeType)]

    @property
    def made(self) -> list[Definition]:
        """The functions and classes that it makes, those of its blocks included."""
        return [n for n in here(self.node) if isinstance(n, Definition)]

    def is_kept(self, needed: Collection[str]) -> bool:
        """Whether it counts: without a loop or a call by itself, and it makes what is needed."""
        makes = any(isinstance(n, Definition | Import) for n in here(self.node))
        simple = all(map(_is_simple, here(self.node)))
        return simple and (makes or not self.sets.isdisjoint(needed))


def needed_names(statements: Collection[Statement], names: Collection[str]) -> set[str]:
    """Return the names that the answers look up, directly or not.

    Args:
        names: of the answers; without them all functions and classes, or else everything.
    """
    setting: dict[str, list[Statement]] = defaultdict(list)
    for statement in statements:
        for name in statement.sets:
            setting[name].append(statement)
    made = (s for s in statements if s.made or isinstance(getattr(s.node, "value", 0), ast.Lambda))
    todo = [*names] or [name for s in made for name in s.sets] or [*setting]
    needed: set[str] = set()
    while todo:
        name = todo.pop()
        needed.add(name)
        todo += [read for statement in setting.pop(name, ()) for read in statement.reads]
    return needed


def here(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all within it, except the insides of functions and classes."""
    todo = [node]  # no recursion, because a long sum is as deep as it has terms
    while todo:
        yield (node := todo.pop())
        if not isinstance(node, Definition | ast.Lambda):
            todo += reversed([*ast.iter_child_nodes(node)])


def is_stub(node: ast.AST) -> bool:
    """Whether a function, or all those of a class, only raise NotImplementedError."""
    if isinstance(node, ast.ClassDef):
        inner = [n for n in node.body if isinstance(n, Definition)]
        return bool(inner) and all(map(is_stub, inner))
    last = node.body[-1] if isinstance(node, Definition) else None
    names = [getattr(n, "id", "") for n in ast.walk(last)] if isinstance(last, ast.Raise) else []
    raises = "NotImplementedError" in names
    return raises and not any(isinstance(n, ast.Return) for n in ast.walk(node))


def _used(code: CodeType, operations: Collection[str]) -> set[str]:
    return {step.argval for step in dis.get_instructions(code) if step.opname in operations}


def _changed(node: ast.stmt) -> Iterator[str]:
    """Yield the names whose entries or attributes a statement assigns or deletes."""
    for inner in here(node):
        if not isinstance(getattr(inner, "ctx", ast.Load()), ast.Load):
            base = inner
            while isinstance(base, ast.Attribute | ast.Subscript):
                base = base.value
            if isinstance(base, ast.Name):
                yield base.id


def _is_simple(node: ast.AST) -> bool:
    """Whether a part of a statement neither loops nor waits, and calls nothing by itself."""
    if isinstance(node, ast.Expr):
        call = node.value
        prints = isinstance(call, ast.Call) and getattr(call.func, "id", "") == "print"
        calls = sum(isinstance(n, ast.Call) for n in ast.walk(call))
        return isinstance(call, ast.Constant) or (prints and calls == 1)
    return isinstance(node, _SIMPLE) or not isinstance(node, ast.stmt | _WAITS)

"""Decide which statements of a notebook count: what makes the answers, and what these look up."""

import ast
import builtins
import dis
from collections import defaultdict
from collections.abc import Collection, Iterator
from types import CodeType

Import = ast.Import | ast.ImportFrom
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
BUILTINS = frozenset(dir(builtins))

_SETS = {"STORE_NAME", "DELETE_NAME", "STORE_GLOBAL"}
_READS = {"LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS"}


class Statement:
    """A statement of a cell.

    Fields:
        cell, node: its cell's number, and its syntax.
        binds: the names that it binds or deletes; sets: these, and those of which it changes an
            entry or an attribute; calls: those of which it calls a method for its effect, as in
            xs.append(1); runs: the functions that it calls for their effect, as in fill(); stores:
            the global names that functions in it set; reads: the global names that it looks up,
            then or later.

    Raises:
        SyntaxError, ValueError, MemoryError, RecursionError: Python cannot compile it.
    """

    def __init__(self, cell: int, node: ast.stmt) -> None:
        self.cell, self.node = cell, node
        module, flags = ast.Module([node], []), ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        code: CodeType = compile(module, "cell", "exec", flags, dont_inherit=True)
        self.binds = _used(code, _SETS)
        self.sets = {*self.binds, *_changed(node)}
        alone = [*_calls_alone(node)]
        self.calls = {name for call in alone for name in _base(call)}
        self.runs = {call.func.id for call in alone if isinstance(call.func, ast.Name)}
        self.reads, self.stores, todo = set[str](), set[str](), [code]
        while todo:
            code = todo.pop()
            self.reads |= _used(code, _READS)
            self.stores |= _used(code, {"STORE_GLOBAL"})
            todo += [inner for inner in code.co_consts if isinstance(inner, CodeType)]

    @property
    def made(self) -> list[Definition]:
        """The functions and classes that it makes, those of its blocks included."""
        return [n for n in here(self.node) if isinstance(n, Definition)]

    @property
    def writes(self) -> set[str]:
        """The names that it binds, but for functions that are still stubs."""
        return self.binds - {definition.name for definition in self.made if is_stub(definition)}

    @property
    def imports(self) -> set[str]:
        aliases = (n for n in here(self.node) if isinstance(n, ast.alias))
        return {(alias.asname or alias.name).partition(".")[0] for alias in aliases}


def kept(statements: Collection[Statement], names: Collection[str]) -> list[Statement]:
    """Return the statements that count.

    These are imports, functions and classes, and what sets a name that the answers look up,
    directly or not. A name that only imports bind is not changed by its methods: plt.plot(x) is
    dropped.

    Args:
        names: of the answers; without them all functions and classes, or else everything.
    """
    imported = {name for s in statements for name in s.imports}
    imported -= {name for s in statements for name in s.binds - s.imports}
    stores = {inner.name: s.stores for s in statements for inner in s.made}
    setting: dict[str, list[Statement]] = defaultdict(list)
    for statement in statements:
        stored = {name for function in statement.runs for name in stores.get(function, ())}
        for name in statement.sets | (statement.calls - imported) | stored:
            setting[name].append(statement)
    made = (s for s in statements if s.made or isinstance(getattr(s.node, "value", 0), ast.Lambda))
    todo = [*names] or [name for s in made for name in s.sets] or [*setting]
    found = {s for s in statements if isinstance(s.node, Definition | Import)}
    while todo:
        for statement in setting.pop(todo.pop(), ()):
            found.add(statement)
            todo += statement.reads
    return [s for s in statements if s in found]


def here(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all within it, except the insides of functions and classes."""
    todo = [node]  # no recursion, because a long sum is as deep as it has terms
    while todo:
        yield (node := todo.pop())
        if not isinstance(node, Definition | ast.Lambda):
            todo += reversed([*ast.iter_child_nodes(node)])


def start_of(node: ast.stmt) -> int:
    """Return the line that a statement begins with, decorators included."""
    return min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])


def is_stub(node: ast.AST) -> bool:
    """Return whether a function, or each of a class, only raises NotImplementedError."""
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
    """Yield the names whose parts a statement assigns or deletes."""
    for inner in here(node):
        if not isinstance(getattr(inner, "ctx", ast.Load()), ast.Load):
            yield from _base(inner)


def _calls_alone(node: ast.stmt) -> Iterator[ast.Call]:
    """Yield the calls whose values a statement drops: f(x), and [f(x) for x in xs]."""
    for inner in here(node):
        if isinstance(inner, ast.Expr):
            call = getattr(inner.value, "elt", inner.value)
            if isinstance(call, ast.Call):
                yield call


def _base(part: ast.AST) -> Iterator[str]:
    """Yield the name x of x[0].y or x.y(); none of y(x)."""
    inner = part
    while isinstance(inner, ast.Attribute | ast.Subscript | ast.Call):
        part, inner = inner, inner.func if isinstance(inner, ast.Call) else inner.value
    if isinstance(inner, ast.Name) and not isinstance(part, ast.Call):
        yield inner.id

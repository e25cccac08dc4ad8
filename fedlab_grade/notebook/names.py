"""The names that a statement binds, changes and looks up."""

import ast
import builtins
import symtable
from collections.abc import Iterator

Import = ast.Import | ast.ImportFrom
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Block = ast.If | ast.With | ast.Try
BUILTINS = frozenset(dir(builtins))


def is_main(node: ast.stmt) -> bool:
    """Whether it is ``if __name__ == "__main__"``."""
    return isinstance(node, ast.If) and ast.unparse(node.test) in (
        "__name__ == '__main__'",
        "'__main__' == __name__",
    )


def definitions(node: ast.stmt) -> list[Definition]:
    """Return the functions and classes that a statement makes, those of its blocks included."""
    return [n for n in here(node) if isinstance(n, Definition)]


def is_stub(node: ast.AST) -> bool:
    """Whether a function, or all those of a class, only raise NotImplementedError."""
    if isinstance(node, ast.ClassDef):
        inner = [n for n in node.body if isinstance(n, Definition)]
        return bool(inner) and all(map(is_stub, inner))
    assert isinstance(node, Definition)
    last = node.body[-1]
    return (
        isinstance(last, ast.Raise)
        and last.exc is not None
        and "NotImplementedError" in ast.dump(last.exc)
        and not any(isinstance(n, ast.Return) for n in ast.walk(node))
    )


def outside_lambdas(value: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all within it, except the insides of lambdas."""
    yield value
    if not isinstance(value, ast.Lambda):
        for child in ast.iter_child_nodes(value):
            yield from outside_lambdas(child)


def looked_up(node: ast.stmt) -> set[str]:
    """Return the global names that a statement looks up when it runs, or when it is called."""
    try:
        todo = [symtable.symtable(ast.unparse(node), "cell", "exec")]
    except (SyntaxError, RecursionError):  # of an await, or of a statement nested too deeply
        return {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    found: set[str] = set()
    while todo:
        scope = todo.pop()
        todo += scope.get_children()
        outer = scope.get_type() == "module"
        for symbol in scope.get_symbols():
            if symbol.is_referenced() and (outer or symbol.is_global()):
                found.add(symbol.get_name())
    return found


def bound(node: ast.stmt) -> list[str]:
    """Return the names that a statement binds or deletes."""
    if isinstance(node, Definition):
        return [node.name]
    if isinstance(node, Import):
        return [(alias.asname or alias.name).partition(".")[0] for alias in node.names]
    inner = [n for child in ast.iter_child_nodes(node) for n in here(child)]
    names = [name for n in inner if isinstance(n, Definition | Import) for name in bound(n)]
    return names + [
        n.id for n in inner if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)
    ]


def here(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all within it, except the insides of functions and classes."""
    yield node
    if not isinstance(node, Definition | ast.Lambda):
        for child in ast.iter_child_nodes(node):
            yield from here(child)


def changed(node: ast.stmt) -> Iterator[str]:
    """Yield the names whose entries or attributes a statement assigns or deletes."""
    for inner in here(node):
        if isinstance(inner, ast.Attribute | ast.Subscript) and not isinstance(inner.ctx, ast.Load):
            base: ast.AST = inner
            while isinstance(base, ast.Attribute | ast.Subscript):
                base = base.value
            if isinstance(base, ast.Name):
                yield base.id

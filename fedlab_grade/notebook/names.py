"""The names that a statement binds, changes and looks up."""

import ast
from collections.abc import Collection, Iterator

Import = ast.Import | ast.ImportFrom
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Block = ast.If | ast.With | ast.Try


def deleted(node: ast.stmt, names: Collection[str]) -> list[str]:
    """Return those of some names that a `del` removes."""
    targets = node.targets if isinstance(node, ast.Delete) else []
    return [t.id for t in targets if isinstance(t, ast.Name) and t.id in names]


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
    yield value
    if not isinstance(value, ast.Lambda):
        for child in ast.iter_child_nodes(value):
            yield from outside_lambdas(child)


def loaded(value: ast.AST) -> set[str]:
    """Return the names that are looked up when the line runs."""
    return {n.id for n in outside_lambdas(value) if isinstance(n, ast.Name)}


def read(node: ast.AST) -> set[str]:
    """Return all names that are looked up, then or later, and not bound inside."""
    inner = [n for n in ast.walk(node) if isinstance(n, ast.Name | ast.arg)]
    own = {n.arg for n in inner if isinstance(n, ast.arg)}
    own |= {n.id for n in inner if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return {n.id for n in inner if isinstance(n, ast.Name)} - own


def bound(node: ast.stmt) -> list[str]:
    """Return the names that a statement binds."""
    if isinstance(node, Definition):
        return [node.name]
    if isinstance(node, Import):
        return [(alias.asname or alias.name).partition(".")[0] for alias in node.names]
    inner = [n for child in ast.iter_child_nodes(node) for n in here(child)]
    names = [name for n in inner if isinstance(n, Definition | Import) for name in bound(n)]
    return names + [n.id for n in inner if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]


def here(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and all within it, except the insides of functions and classes."""
    yield node
    if not isinstance(node, Definition | ast.Lambda):
        for child in ast.iter_child_nodes(node):
            yield from here(child)


def changed(node: ast.stmt) -> Iterator[str]:
    """Yield the names whose entries or attributes a statement assigns."""
    for inner in here(node):
        if isinstance(inner, ast.Attribute | ast.Subscript) and isinstance(inner.ctx, ast.Store):
            base: ast.AST = inner
            while isinstance(base, ast.Attribute | ast.Subscript):
                base = base.value
            if isinstance(base, ast.Name):
                yield base.id

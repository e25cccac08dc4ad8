"""Decide which statements of a notebook count, and which names they bind, change and look up."""

import ast
import builtins
from collections.abc import Collection
from copy import copy

from fedlab_grade.notebook.names import (
    Block,
    Definition,
    Import,
    bound,
    deleted,
    here,
    loaded,
    outside_lambdas,
)

# They make a value of those they are given, call nothing of the student's, and come to an end.
_OF_PYTHON = (
    "float int str bool complex set dict list tuple frozenset bytes range len sorted reversed "
    "min max sum abs round divmod zip enumerate object slice type"
)
_OF_MODULES = {
    "typing": "TypeVar NewType ParamSpec NamedTuple TypedDict cast",
    "collections": "namedtuple OrderedDict defaultdict Counter deque ChainMap",
    "types": "SimpleNamespace MappingProxyType",
    "dataclasses": "field",
    "pathlib": "Path PurePath Path.cwd Path.home",
    "os.path": "join dirname basename abspath",
    "functools": "partial",
    "itertools": "product combinations permutations chain",
    "operator": "itemgetter attrgetter",
    "fractions": "Fraction",
    "decimal": "Decimal",
    "random": "Random",
    "logging": "getLogger",
    "torch": "device tensor as_tensor zeros ones full empty eye arange linspace logspace dtype "
    "get_default_dtype finfo iinfo Generator Generator().manual_seed cuda.is_available "
    "backends.mps.is_available no_grad enable_grad inference_mode",
    "numpy": "array asarray zeros ones full empty eye linspace logspace geomspace arange "
    "random.default_rng random.RandomState random.SeedSequence finfo iinfo float32 float64 int64"
    " int32 dtype",
    "contextlib": "suppress nullcontext",
    "warnings": "catch_warnings",
}
CALLS = {f"builtins.{name}" for name in _OF_PYTHON.split()} | {
    f"{module}.{name}" for module, names in _OF_MODULES.items() for name in names.split()
}
_ALL_OF = ("math.", "cmath.")  # each function of these makes a number
_BUILTINS = {name: f"builtins.{name}" for name in _OF_PYTHON.split()}
POWER = 64  # the largest exponent: what is larger may take long
LOOP = 1000  # the largest number within a list that is made in a loop, likewise


class Names:
    """The names that are known where a statement stands.

    Fields:
        known: what is bound, and Python's own names.
        own: what the notebook has bound.
        imported: name -> what it stands for, as in np -> numpy.
        classes: those of the notebook's.
        makers: functions and classes of the notebook's that may be called, since they run nothing.
    """

    def __init__(self, known: Collection[str]) -> None:
        self.known = {*dir(builtins), *known}
        self.own: set[str] = set()
        self.imported = dict(_BUILTINS)
        self.classes: set[str] = set()
        self.makers: set[str] = set()

    def inside(self, more: Collection[str] = ()) -> "Names":
        """Return the names known within a block, where more is bound."""
        out = copy(self)
        out.own, out.imported = set(self.own), dict(self.imported)
        out.classes, out.makers = set(self.classes), set(self.makers)
        out.known = self.known.union(more)
        return out

    def bind(self, node: ast.stmt) -> None:
        """Take note of what a statement binds that is kept."""
        names = {*bound(node), *deleted(node, self.own)}
        self.imported = {n: full for n, full in self.imported.items() if n not in names}
        self.classes -= names
        self.makers -= names
        if isinstance(node, ast.Delete):
            self.own -= names
            self.known -= names - set(dir(builtins))
            self.imported |= {n: full for n, full in _BUILTINS.items() if n in names}
            return
        self.known |= names
        self.own |= names
        for inner in here(node):
            if isinstance(inner, ast.Import):
                for alias in inner.names:
                    top = alias.name if alias.asname else alias.name.partition(".")[0]
                    self.imported[alias.asname or top] = top
            elif isinstance(inner, ast.ImportFrom):
                for alias in inner.names:
                    self.imported[alias.asname or alias.name] = f"{inner.module}.{alias.name}"
            elif isinstance(inner, ast.ClassDef):
                self.classes.add(inner.name)
            if isinstance(inner, Definition) and self._runs_nothing(inner):
                self.makers.add(inner.name)

    def keeps(self, node: ast.stmt) -> bool:
        """Whether a statement counts."""
        if isinstance(node, Definition | Import):
            return True
        if isinstance(node, Block):
            return self._keeps_block(node)
        if isinstance(node, ast.Delete):
            return len(deleted(node, self.own)) == len(node.targets)
        if isinstance(node, ast.AugAssign):
            return (
                isinstance(node.target, ast.Name)
                and not isinstance(node.op, ast.Pow)
                and node.target.id in self.known
                and self._is_constant(node.value)
            )
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            return False
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return all(map(self._may_get, targets)) and self._is_constant(node.value)

    def _may_get(self, target: ast.expr) -> bool:
        """Whether it is a name, some names, or an attribute of the notebook's own class."""
        if isinstance(target, ast.Attribute):
            return isinstance(target.value, ast.Name) and target.value.id in self.classes
        return isinstance(target, ast.Name | ast.Tuple)

    def _keeps_block(self, node: Block) -> bool:
        parts, caught = [node.body], []
        if isinstance(node, ast.If):
            if not self._is_constant(node.test):
                return False
            parts.append(node.orelse)
        elif isinstance(node, ast.With):
            if not all(
                self._is_constant(item.context_expr)
                and isinstance(item.optional_vars, ast.Name | None)
                for item in node.items
            ):
                return False
        else:
            parts += [*(h.body for h in node.handlers), node.orelse, node.finalbody]
            caught = [h.name for h in node.handlers if h.name]
        inside = self.inside(caught)
        for statement in (s for part in parts for s in part):
            if not inside._is_idle(statement) and not inside.keeps(statement):
                return False
            inside.bind(statement)
        return bool(bound(node))

    def _is_idle(self, node: ast.stmt) -> bool:
        """Whether it only passes, or prints what is known."""
        value = node.value if isinstance(node, ast.Expr) else None
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
            return value.func.id == "print" and all(map(self._is_constant, value.args))
        return isinstance(node, ast.Pass) or isinstance(value, ast.Constant)

    def _is_constant(self, value: ast.expr) -> bool:
        """Whether a value calls nothing but makers of values, and repeats at most a short list."""
        inner = list(outside_lambdas(value))
        loops = [n for n in inner if isinstance(n, ast.comprehension)]
        turns = {n.id for loop in loops for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
        if len(loops) > 2 or not all(_is_short(loop.iter) for loop in loops):
            return False
        return loaded(value) <= self.known | turns and not any(
            isinstance(n, ast.Await | ast.Yield | ast.YieldFrom | ast.NamedExpr)
            or (isinstance(n, ast.Call) and not self._makes_a_value(n))
            or (isinstance(n, ast.BinOp) and isinstance(n.op, ast.Pow) and not _small(n, turns))
            for n in inner
        )

    def _makes_a_value(self, call: ast.Call) -> bool:
        if isinstance(call.func, ast.Name) and call.func.id in self.makers:
            return True
        name = self._full(call.func)
        return (name in CALLS or name.startswith(_ALL_OF)) and not any(
            k.arg == "key" for k in call.keywords
        )

    def _full(self, function: ast.expr) -> str:
        """Return the function's name with its module; "" where it has none."""
        if isinstance(function, ast.Name):
            return self.imported.get(function.id, "")
        if isinstance(function, ast.Attribute):
            return f"{self._full(function.value)}.{function.attr}"
        return f"{self._full(function.func)}()" if isinstance(function, ast.Call) else ""

    def _runs_nothing(self, node: Definition) -> bool:
        """Whether to call it only makes another function, or an object that holds its arguments."""
        if isinstance(node, ast.ClassDef):
            marks = [n.func if isinstance(n, ast.Call) else n for n in node.decorator_list]
            plain = {self._full(n) for n in marks} <= {"dataclasses.dataclass"}
            tuples = {self._full(n) for n in node.bases} <= {"typing.NamedTuple"}
            made = {n.name for n in node.body if isinstance(n, Definition)}
            return (
                plain
                and tuples
                and not node.keywords
                and made.isdisjoint({"__init__", "__new__", "__post_init__"})
            )
        return not node.decorator_list and all(
            isinstance(n, Definition)
            or (isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant))
            or (isinstance(n, ast.Return) and isinstance(n.value, ast.Name | ast.Lambda))
            for n in node.body
        )


def _is_short(value: ast.expr) -> bool:
    """Whether a loop over it seems to end soon: no large number is in it, and none is computed."""
    return not any(
        isinstance(n, ast.BinOp)
        or (isinstance(n, ast.Constant) and isinstance(n.value, int) and n.value > LOOP)
        for n in ast.walk(value)
    )


def _small(power: ast.BinOp, turns: Collection[str]) -> bool:
    """Whether a power is soon computed: of a small number, or to a small one."""
    exponent = power.right
    if isinstance(exponent, ast.UnaryOp):
        exponent = exponent.operand
    if isinstance(exponent, ast.Name) and exponent.id in turns:
        return isinstance(power.left, ast.Constant)
    number = exponent.value if isinstance(exponent, ast.Constant) else None
    return isinstance(number, int | float) and number <= POWER

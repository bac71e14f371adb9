"""Names that a piece of Python's tree reads, binds, and hands to functions defined in it."""

from __future__ import annotations

import ast
import copy
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

# Statements whose parts may run or not.
_MAYBE = (ast.If, ast.For, ast.While, ast.Try, ast.With, ast.Match)

# Builtins that take all items of a generator at once.
_TAKES_ALL = frozenset(
    (
        "all",
        "any",
        "bytes",
        "dict",
        "frozenset",
        "list",
        "max",
        "min",
        "set",
        "sorted",
        "sum",
        "tuple",
    )
)


@dataclass
class Names:
    """What a piece of Python does with names, each in order of appearance.

    Fields:
        read: names that are read before the piece binds them for certain.
        bound: names that it may bind.
        captured: names that functions and generators in it take from around them, later.
    """

    read: dict[str, None] = field(default_factory=dict)
    bound: dict[str, None] = field(default_factory=dict)
    captured: dict[str, None] = field(default_factory=dict)


def names_of(*nodes: ast.AST | None) -> Names:
    r"""The names of pieces that run one after the other.

    Example:
        >>> found = names_of(*ast.parse("y = x + 1\nz = lambda: y + w").body)
        >>> list(found.read), list(found.bound), list(found.captured)
        (['x', 'w'], ['y', 'z'], ['y', 'w'])
    """
    return _visited(nodes, set())


def _visited(nodes: Iterable[ast.AST | None], outer: set[str]) -> Names:
    """The same; `nonlocal` names are added to `outer`."""
    visitor = _Visitor(outer)
    for node in nodes:
        if node is not None:
            visitor.visit(node)
    return visitor.names


def _free_names(node: Any) -> list[str]:
    """The names that a nested function takes from around it, in order."""
    outer: set[str] = set()
    names = _visited(node.body if isinstance(node.body, list) else [node.body], outer)
    own = {p.arg for p in ast.walk(node.args) if isinstance(p, ast.arg)} | set(names.bound)
    return [name for name in names.read if name not in own or name in outer]


class _Visitor(ast.NodeVisitor):
    def __init__(self, outer: set[str]) -> None:
        self.names, self.outer = Names(), outer

    def _read(self, name: str) -> None:
        if name not in self.names.bound:
            self.names.read.setdefault(name)

    def visit_parts(self, *nodes: ast.AST | None) -> None:
        """Visit parts in the order in which Python evaluates them."""
        for node in nodes:
            if node is not None:
                self.visit(node)

    def visit(self, node: ast.AST) -> None:
        if not isinstance(node, _MAYBE):
            super().visit(node)
            return
        inner = _visited(ast.iter_child_nodes(node), self.outer)
        for name in (*inner.read, *inner.bound):
            self._read(name)
        self.names.bound.update(inner.bound)
        self.names.captured.update(inner.captured)

    def visit_Name(self, node: ast.Name) -> None:
        if not isinstance(node.ctx, ast.Store):
            self._read(node.id)
        if not isinstance(node.ctx, ast.Load):  # `del` makes it have no value
            self.names.bound.setdefault(node.id)

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        self.outer.update(node.names)
        self.names.read.update(dict.fromkeys(node.names))

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit_parts(node.value, node.target)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit_parts(node.value, *node.targets)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit_parts(node.value, node.target)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            self._read(node.target.id)
        self.visit_parts(node.value, node.target)

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            self.names.bound.setdefault((alias.asname or alias.name).split(".")[0])

    visit_ImportFrom = visit_Import  # noqa: N815

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self.names.bound.setdefault(node.name)
        self.generic_visit(node)

    def visit_Lambda(self, node: Any) -> None:
        self.visit_parts(
            *getattr(node, "decorator_list", ()), *node.args.defaults, *node.args.kw_defaults
        )
        self._capture(_free_names(node))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.visit_Lambda(node)
        self.names.bound.setdefault(node.name)

    visit_AsyncFunctionDef = visit_FunctionDef  # type: ignore[assignment]  # noqa: N815

    def visit_Call(self, node: ast.Call) -> None:
        takes_all = isinstance(node.func, ast.Name) and node.func.id in _TAKES_ALL
        self.visit(node.func)
        for argument in (*node.args, *node.keywords):
            is_taken = takes_all and isinstance(argument, ast.GeneratorExp)
            (self._comprehension if is_taken else self.visit)(argument)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> None:
        self._comprehension(node)
        self._capture(names_of(ast.ListComp(node.elt, node.generators)).read)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for s in node.body:  # its methods do not see what its body binds
            self._capture(names_of(s, getattr(s, "annotation", None)).read)
        self.visit_parts(*node.bases, *node.decorator_list, *(k.value for k in node.keywords))
        self.names.bound.setdefault(node.name)

    def _capture(self, names: Iterable[str]) -> None:
        for name in names:
            self._read(name)
            self.names.captured.setdefault(name)

    def _comprehension(self, node: Any) -> None:
        clauses = [(c.iter, c.target, *c.ifs) for c in node.generators]
        values = [getattr(node, part, None) for part in ("elt", "key", "value")]
        inner = _visited([part for clause in clauses for part in clause] + values, self.outer)
        own = set(names_of(*(clause.target for clause in node.generators)).bound)
        for name in inner.read:
            self._read(name)
        self.names.captured.update((n, None) for n in inner.captured if n not in own)
        for name in inner.bound:
            if name not in own:
                self.names.bound.setdefault(name)

    visit_ListComp = visit_SetComp = _comprehension  # noqa: N815
    visit_DictComp = _comprehension  # noqa: N815


# -- names in expressions --------------------------------------------------------------------------
# Names that an expression binds (`:=`): bound in statements of their own, where that is the same.
# The parts of `and`, `or` and of chains of comparisons are functions of their own where they
# decide, and a name that is bound in one would be a name of that function.

_VALUES = {ast.If: "test", ast.Assert: "test", ast.Assign: "value", ast.Return: "value",
           ast.Expr: "value", ast.AugAssign: "value"}  # fmt: skip


def bound_first(statement: ast.stmt, fresh: Callable[[], str]) -> list[ast.stmt]:
    """A statement after assignments of names that its expression binds.

    Args:
        statement: is not changed.
        fresh: gives a name for a value.

    Example:
        >>> def shown(text):
        ...     for s in bound_first(ast.parse(text).body[0], lambda: "value"):
        ...         print(ast.unparse(s))
        >>> shown("y = 0 < (n := f(x)) < 3")
        n = f(x)
        y = 0 < n < 3
        >>> shown("return x > 0 and (n := f(x)) > 1")
        value = x > 0
        if value:
            value = (n := f(x)) > 1
        return value
    """
    field = _VALUES.get(type(statement), "")
    value = getattr(statement, field, None)
    if value is None or not _binds(value):
        return [statement]
    first = _First()
    value = first.visit(copy.deepcopy(value))
    before: list[ast.stmt] = list(first.assignments)
    if isinstance(value, ast.BoolOp) and _binds(*value.values[1:]):
        name = fresh()
        before.append(_assign(name, value.values[0]))
        for part in value.values[1:]:
            test: ast.expr = ast.Name(name, ast.Load())
            if isinstance(value.op, ast.Or):
                test = ast.UnaryOp(ast.Not(), test)
            before.append(ast.If(test, [_assign(name, part)], []))
        value = ast.Name(name, ast.Load())
    new_statement = copy.copy(statement)
    setattr(new_statement, field, value)
    for one in before:
        ast.copy_location(one, statement)
    return [ast.fix_missing_locations(one) for one in (*before, new_statement)]


def _binds(*nodes: ast.AST) -> bool:
    return any(isinstance(n, ast.NamedExpr) for node in nodes for n in ast.walk(node))


def _assign(name: str, value: Any) -> ast.stmt:
    return ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], value), value)


class _First(ast.NodeTransformer):
    """Takes out the names that are bound before anything else is done."""

    def __init__(self) -> None:
        self.assignments: list[ast.stmt] = []
        self.goes_on = True

    def visit(self, node: Any) -> Any:
        """A part, with its names taken out."""
        if not self.goes_on or isinstance(node, ast.Constant):
            return node
        if isinstance(node, ast.NamedExpr):
            self.assignments.append(_assign(node.target.id, node.value))
            return ast.copy_location(ast.Name(node.target.id, ast.Load()), node)
        if isinstance(node, ast.BoolOp):
            node.values[0] = self.visit(node.values[0])
        elif isinstance(node, ast.IfExp):
            node.test = self.visit(node.test)
        elif isinstance(node, ast.Compare):
            node.left = self.visit(node.left)
            node.comparators[0] = self.visit(node.comparators[0])
        elif isinstance(node, ast.UnaryOp):
            node.operand = self.visit(node.operand)
        elif isinstance(node, ast.BinOp):
            node.left = self.visit(node.left)
            node.right = self.visit(node.right)
        self.goes_on = False
        return node


# -- what an expression of Python is: a question of the rewriting, about its tree alone ------------

# Parts that cannot move into a function of their own.
_FIXED = (ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await)


def is_static(node: ast.AST) -> bool:
    """Whether a test is known where it is written: a variable may be None at run time only.

    Example:
        >>> is_static(ast.parse("not False", mode="eval").body)
        True
        >>> is_static(ast.parse("x is None", mode="eval").body)
        False
    """
    if isinstance(node, ast.Constant):
        return True
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return is_static(node.operand)
    return isinstance(node, ast.BoolOp) and all(map(is_static, node.values))


def is_math(node: ast.Call, local: set[str]) -> bool:
    """Whether a call may be one of a function of `math`."""
    if node.keywords or not node.args or any(isinstance(a, ast.Starred) for a in node.args):
        return False
    function = node.func
    if isinstance(function, ast.Attribute):
        owner = function.value
        return isinstance(owner, ast.Name) and owner.id == "math" and "math" not in local
    return isinstance(function, ast.Name) and function.id not in local and function.id in vars(math)


def may_be_number(index: ast.expr) -> bool:
    """Whether an index may be a number that is not written out."""
    others = (ast.Slice, ast.Tuple, ast.List)
    if isinstance(index, ast.UnaryOp):
        index = index.operand
    return not isinstance(index, others) and not isinstance(index, ast.Constant)


def is_length(node: ast.expr) -> bool:
    """Whether an expression is `len(items)`."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return False
    one = len(node.args) == 1 and not node.keywords and not is_starred(node.args[0])
    return one and node.func.id == "len"


def asks_empty(node: ast.Compare) -> bool | None:
    """Whether a comparison holds for an empty container; None if it does not ask that."""
    number = node.comparators[0]
    if len(node.ops) > 1 or not is_length(node.left) or not isinstance(number, ast.Constant):
        return None
    asked = {(ast.Eq, 0): True, (ast.LtE, 0): True, (ast.Lt, 1): True}
    asked |= {(ast.NotEq, 0): False, (ast.Gt, 0): False, (ast.GtE, 1): False}
    return asked.get((type(node.ops[0]), number.value)) if type(number.value) is int else None


def is_bound(node: ast.expr) -> bool:
    """Whether the start or the end of a slice may be known at run time only."""
    return may_be_number(node) and not is_fixed(node)


def is_open(index: ast.expr) -> bool:
    """Whether an index is a slice of which a bound may be known at run time only."""
    if not isinstance(index, ast.Slice) or index.step is not None:
        return False
    return any(end is not None and is_bound(end) for end in (index.lower, index.upper))


def is_starred(node: ast.expr) -> bool:
    """Whether an expression is `*items`."""
    return isinstance(node, ast.Starred)


def is_place(node: ast.expr) -> bool:
    """Whether an expression is an item at a place that may be known at run time only."""
    return isinstance(node, ast.Subscript) and may_be_number(node.slice)


def is_fixed(node: ast.AST) -> bool:
    """Whether an expression has parts that cannot move into a function of their own."""
    return any(isinstance(inner, _FIXED) for inner in ast.walk(node))

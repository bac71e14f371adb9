"""Names that a piece of Python's tree reads, binds, and hands to functions defined in it."""

from __future__ import annotations

import ast
from collections.abc import Iterable
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
    found = _visited(node.body if isinstance(node.body, list) else [node.body], outer)
    own = {p.arg for p in ast.walk(node.args) if isinstance(p, ast.arg)} | set(found.bound)
    return [name for name in found.read if name not in own or name in outer]


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

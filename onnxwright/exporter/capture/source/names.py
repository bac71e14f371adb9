"""Names that a piece of Python's tree reads, binds, and hands to functions defined in it."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
# Statements whose parts may run or not.
_MAYBE = (ast.If, ast.For, ast.While, ast.Try, ast.With, ast.Match)


@dataclass
class Names:
    """What a piece of Python does with names, each in order of appearance.

    Fields:
        read: names that are read before the piece binds them for certain.
        bound: names that it may bind.
        captured: names that functions in it take from around them.
    """

    read: dict[str, None] = field(default_factory=dict)
    bound: dict[str, None] = field(default_factory=dict)
    captured: dict[str, None] = field(default_factory=dict)


def names_of(*nodes: ast.AST | None) -> Names:
    r"""The names of pieces that run one after the other.

    Args:
        nodes: expressions and statements.

    Returns:
        The names.

    Example:
        >>> found = names_of(*ast.parse("y = x + 1\nz = lambda: y + w").body)
        >>> list(found.read), list(found.bound), list(found.captured)
        (['x', 'w'], ['y', 'z'], ['y', 'w'])
    """
    visitor = _Visitor()
    for node in nodes:
        if node is not None:
            visitor.visit(node)
    return visitor.names


def free_names(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> list[str]:
    """The names a nested function takes from around it.

    Args:
        node: the function.

    Returns:
        The names, in order.
    """
    body = node.body if isinstance(node.body, list) else [node.body]
    everything: dict[str, None] = {}
    outer: set[str] = set()
    for part in body:
        for name in _loads(part, outer):
            everything.setdefault(name)
    a = node.args
    own = {p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs)}
    own |= {p.arg for p in (a.vararg, a.kwarg) if p is not None}
    own |= set(names_of(*body).bound)
    return [n for n in everything if n not in own or n in outer]


def _loads(node: ast.AST, outer: set[str]) -> list[str]:
    """All names that are read anywhere inside; `nonlocal` ones are added to `outer`."""
    found: list[str] = []
    if isinstance(node, ast.Nonlocal):
        outer.update(node.names)
        return list(node.names)
    if isinstance(node, (*_FUNCTIONS, ast.Lambda)):
        for part in (*getattr(node, "decorator_list", ()), *node.args.defaults):
            found += _loads(part, outer)
        found += [d for part in node.args.kw_defaults if part for d in _loads(part, outer)]
        return found + free_names(node)
    if isinstance(node, _COMPREHENSIONS):
        return list(names_of(node).read)
    if isinstance(node, ast.Name):
        return [node.id] if not isinstance(node.ctx, ast.Store) else []
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        found.append(node.target.id)
    for child in ast.iter_child_nodes(node):
        found += _loads(child, outer)
    return found


class _Visitor(ast.NodeVisitor):
    def __init__(self) -> None:
        self.names = Names()

    def _read(self, name: str) -> None:
        if name not in self.names.bound:
            self.names.read.setdefault(name)

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, _MAYBE):
            inner = _Visitor()
            ast.NodeVisitor.generic_visit(inner, node)
            for name in (*inner.names.read, *inner.names.bound):
                self._read(name)
            self.names.bound.update(inner.names.bound)
            self.names.captured.update(inner.names.captured)
            return
        super().visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        if not isinstance(node.ctx, ast.Store):
            self._read(node.id)
        if not isinstance(node.ctx, ast.Load):  # `del` makes it have no value
            self.names.bound.setdefault(node.id)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        self.visit(node.target)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        for target in node.targets:
            self.visit(target)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)
            self.visit(node.target)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if isinstance(node.target, ast.Name):
            self._read(node.target.id)
        self.visit(node.value)
        self.visit(node.target)

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        for alias in node.names:
            self.names.bound.setdefault((alias.asname or alias.name).split(".")[0])

    visit_ImportFrom = visit_Import  # noqa: N815

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self.names.bound.setdefault(node.name)
        self.generic_visit(node)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._function(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._function(node)
        self.names.bound.setdefault(node.name)

    def _function(self, node: ast.FunctionDef | ast.Lambda) -> None:
        for part in (*getattr(node, "decorator_list", ()), *node.args.defaults):
            self.visit(part)
        for default in node.args.kw_defaults:
            if default is not None:
                self.visit(default)
        for name in free_names(node):
            self._read(name)
            self.names.captured.setdefault(name)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for name in _loads(ast.Module(node.body, []), set()):
            self._read(name)
            self.names.captured.setdefault(name)
        for part in (*node.bases, *node.decorator_list, *(k.value for k in node.keywords)):
            self.visit(part)
        self.names.bound.setdefault(node.name)

    def _comprehension(self, node: ast.AST) -> None:
        inner = _Visitor()
        generators: list[ast.comprehension] = getattr(node, "generators", [])
        for clause in generators:
            inner.visit(clause.iter)
            inner.visit(clause.target)
            for test in clause.ifs:
                inner.visit(test)
        for part in ("elt", "key", "value"):
            if hasattr(node, part):
                inner.visit(getattr(node, part))
        targets = {n for c in generators for n in names_of(c.target).bound}
        for name in inner.names.read:
            self._read(name)
        for name in inner.names.captured:
            if name not in targets:
                self.names.captured.setdefault(name)
        for name in inner.names.bound:
            if name not in targets:
                self.names.bound.setdefault(name)

    visit_ListComp = visit_SetComp = _comprehension  # noqa: N815
    visit_DictComp = visit_GeneratorExp = _comprehension  # noqa: N815

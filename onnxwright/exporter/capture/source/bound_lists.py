"""Lists that a function makes, as values: `name.append(x)` binds the name to a list with `x`.

A side of a decision, or an iteration of a loop, then changes the variable, and not an object that
the other side has as well.
"""

from __future__ import annotations

import ast
import copy
from typing import Any

from onnxwright.exporter.capture.source.expression_kinds import is_fixed
from onnxwright.exporter.capture.source.expressions import OPERATORS, call

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
# Parts of an expression that are evaluated for some values only, or several times.
_LAZY = (
    ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.BoolOp, ast.IfExp,
)  # fmt: skip
_METHODS = {"append": ("append", 1), "extend": ("extend", 1), "insert": ("insert", 2),
            "clear": ("cleared", 0), "reverse": ("reversed_in_place", 0),
            "remove": ("removed", 1), "sort": ("sort", 0)}  # fmt: skip


def bound_lists(body: list[ast.stmt]) -> list[ast.stmt]:
    r"""Statements in which a change of a list binds its name to the list that it makes.

    Args:
        body: of a function; only names that it binds to lists itself are looked at.

    Returns:
        The same statements.

    Example:
        >>> tree = ast.parse("a = []\na.append(x)\na[n] = y\nz = f(a.pop())")
        >>> print(*map(ast.unparse, bound_lists(tree.body)), sep="\n")
        a = []
        a = _ow_rt.append(a, x)
        a = _ow_rt.set_item(y, a, n)
        a, _ow_popped = _ow_rt.popped(a)
        z = f(_ow_popped)
    """
    made: set[str] = set()
    for node in _own_nodes(body):
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                made |= _lists_of(target, node.value)
    outer = {n for x in _own_nodes(body) if isinstance(x, (ast.Global, ast.Nonlocal))
             for n in x.names}  # fmt: skip
    if not made - outer:
        return body
    visitor = _Changes(made - outer)
    return [one for s in body for one in visitor.block(copy.deepcopy(s))]


def _lists_of(target: ast.expr, value: ast.expr) -> set[str]:
    """The names that an assignment binds to lists that it makes."""
    if isinstance(target, ast.Name):
        return {target.id} if _is_list(value) else set()
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        return {n for t, v in zip(target.elts, value.elts) for n in _lists_of(t, v)}
    return set()


def _is_list(node: ast.AST | None) -> bool:
    """Whether an expression makes a list."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "list"
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return _is_list(node.left) or _is_list(node.right)
    return isinstance(node, (ast.List, ast.ListComp))


def _own_nodes(nodes: list[Any]) -> list[ast.AST]:
    """The nodes of statements outside the functions defined in them."""
    found: list[ast.AST] = []
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        found.append(node)
        if not isinstance(node, _SCOPES):
            waiting += ast.iter_child_nodes(node)
    return found


class _Changes(ast.NodeTransformer):
    """Changes of lists as assignments, for some names."""

    def __init__(self, names: set[str]) -> None:
        self.names = names

    def block(self, statement: ast.stmt) -> list[ast.stmt]:
        """What a statement becomes."""
        made = self.visit(statement)
        return made if isinstance(made, list) else [made]

    def visit_Expr(self, node: ast.Expr) -> Any:
        """`name.append(x)`, `name.extend(x)`, `name.insert(0, x)`."""
        c = node.value
        if not (isinstance(c, ast.Call) and isinstance(c.func, ast.Attribute)):
            return self._popped(node)
        name, (method, count) = c.func.value, _METHODS.get(c.func.attr, ("", -1))
        named = c.keywords and (method != "sort" or any(k.arg is None for k in c.keywords))
        if len(c.args) != count or named or not self._is_own(name):
            return self._popped(node)
        starred = any(isinstance(a, ast.Starred) for a in c.args)
        if starred or is_fixed(c):
            return node
        changed = call(method, name, *c.args)
        changed.keywords = c.keywords
        made = _bind(name, changed, node)
        return self._popped(made)

    def visit_Assign(self, node: ast.Assign) -> Any:
        """`name[n] = x`; several at once, as in a swap, one after the other."""
        target = node.targets[0]
        if len(node.targets) > 1 or is_fixed(node):
            return node
        if self._is_item(target):
            assert isinstance(target, ast.Subscript)
            written = call("set_item", node.value, target.value, target.slice)
            return self._popped(_bind(target.value, written, node))
        if not isinstance(target, (ast.Tuple, ast.List)):
            return self._popped(node)
        if not any(map(self._is_item, target.elts)):
            return self._popped(node)
        out: list[ast.stmt] = [node]
        for n, item in enumerate(target.elts):
            if self._is_item(item):
                name = f"_ow_new_{n}"
                target.elts[n] = ast.Name(name, ast.Store())
                value = ast.Name(name, ast.Load())
                later = ast.Assign([item], value)
                out += self.block(ast.fix_missing_locations(ast.copy_location(later, node)))
        return [ast.fix_missing_locations(s) for s in out]

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        """`name[n] += x`."""
        target = node.target
        if is_fixed(node) or not self._is_item(target):
            return self._popped(node)
        assert isinstance(target, ast.Subscript)
        name = ast.Constant(OPERATORS[type(node.op)])
        written = call("augment_item", name, target.value, target.slice, node.value)
        return self._popped(_bind(target.value, written, node))

    def visit_Delete(self, node: ast.Delete) -> Any:
        """`del name[n]`."""
        target = node.targets[0]
        if len(node.targets) > 1 or is_fixed(node) or not self._is_item(target):
            return node
        assert isinstance(target, ast.Subscript)
        pop = ast.Call(ast.Attribute(target.value, "pop", ast.Load()), [target.slice], [])
        return self._popped(ast.copy_location(ast.Expr(pop), node))

    def visit_Return(self, node: ast.Return) -> Any:
        """`return name.pop()`."""
        return self._popped(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node

    visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = visit_FunctionDef  # type: ignore[assignment]  # noqa: N815

    def _is_own(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id in self.names

    def _is_item(self, node: ast.expr) -> bool:
        """Whether an expression is an item of such a list, which may be one of run time."""
        is_item = isinstance(node, ast.Subscript) and self._is_own(node.value)
        return is_item and not isinstance(node.slice, (ast.Slice, ast.Tuple))  # type: ignore[attr-defined]

    def _popped(self, s: ast.stmt) -> Any:
        """A statement with `name.pop()` before it, if it uses the list in no other way."""
        pops = _always(s, self._is_pop)
        if not pops or is_fixed(s) or not _in_order(s, pops) or _reads(s, pops):
            return s
        changed, before = s, []
        for n, pop in enumerate(pops):
            value = f"_ow_popped_{n + 1}" if n else "_ow_popped"
            changed = _Replaced(pop, ast.Name(value, ast.Load())).visit(changed)
            both = ast.Tuple([ast.Name(pop.func.value.id, ast.Store()),
                              ast.Name(value, ast.Store())], ast.Store())  # fmt: skip
            first = ast.Assign([both], call("popped", pop.func.value, *pop.args))
            before.append(ast.copy_location(first, s))
        made = [*before, changed]
        if isinstance(changed, ast.Expr) and isinstance(changed.value, ast.Name):
            made.pop()
        return [ast.fix_missing_locations(one) for one in made]

    def _is_pop(self, node: ast.AST) -> bool:
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            return False
        own = node.func.attr == "pop" and self._is_own(node.func.value)
        return own and len(node.args) < 2 and not node.keywords


class _Replaced(ast.NodeTransformer):
    """Puts an expression in the place of another."""

    def __init__(self, old: ast.expr, new: ast.expr) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> Any:
        """The other expression for the one."""
        if node is self.old:
            return self.new
        return super().visit(node)


def _in_order(s: ast.stmt, pops: list[ast.Call]) -> bool:
    """Whether several `pop()` of a statement run in the order in which they are written."""
    if len(pops) == 1:
        return True
    if isinstance(s, ast.Assign) and any(_always(t, pops.__contains__) for t in s.targets):
        return False
    return not any(part in pops for pop in pops for arg in pop.args for part in ast.walk(arg))


def _reads(s: ast.stmt, pops: list[ast.Call]) -> bool:
    """Whether a statement reads a list otherwise: not as `name = append(name, x)` does."""
    changes = isinstance(s, ast.Assign) and _is_change(s.value)
    own = [s.value.args[0]] if changes else []  # type: ignore[attr-defined]
    own += [part for pop in pops for part in ast.walk(pop)]  # these run before the statement
    names = {pop.func.value.id for pop in pops}  # type: ignore[attr-defined]
    return any(
        isinstance(x, ast.Name) and x.id in names and isinstance(x.ctx, ast.Load)
        and not any(x is one for one in own)
        for x in ast.walk(s)
    )  # fmt: skip


def _is_change(node: ast.expr) -> bool:
    """Whether an expression is `append(name, x)` of the runtime: it changes the list last."""
    return (
        isinstance(node, ast.Call)
        and ast.unparse(node.func) == ast.unparse(call("append").func)
        and isinstance(node.args[0], ast.Name)
    )


def _always(node: ast.AST, wanted: Any) -> list[Any]:
    """The parts of a statement that are always evaluated, and once."""
    found = [node] if wanted(node) else []
    if isinstance(node, _LAZY):
        return found
    return [
        *found,
        *(part for child in ast.iter_child_nodes(node) for part in _always(child, wanted)),
    ]


def _bind(name: ast.expr, value: ast.expr, at: ast.stmt) -> ast.stmt:
    """`name = value`, on the line of a statement."""
    assert isinstance(name, ast.Name)
    made = ast.Assign([ast.Name(name.id, ast.Store())], value)
    return ast.fix_missing_locations(ast.copy_location(made, at))

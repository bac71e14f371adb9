"""Expressions that decide, as calls of `runtime`: `and`, `or`, `not`, ternary, chains, builtins."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from onnxwright.exporter.capture.control.syntax_trees import Place, Transformer, copied, placed
from onnxwright.exporter.capture.frontend.names import (
    asks_empty,
    is_bound,
    is_fixed,
    is_length,
    is_math,
    is_open,
    is_place,
    is_starred,
    is_static,
    may_be_number,
    names_of,
)
from onnxwright.exporter.capture.rewritten.intrinsics import BUILTINS, METHODS

RUNTIME = "_ow_rt"
"""The name of `runtime` in rewritten code."""

_ASKED: dict[type[ast.cmpop], tuple[str, bool]] = {
    ast.Is: ("is_", False), ast.IsNot: ("is_", True),
    ast.In: ("contains", False), ast.NotIn: ("contains", True),
}  # fmt: skip
"""Comparisons -> the function of `runtime`, and whether its answer is negated."""

_BITS = (ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift)


OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv",
    ast.Mod: "mod", ast.Pow: "pow", ast.MatMult: "matmul", ast.LShift: "lshift",
    ast.RShift: "rshift", ast.BitAnd: "and_", ast.BitOr: "or_", ast.BitXor: "xor",
}  # fmt: skip


def call(name: str, *args: ast.expr) -> ast.Call:
    """A call of a function of `runtime`."""
    function = ast.Attribute(ast.Name(RUNTIME, ast.Load()), name, ast.Load())
    return ast.Call(function, list(args), [])


def as_test(node: ast.expr) -> ast.expr:
    """A test as a comparison if it is `len(items)`; parts of `and` and `or` as truth values."""
    if isinstance(node, ast.BoolOp):
        node.values = [_truth_of(value) for value in node.values]
        return node
    if not is_length(node):
        return node
    return _place_at(ast.Compare(node, [ast.NotEq()], [ast.Constant(0)]), node)  # type: ignore[return-value]


def _truth_of(part: ast.expr) -> ast.expr:
    """A part of a test, of which nothing but its truth is used."""
    if isinstance(part, ast.BoolOp):
        return as_test(part)
    is_truth = isinstance(part, (ast.Compare, ast.UnaryOp, ast.Constant))
    if is_truth or is_static(part) or is_fixed(part):
        return as_test(part)
    return _place_at(call("truth", part), part)  # type: ignore[return-value]


def thunk(node: ast.expr) -> ast.Lambda:
    """`lambda: node`."""
    empty = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.Lambda(empty, node)


class Expressions(Transformer):
    """Rewrites expressions in place.

    Args:
        first: the first parameter of the method, for `super()`; None outside one.
        local: names that are bound in the function: builtins of these names are not meant.
    """

    def __init__(
        self,
        first: str | None,
        function: Callable[[ast.FunctionDef], ast.FunctionDef],
        local: set[str],
    ) -> None:
        self.first, self.function, self.local = first, function, local

    def visit(self, node: ast.AST) -> Any:
        """Rewrite a node, and give what was made its place."""
        new_node = super().visit(node)
        if not isinstance(new_node, ast.AST) or not hasattr(node, "lineno"):
            return new_node
        if new_node is not node:
            _place_at(new_node, node)
        if isinstance(new_node, ast.Call) and not hasattr(new_node.func, "lineno"):
            # One line only: Python counts a call of several as its last.
            function: Any = _place_at(new_node.func, node)
            if function.end_lineno != function.lineno:
                function.end_lineno, function.end_col_offset = node.lineno, function.col_offset
        return new_node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        """`and`, `or`."""
        if is_static(node) or is_fixed(node):
            return self.generic_visit(node)
        self.generic_visit(node)
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        return call(name, *(thunk(value) for value in node.values))

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """`"..." % n`, `n & 1`."""
        if isinstance(node.left, ast.List) or isinstance(node.right, ast.List):
            _mark_bare(node.left, node.right)
            self.generic_visit(node)
            if isinstance(node.op, ast.Mult):
                return call("own_list", call("repeated", node.left, node.right))
            return call("own_list", node)
        self.generic_visit(node)
        if isinstance(node.op, _BITS):
            return call("bits", ast.Constant(OPERATORS[type(node.op)]), node.left, node.right)
        left = node.left
        is_text = isinstance(left, ast.Constant) and isinstance(left.value, str)
        if not is_text or not isinstance(node.op, ast.Mod):
            return node
        return call("percent", left, node.right)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """`value.__class__`."""
        self.generic_visit(node)
        is_class = node.attr == "__class__" and isinstance(node.ctx, ast.Load)
        return call("class_of", node.value) if is_class else node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        """`not`, `~`."""
        static = is_static(node)
        if isinstance(node.op, ast.Not):
            node.operand = as_test(node.operand)
        self.generic_visit(node)
        if isinstance(node.op, ast.Invert):
            return call("invert", node.operand)
        return node if static or not isinstance(node.op, ast.Not) else call("not_", node.operand)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        """`a if test else b`."""
        node.test = as_test(node.test)
        if is_static(node.test) or is_fixed(node.body) or is_fixed(node.orelse):
            return self.generic_visit(node)
        self.generic_visit(node)
        return call("choose", node.test, thunk(node.body), thunk(node.orelse))

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """Chains and `in`."""
        _mark_bare(node.left, *node.comparators)
        fixed = is_fixed(node) and len(node.ops) > 1
        empty = asks_empty(node) if "len" not in self.local else None
        if empty is not None:
            length, number = node.left, node.comparators[0]
            assert isinstance(length, ast.Call)
            items = self.visit(length.args[0])
            name = ast.Constant(type(node.ops[0]).__name__)
            return call("counted", length.func, items, name, number, ast.Constant(empty))
        self.generic_visit(node)
        if fixed:
            return node
        if len(node.ops) == 1:
            op, both = type(node.ops[0]), (node.left, node.comparators[0])
            if op in _ASKED:
                function, is_negated = _ASKED[op]
                asked = call(function, *both)
                return call("not_", asked) if is_negated else asked
            constant = any(isinstance(part, ast.Constant) for part in both)
            if op in (ast.Eq, ast.NotEq) and not constant:
                return call("equal", ast.Constant(op.__name__), *both)
            return node
        names = [ast.Constant(type(op).__name__) for op in node.ops]
        parts = [thunk(part) for part in (node.left, *node.comparators)]
        return call("chain", ast.Tuple(list(names), ast.Load()), *parts)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Builtins that decide, and `super()` without arguments."""
        f = node.func
        if isinstance(f, ast.Attribute) and f.attr not in METHODS:
            if not isinstance(f.value, ast.Name) or f.value.id != self.first:
                _mark_bare(*(arg for arg in node.args if getattr(arg, "elts", None)))
        self.generic_visit(node)
        own, first = self.own_function(node)
        if own is not None:
            node.args, node.func = [*first, *node.args], call(own).func
            return node
        name = f.id if isinstance(f, ast.Name) else ""
        if name == "super" and not node.args and self.first is not None:
            node.args = [ast.Name("__class__", ast.Load()), ast.Name(self.first, ast.Load())]
        elif name in BUILTINS and name not in self.local:
            function = node.args[0] if name == "map" and node.args else None
            if isinstance(function, ast.Name) and function.id in set(BUILTINS) - self.local:
                # `map(int, box)`
                node.args[0] = call("builtin", ast.Constant(function.id), function)
            node.func = call("builtin", ast.Constant(name), node.func)
        return node

    def own_function(self, node: ast.Call) -> tuple[str | None, list[ast.expr]]:
        """The function of `runtime` for a call, and its first arguments; None for other calls."""
        f = node.func
        name = f.id if isinstance(f, ast.Name) and f.id not in self.local else ""
        if is_math(node, self.local):
            return "math_", [f]
        if name == "is_tensor" or (isinstance(f, ast.Attribute) and f.attr == "is_tensor"):
            return "is_tensor", [f]
        if isinstance(f, ast.Attribute):
            if f.attr in ("format", "join") and isinstance(getattr(f.value, "value", None), str):
                return f"{f.attr}_", [f.value]
            if f.attr == "get" and node.args:
                return "got", [f.value]
            if f.attr in METHODS:
                return "method", [ast.Constant(f.attr), f.value]
        if name in ("getattr", "hasattr") and not node.keywords:
            return ("attribute" if name == "getattr" else "has_attribute"), [f]
        if name == "isinstance":
            return "is_of_type", []
        if name == "zip" and len(node.args) == 1 and is_starred(node.args[0]):
            node.args = [node.args[0].value]  # type: ignore[attr-defined]
            return "zip_items", [f]
        return None, []

    def visit_Slice(self, node: ast.Slice) -> ast.AST:
        """`start:stop`: a tensor is the number that it has at run time."""
        self.generic_visit(node)
        lower, upper = node.lower, node.upper
        if node.step is None and lower and upper and is_bound(lower) and is_bound(upper):
            return call("slice_of", lower, upper)
        for name in ("lower", "upper"):
            bound = getattr(node, name)
            if bound is not None and is_bound(bound):
                setattr(node, name, _place_at(call("bound", bound), bound))
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """`items[n]`, `items[:n]`: the number may be known at run time only."""
        _mark_bare(*ast.walk(node.slice))
        opened = isinstance(node.ctx, ast.Load) and is_open(node.slice)
        is_slice = isinstance(node.slice, ast.Slice)
        self.generic_visit(node)
        if opened and isinstance(node.slice, ast.Slice):
            ends = (node.slice.lower, node.slice.upper)
            node.slice = call("slice_of", *(end or ast.Constant(None) for end in ends))
        if not isinstance(node.ctx, ast.Load):
            return node
        if is_slice and not opened:
            return call("own_list", node)  # of a list, another list
        if not may_be_number(node.slice):
            return node
        return call("item", node.value, node.slice)

    def visit_List(self, node: ast.List) -> ast.AST:
        """`[a, b]`, `[a, *rows]`: as many items may be added as are known at run time only."""
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load):
            return node
        if not any(map(is_starred, node.elts)):
            return node if hasattr(node, "is_bare") else call("own_list", node)
        new_list: ast.expr = call("own_list", ast.List([], ast.Load()))
        for item in node.elts:
            others = item.value if isinstance(item, ast.Starred) else ast.List([item], ast.Load())
            new_list = call("extend", new_list, others)
        return new_list

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        """`[f(x) for x in items]`: the items may be known at run time only."""
        return self.comprehension(node, "listed")

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> ast.AST:
        """`f(x) for x in items`, in the same way."""
        return self.comprehension(node, "generated")

    def comprehension(self, node: ast.ListComp | ast.GeneratorExp, name: str) -> ast.AST:
        """A comprehension over one iterable as a call of `runtime`."""
        clause = node.generators[0]
        fixed = clause.is_async or len(node.generators) > 1 or is_fixed(node)
        fixed = fixed or _is_captured(clause.target, node.elt, *clause.ifs)
        self.generic_visit(node)
        if fixed:
            return call("own_list", node) if name == "listed" else node
        parts = [_of_item(clause, node.elt)]
        if clause.ifs:
            tests = [thunk(test) for test in clause.ifs]
            one = clause.ifs[0] if len(tests) == 1 else call("and_", *tests)
            parts.append(_of_item(clause, one))
        return call(name, clause.iter, *parts)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        """`f"{n}"`: a number may be known at run time only."""
        self.generic_visit(node)
        return call("text", *(_text_part(value) for value in node.values))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """A nested function is rewritten as a function."""
        return self.function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        """Left as it is."""
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """The methods of a nested class are rewritten, nothing else of it."""
        for n, s in enumerate(node.body):
            if isinstance(s, ast.FunctionDef):
                node.body[n] = self.function(s)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        """`items[n] = value`: the number may be known at run time only."""
        self.generic_visit(node)
        target = node.targets[0]
        if len(node.targets) > 1 or is_fixed(node):
            return node
        if isinstance(target, ast.Tuple) and any(map(is_place, target.elts)):
            if not all(
                isinstance(t, ast.Subscript) and not isinstance(t.slice, ast.Slice)
                for t in target.elts
            ):
                return node
            pairs = [ast.Tuple([t.value, t.slice], ast.Load()) for t in target.elts]  # type: ignore[attr-defined]
            return ast.Expr(call("set_items", node.value, *pairs))
        if not is_place(target):
            return node
        assert isinstance(target, ast.Subscript)
        return ast.Expr(call("set_item", node.value, target.value, target.slice))

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        """`name += value`, `items[n] += value`."""
        self.generic_visit(node)
        target = node.target
        if is_place(target) and not is_fixed(node):
            assert isinstance(target, ast.Subscript)
            name = ast.Constant(OPERATORS[type(node.op)])
            return ast.Expr(call("augment_item", name, target.value, target.slice, node.value))
        if not isinstance(node.target, ast.Name):
            return node
        load = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
        value = call("augment", ast.Constant(OPERATORS[type(node.op)]), load, node.value)
        return ast.Assign([node.target], value)

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        """`assert`."""
        static = is_static(node.test) or is_fixed(node.test)
        self.generic_visit(node)
        if static:
            return node
        args = [thunk(node.test)] + ([thunk(node.msg)] if node.msg is not None else [])
        return ast.Expr(call("assert_", *args))


def _mark_bare(*nodes: ast.AST) -> None:
    """Leave lists as they are that nothing changes: arguments of functions, indices, operands."""
    for node in nodes:
        if isinstance(node, ast.List):
            node.is_bare = True  # type: ignore[attr-defined]


def _place_at(new_node: ast.AST, node: ast.AST) -> ast.AST:
    """The same, on the line of another node."""
    return placed(ast.copy_location(new_node, node), Place.of(node))


def _is_captured(target: ast.expr, *parts: ast.expr) -> bool:
    """Whether functions of a comprehension read its variable, which is one for all items."""
    return not names_of(target).bound.keys().isdisjoint(names_of(*parts).captured)


def _of_item(clause: ast.comprehension, value: ast.expr) -> ast.Lambda:
    """What a comprehension computes of one item, as a function of the item."""
    one = ast.Tuple([ast.Name("_ow_item", ast.Load())], ast.Load())
    inner = ast.ListComp(value, [ast.comprehension(copied(clause.target), one, [], 0)])
    item_function = thunk(ast.Subscript(inner, ast.Constant(0), ast.Load()))
    item_function.args.args.append(ast.arg("_ow_item"))
    return item_function


def _text_part(node: ast.expr) -> ast.expr:
    """A part of an f-string for `text`: a value, how it is converted, and its format."""
    if not isinstance(node, ast.FormattedValue):
        return node
    conversion = "" if node.conversion == -1 else chr(node.conversion)
    spec = node.format_spec or ast.Constant("")
    return ast.Tuple([node.value, ast.Constant(conversion), spec], ast.Load())

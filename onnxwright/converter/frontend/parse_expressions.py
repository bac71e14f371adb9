"""Expressions of Python's syntax tree as expressions of the HIR."""

from __future__ import annotations

import ast
from typing import Any

from onnxwright.converter.frontend import hir
from onnxwright.converter.frontend.capture import SourceUnit
from onnxwright.converter.frontend.unpacking import unpacking_target
from onnxwright.diagnostics.catalogue import syntax as messages
from onnxwright.diagnostics.diagnostic import Diagnostic, Sink
from onnxwright.diagnostics.span import Span

BINARY = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv",
    ast.Mod: "mod", ast.Pow: "pow", ast.MatMult: "matmul", ast.BitAnd: "and_", ast.BitOr: "or_",
    ast.BitXor: "xor", ast.LShift: "lshift", ast.RShift: "rshift",
}  # fmt: skip
_UNARY = {ast.USub: "neg", ast.UAdd: "pos", ast.Invert: "invert", ast.Not: "not_"}
_COMPARE = {
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge",
    ast.Is: "is", ast.IsNot: "is_not", ast.In: "in", ast.NotIn: "not_in",
}  # fmt: skip

_EXPRESSION_ADVICE = {
    "Yield": ("`yield`", "return all results at the end, as a tuple"),
    "YieldFrom": ("`yield from`", "return all results at the end, as a tuple"),
    "Await": ("`await`", "a graph runs from start to end: call plain functions"),
}


class ExpressionParser:
    """Reads expressions; what cannot be said in ONNX is added to the sink.

    Args:
        unit: the source of a function.
        sink: takes the errors.
    """

    def __init__(self, unit: SourceUnit, sink: Sink) -> None:
        self.unit = unit
        self.sink = sink
        # Where all characters are one byte, columns of `ast` are those of the text.
        self.lines = None if unit.text.isascii() else unit.text.split("\n")
        self.level = self.deepest = 0

    # -- places ----------------------------------------------------------------------------------

    def span(self, node: Any) -> Span:
        """The characters of a node: `ast` counts UTF-8 bytes."""
        start, end = node.col_offset, node.end_col_offset
        if self.lines is not None:
            start = _column(self.lines[node.lineno - 1], start)
            end = _column(self.lines[node.end_lineno - 1], end)
        offset = self.unit.line_offset
        return Span(self.unit.file, node.lineno + offset, start, node.end_lineno + offset, end)

    def _refuse(self, diagnostic: Diagnostic) -> None:
        self.sink.add(diagnostic)

    def target(self, node: ast.expr) -> hir.Target | None:
        span = self.span(node)
        if isinstance(node, ast.Name):
            return hir.NameTarget(span, node.id)
        if isinstance(node, (ast.Tuple, ast.List)):
            return unpacking_target(node, span, self.target)
        if isinstance(node, ast.Subscript):
            path: list[ast.expr] = []
            inner: ast.expr = node.value
            while isinstance(inner, ast.Subscript):
                path.insert(0, inner.slice)
                inner = inner.value
            if isinstance(inner, ast.Name):
                before = tuple(self.index(part) for part in path)
                return hir.ItemTarget(span, inner.id, self.index(node.slice), before)
        what = "an attribute" if isinstance(node, ast.Attribute) else "an item of an expression"
        advice = "bind a new name; `op.ScatterElements`, `op.ScatterND` or `op.Where` change parts"
        self._refuse(messages.UnsupportedTarget(construct=what, advice=advice, span=span))
        return None

    # -- expressions -----------------------------------------------------------------------------

    def expr(self, node: ast.expr) -> hir.Expr:
        kind = type(node).__name__
        method = getattr(self, f"do_{kind}", None)
        if method is not None:
            self.level += 1
            self.deepest = max(self.deepest, self.level)
            result: hir.Expr = method(node)
            self.level -= 1
            return result
        construct, advice = _EXPRESSION_ADVICE.get(kind, (f"`{kind}`", "write it another way"))
        span = self.span(node)
        self._refuse(messages.UnsupportedExpression(construct=construct, advice=advice, span=span))
        return hir.Literal(span, None)

    def exprs(self, nodes: list[ast.expr]) -> tuple[hir.Expr, ...]:
        return tuple(self.expr(n) for n in nodes)

    def do_Name(self, node: ast.Name) -> hir.Expr:
        return hir.Name(self.span(node), node.id)

    def do_Constant(self, node: ast.Constant) -> hir.Expr:
        return hir.Literal(self.span(node), node.value)

    def do_Attribute(self, node: ast.Attribute) -> hir.Expr:
        return hir.Attribute(self.span(node), self.expr(node.value), node.attr)

    def do_Subscript(self, node: ast.Subscript) -> hir.Expr:
        return hir.Subscript(self.span(node), self.expr(node.value), self.index(node.slice))

    def index(self, node: ast.expr) -> hir.Expr:
        return self.expr(node)

    def do_Slice(self, node: ast.Slice) -> hir.Expr:
        parts = [None if p is None else self.expr(p) for p in (node.lower, node.upper, node.step)]
        return hir.SliceExpr(self.span(node), *parts)

    def do_Tuple(self, node: ast.Tuple) -> hir.Expr:
        return hir.Display(self.span(node), "tuple", self.exprs(node.elts))

    def do_List(self, node: ast.List) -> hir.Expr:
        return hir.Display(self.span(node), "list", self.exprs(node.elts))

    def do_Set(self, node: ast.Set) -> hir.Expr:
        return hir.Display(self.span(node), "set", self.exprs(node.elts))

    def do_Dict(self, node: ast.Dict) -> hir.Expr:
        keys = tuple(None if k is None else self.expr(k) for k in node.keys)
        return hir.DictDisplay(self.span(node), keys, self.exprs(node.values))

    def do_UnaryOp(self, node: ast.UnaryOp) -> hir.Expr:
        operand = self.expr(node.operand)
        if isinstance(node.op, ast.USub) and isinstance(operand, hir.Literal):
            if isinstance(operand.value, (int, float, complex)):
                return hir.Literal(self.span(node), -operand.value)
        return hir.Unary(self.span(node), _UNARY[type(node.op)], operand)

    def do_BinOp(self, node: ast.BinOp) -> hir.Expr:
        left, right = self.expr(node.left), self.expr(node.right)
        return hir.Binary(self.span(node), BINARY[type(node.op)], left, right)

    def do_Compare(self, node: ast.Compare) -> hir.Expr:
        ops = tuple(_COMPARE[type(o)] for o in node.ops)
        first = self.expr(node.left)
        return hir.Comparison(self.span(node), first, ops, self.exprs(node.comparators))

    def do_BoolOp(self, node: ast.BoolOp) -> hir.Expr:
        op = "and" if isinstance(node.op, ast.And) else "or"
        return hir.Logic(self.span(node), op, self.exprs(node.values))

    def do_IfExp(self, node: ast.IfExp) -> hir.Expr:
        test = self.expr(node.test)
        return hir.Conditional(self.span(node), test, self.expr(node.body), self.expr(node.orelse))

    def do_Starred(self, node: ast.Starred) -> hir.Expr:
        return hir.Star(self.span(node), self.expr(node.value))

    def do_Call(self, node: ast.Call) -> hir.Expr:
        func = self.expr(node.func)
        args = self.exprs(node.args)
        keywords = tuple((k.arg, self.expr(k.value)) for k in node.keywords)
        return hir.Call(self.span(node), func, args, keywords)

    def do_NamedExpr(self, node: ast.NamedExpr) -> hir.Expr:
        return hir.Walrus(self.span(node), node.target.id, self.expr(node.value))

    def do_JoinedStr(self, node: ast.JoinedStr) -> hir.Expr:
        parts: list[Any] = []
        for part in node.values:
            if isinstance(part, ast.Constant):
                parts.append(str(part.value))
            elif isinstance(part, ast.FormattedValue):
                spec = None if part.format_spec is None else self.expr(part.format_spec)
                conversion = chr(part.conversion) if part.conversion > 0 else ""
                parts.append((self.expr(part.value), conversion, spec))
        return hir.Format(self.span(node), tuple(parts))

    def do_ListComp(self, node: ast.ListComp) -> hir.Expr:
        return self._comprehension(node, "list", node.elt, None)

    def do_SetComp(self, node: ast.SetComp) -> hir.Expr:
        return self._comprehension(node, "set", node.elt, None)

    def do_GeneratorExp(self, node: ast.GeneratorExp) -> hir.Expr:
        return self._comprehension(node, "list", node.elt, None)

    def do_DictComp(self, node: ast.DictComp) -> hir.Expr:
        return self._comprehension(node, "dict", node.key, node.value)

    def _comprehension(
        self, node: Any, kind: str, element: ast.expr, value: ast.expr | None
    ) -> hir.Expr:
        clauses: list[hir.Clause] = []
        for generator in node.generators:
            iterable = self.expr(generator.iter)
            target = self.target(generator.target)
            if target is not None:
                clauses.append(hir.Clause(target, iterable, self.exprs(generator.ifs)))
        expression = None if value is None else self.expr(value)
        return hir.Comprehension(
            self.span(node), kind, self.expr(element), expression, tuple(clauses)
        )


def _column(text: str, offset: int) -> int:
    """The column in characters for an offset in bytes."""
    return offset if text.isascii() else len(text.encode()[:offset].decode(errors="ignore"))

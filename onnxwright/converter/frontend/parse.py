"""Python's syntax tree to the HIR; what cannot be said in ONNX is collected, not raised.

Every HIR node has a span in characters.  Nothing of `ast` is left after this stage.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from onnxwright.converter.frontend import hir
from onnxwright.converter.frontend.capture import SourceUnit
from onnxwright.converter.frontend.match_statements import UnsupportedPatternError, as_ifs
from onnxwright.converter.frontend.parse_expressions import BINARY, ExpressionParser
from onnxwright.diagnostics.catalogue import syntax as messages
from onnxwright.diagnostics.diagnostic import Sink
from onnxwright.diagnostics.span import Span

_STATEMENT_ADVICE = {
    "Try": ("try", "a graph cannot catch errors: test for the case with `if` or `op.Where`"),
    "TryStar": ("try", "a graph cannot catch errors: test for the case with `if` or `op.Where`"),
    "With": ("with", "call what you need without a context manager, or do it outside the script"),
    "AsyncWith": ("async with", "do it outside the script"),
    "AsyncFor": ("async for", "use a plain `for`"),
    "AsyncFunctionDef": ("async def", "use a plain `def`"),
    "ClassDef": ("class", "define the class outside the script"),
    "Import": ("import", "import at the top of the file"),
    "ImportFrom": ("import", "import at the top of the file"),
    "Global": ("global", "a script has no side effects: return the value instead"),
    "Nonlocal": ("nonlocal", "a script has no side effects: return the value instead"),
    "TypeAlias": ("type", "define the type outside the script"),
}


@dataclass(frozen=True, slots=True)
class Parsed:
    """A function as HIR.

    Attributes:
        unit: where it came from.
        name: its name.
        params: the names of its parameters in order.
        body: its statements.
        doc: its docstring.
        refused_names: what its refused statements bind.
        depth: how deep its statements and expressions are nested.
        has_functions: whether functions are defined in it, lambdas among them.
    """

    unit: SourceUnit
    name: str
    params: tuple[str, ...]
    body: hir.Block
    doc: str | None
    refused_names: frozenset[str] = frozenset()
    depth: int = 0
    has_functions: bool = True


def parse(unit: SourceUnit, sink: Sink) -> Parsed:
    """Read a function; errors go to `sink`, and the tree then lacks the parts they name."""
    parser = _Parser(unit, sink)
    node = unit.node
    if isinstance(node, ast.Lambda):
        value = parser.expr(node.body)
        body: hir.Block = (hir.Return(value.span, value),)
        doc = None
    else:
        body = parser.block(node.body)
        doc = ast.get_docstring(node)
    a = node.args
    names = [p.arg for p in (*a.posonlyargs, *a.args)]
    if a.vararg is not None:
        names.append(a.vararg.arg)
    names += [p.arg for p in (*a.kwonlyargs, a.kwarg) if p is not None]
    bound = frozenset(parser.refused_names)
    own_name, inner = unit.function.__name__, parser.has_functions
    return Parsed(unit, own_name, tuple(names), body, doc, bound, parser.deepest, inner)


class _Parser(ExpressionParser):
    """Reads statements."""

    def __init__(self, unit: SourceUnit, sink: Sink) -> None:
        super().__init__(unit, sink)
        self.loops = 0
        self.has_functions = False
        # What refused statements bind: reading it is not an error of its own.
        self.refused_names: set[str] = set()
        # The names that are annotated without a value, with the texts of their annotations.
        self.declared: dict[str, str] = {}

    @cached_property
    def bound(self) -> frozenset[str]:
        """All names that the function, or a function in it, binds: few functions ask for them."""
        return _bound_in(self.unit.node)

    # -- statements ------------------------------------------------------------------------------

    def block(self, statements: list[ast.stmt]) -> hir.Block:
        lowered: list[hir.Statement] = []
        for node in statements:
            lowered.extend(self.statement(node))
        return tuple(lowered)

    def statement(self, node: ast.stmt) -> list[hir.Statement]:
        kind = type(node).__name__
        method = getattr(self, f"do_{kind}", None)
        if method is not None:
            self.level += 1
            result: list[hir.Statement] = method(node)
            self.level -= 1
            return result
        construct, advice = _STATEMENT_ADVICE.get(kind, (kind.lower(), "write it another way"))
        span = self.span(node)
        end = span.col + len(construct)
        short = Span(span.file, span.line, span.col, span.line, end)
        self._refuse(messages.UnsupportedStatement(construct=construct, advice=advice, span=short))
        self.refused_names |= _bound_names(node)
        return []

    def do_Pass(self, node: ast.Pass) -> list[hir.Statement]:
        return []

    def do_Expr(self, node: ast.Expr) -> list[hir.Statement]:
        if isinstance(node.value, ast.Constant):
            return []  # a docstring, or `...`
        call = node.value
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and isinstance(call.func.value, ast.Name)
            and call.func.attr
            in (
                "append",
                "extend",
                "insert",
                "update",
                "pop",
                "clear",
                "remove",
                "reverse",
                "sort",
                "add",
                "discard",
                "setdefault",
                "appendleft",
                "extendleft",
                "popleft",
                "popitem",
                "rotate",
            )
        ):
            if call.func.value.id not in self.bound:
                # An object from outside is changed while compiling, as Python would.
                return [hir.Evaluate(self.span(call), self.expr(call))]
            return [self._container_method(call, call.func.value.id, call.func.attr)]
        value = self.expr(node.value)
        return [hir.Evaluate(value.span, value)]

    def _container_method(self, call: ast.Call, name: str, method: str) -> hir.Statement:
        """`xs.append(v)`: the name is bound to the changed container."""
        span = self.span(call)
        call_expression = self.expr(call)
        assert isinstance(call_expression, hir.Call)
        function = hir.Attribute(
            call_expression.func.span, hir.Name(call_expression.func.span, name), f"%{method}"
        )
        changed = hir.Call(span, function, call_expression.args, call_expression.keywords)
        return hir.Assign(span, (hir.NameTarget(span, name),), changed)

    def _outer_item(self, target: ast.expr, value: hir.Expr) -> hir.Statement | None:
        """`d[k] = v` for an object from outside; None for any other target."""
        if not isinstance(target, ast.Subscript) or not isinstance(target.value, ast.Name):
            return None
        if target.value.id in self.bound or isinstance(target.slice, ast.Slice):
            return None
        span = self.span(target)
        name = hir.Name(self.span(target.value), target.value.id)
        method = hir.Attribute(span, name, "__setitem__")
        return hir.Evaluate(span, hir.Call(span, method, (self.expr(target.slice), value), ()))

    def do_Assign(self, node: ast.Assign) -> list[hir.Statement]:
        value = self.expr(node.value)
        if len(node.targets) == 1:
            outer = self._outer_item(node.targets[0], value)
            if outer is not None:
                return [outer]
        targets = [self.target(t) for t in node.targets]
        kept = tuple(t for t in targets if t is not None)
        names = _targeted_names(kept)
        declared = tuple((n, self.declared[n]) for n in names if n in self.declared)
        return [hir.Assign(self.span(node), kept, value, declared=declared)] if kept else []

    def do_AnnAssign(self, node: ast.AnnAssign) -> list[hir.Statement]:
        if node.value is None:
            if isinstance(node.target, ast.Name):
                self.declared[node.target.id] = ast.unparse(node.annotation)
            return []
        target = self.target(node.target)
        value = self.expr(node.value)
        if target is None:
            return []
        text = ast.unparse(node.annotation)
        return [hir.Assign(self.span(node), (target,), value, text)]

    def do_AugAssign(self, node: ast.AugAssign) -> list[hir.Statement]:
        span = self.span(node)
        value = self.expr(node.value)
        current = self.expr(_as_load(node.target))
        changed = hir.Binary(span, BINARY[type(node.op)], current, value, inplace=True)
        outer = self._outer_item(node.target, changed)
        if outer is not None:
            return [outer]
        target = self.target(node.target)
        if target is None:
            return []
        return [hir.Assign(span, (target,), changed)]

    def do_If(self, node: ast.If) -> list[hir.Statement]:
        test = self.expr(node.test)
        then, orelse = self.block(node.body), self.block(node.orelse)
        return [hir.If(self.span(node), test, then, orelse)]

    def do_Match(self, node: ast.Match) -> list[hir.Statement]:
        try:
            return list(self.block(as_ifs(node)))
        except UnsupportedPatternError as error:
            advice = "use `if` and `elif`"
            span = self.span(error.node)
            self._refuse(messages.UnsupportedExpression(
                construct=error.construct, advice=advice, span=span
            ))  # fmt: skip
            self.refused_names |= _bound_names(node)
            return []

    def do_For(self, node: ast.For) -> list[hir.Statement]:
        iterable = self.expr(node.iter)
        target = self.target(node.target)
        self.loops += 1
        body = self.block(node.body)
        self.loops -= 1
        orelse = self.block(node.orelse)
        if target is None:
            return []
        return [hir.For(self.span(node), target, iterable, body, orelse)]

    def do_While(self, node: ast.While) -> list[hir.Statement]:
        test = self.expr(node.test)
        self.loops += 1
        body = self.block(node.body)
        self.loops -= 1
        return [hir.While(self.span(node), test, body, self.block(node.orelse))]

    def do_Break(self, node: ast.Break) -> list[hir.Statement]:
        return self._exit(node, "break", hir.Break(self.span(node)))

    def do_Continue(self, node: ast.Continue) -> list[hir.Statement]:
        return self._exit(node, "continue", hir.Continue(self.span(node)))

    def _exit(self, node: ast.stmt, name: str, statement: hir.Statement) -> list[hir.Statement]:
        if not self.loops:
            self._refuse(messages.OutsideLoop(construct=name, span=self.span(node)))
            return []
        return [statement]

    def do_Return(self, node: ast.Return) -> list[hir.Statement]:
        value = None if node.value is None else self.expr(node.value)
        return [hir.Return(self.span(node), value)]

    def do_FunctionDef(self, node: ast.FunctionDef) -> list[hir.Statement]:
        function = self.function(node, node.name)
        function = hir.LocalFunction(
            self._header(node), function.name, function.params, function.body
        )
        statements: list[hir.Statement] = [hir.Define(function.span, function)]
        for decorator in reversed(node.decorator_list):
            span = self.span(decorator)
            decorated = hir.Call(span, self.expr(decorator), (hir.Name(span, node.name),), ())
            statements.append(hir.Assign(span, (hir.NameTarget(span, node.name),), decorated))
        return statements

    def _header(self, node: ast.FunctionDef) -> Span:
        span = self.span(node)
        end = span.col + len(f"def {node.name}")
        return Span(span.file, span.line, span.col, span.line, end)

    def function(self, node: ast.FunctionDef | ast.Lambda, name: str) -> hir.LocalFunction:
        self.has_functions = True
        params: list[hir.Parameter] = []
        a = node.args
        positional = [*a.posonlyargs, *a.args]
        defaults: list[ast.expr | None] = [None] * (len(positional) - len(a.defaults))
        defaults += a.defaults
        for arg, default in zip(positional, defaults, strict=True):
            params.append(self._parameter(arg, "positional", default))
        if a.vararg is not None:
            params.append(self._parameter(a.vararg, "star", None))
        for arg, default in zip(a.kwonlyargs, a.kw_defaults, strict=True):
            params.append(self._parameter(arg, "keyword", default))
        if a.kwarg is not None:
            params.append(self._parameter(a.kwarg, "keywords", None))
        loops, self.loops = self.loops, 0
        declared, self.declared = self.declared, {}
        if isinstance(node, ast.Lambda):
            value = self.expr(node.body)
            body: hir.Block = (hir.Return(value.span, value),)
        else:
            body = self.block(node.body)
        self.loops, self.declared = loops, declared
        return hir.LocalFunction(self.span(node), name, tuple(params), body)

    def _parameter(self, arg: ast.arg, kind: str, default: ast.expr | None) -> hir.Parameter:
        value = None if default is None else self.expr(default)
        text = None if arg.annotation is None else ast.unparse(arg.annotation)
        return hir.Parameter(self.span(arg), arg.arg, kind, value, text)

    def do_Lambda(self, node: ast.Lambda) -> hir.Expr:
        return self.function(node, "<lambda>")

    def do_Assert(self, node: ast.Assert) -> list[hir.Statement]:
        message = None if node.msg is None else self.expr(node.msg)
        return [hir.Assert(self.span(node), self.expr(node.test), message)]

    def do_Raise(self, node: ast.Raise) -> list[hir.Statement]:
        exception = None if node.exc is None else self.expr(node.exc)
        return [hir.Raise(self.span(node), exception)]

    def do_Delete(self, node: ast.Delete) -> list[hir.Statement]:
        statements: list[hir.Statement] = []
        for item in node.targets:
            if isinstance(item, ast.Name):
                statements.append(hir.Delete(self.span(item), item.id))
            else:
                advice = "`del` takes names"
                construct = "`del` of a part of a value"
                self._refuse(
                    messages.UnsupportedExpression(
                        construct=construct, advice=advice, span=self.span(item)
                    )
                )
        return statements


def _bound_in(tree: ast.AST) -> frozenset[str]:
    """All names that a function, or a function in it, binds."""
    parameters = {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    deleted = {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Del)
    }
    return frozenset(_bound_names(tree) | parameters | deleted)


def _targeted_names(targets: Iterable[hir.Target]) -> list[str]:
    """The names that targets bind as a whole."""
    names = []
    for target in targets:
        if isinstance(target, hir.NameTarget):
            names.append(target.id)
        elif isinstance(target, hir.TupleTarget):
            names += _targeted_names(target.items)
    return names


def _bound_names(node: ast.AST) -> set[str]:
    """Every name a statement may bind."""
    names: set[str] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            names.add(part.id)
        elif isinstance(part, ast.alias):
            names.add((part.asname or part.name).split(".")[0])
        elif isinstance(part, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)):
            names.add(part.name)
        elif isinstance(part, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
            names.add(part.name or "")
    return names


def _as_load(node: ast.expr) -> ast.expr:
    """A target as the expression that reads it."""
    if isinstance(node, ast.Name):
        loaded: ast.expr = ast.Name(node.id, ast.Load())
    elif isinstance(node, ast.Subscript):
        loaded = ast.Subscript(node.value, node.slice, ast.Load())
    else:
        loaded = ast.Constant(None)
    return ast.copy_location(loaded, node)

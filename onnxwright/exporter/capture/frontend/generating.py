"""Python code again, from statements of the converter's tree: decisions are calls of `runtime`."""

from __future__ import annotations

import ast
import copy
from dataclasses import dataclass, field, replace
from typing import TypeVar

from onnxwright.converter.analyze.liveness import live_before
from onnxwright.converter.frontend import hir
from onnxwright.converter.frontend import names as hir_names
from onnxwright.diagnostics.span import Span
from onnxwright.exporter.capture.control.syntax_trees import Place, copied, placed
from onnxwright.exporter.capture.frontend.expressions import Expressions, as_test, call, thunk
from onnxwright.exporter.capture.frontend.names import is_static
from onnxwright.exporter.capture.frontend.structure import has_exits
from onnxwright.exporter.capture.session.errors import CannotRewriteError
from onnxwright.exporter.capture.session.model_lines import python_name

_Node = TypeVar("_Node", bound=ast.AST)


@dataclass
class Generator:
    """Writes the statements of one function.

    Fields:
        expressions: rewrites the verbatim pieces.
        outer: names that the function declares `global` or `nonlocal`, with the keyword.
        captured: names that functions inside take from around them.
        caught: names that are read where an `except` takes that they have no value -> its line.
        cells: names that branches bind; the function must bind them, too.
        count: how many decisions were written; numbers their functions.
        inside: how many local functions are around what is written.
    """

    expressions: Expressions
    outer: dict[str, str]
    captured: frozenset[str] = frozenset()
    caught: dict[str, int] = field(default_factory=dict)
    cells: dict[str, None] = field(default_factory=dict)
    count: int = 0
    inside: int = 0

    def block(self, block: hir.Block) -> list[ast.stmt]:
        """Statements of Python."""
        return [statement for s in block for statement in self.statement(s)]

    def statement(self, s: hir.Statement) -> list[ast.stmt]:
        """One statement."""
        if isinstance(s, hir.If):
            return self.decision(s)
        if isinstance(s, hir.For):
            return self.for_loop(s)
        if isinstance(s, hir.While):
            return self.while_loop(s)
        statement: ast.stmt
        if isinstance(s, hir.Assign):
            statement = ast.Assign([self.target(t) for t in s.targets], self.value(s.value))
        elif isinstance(s, hir.Raise):
            piece = s.exception
            assert isinstance(piece, hir.Verbatim)
            assert isinstance(piece.node, ast.AST)
            statement = self.expressions.visit(copied(piece.node))
        else:
            assert isinstance(s, hir.Evaluate)
            assert isinstance(s.value, hir.Verbatim)
            node = s.value.node
            assert isinstance(node, ast.AST)
            if self.inside and has_exits(node):
                raise CannotRewriteError(
                    "a `try` that is left by `return`, `break` or `continue`", s.span
                )
            visited = self.expressions.visit(copied(node))
            return [visited if isinstance(visited, ast.stmt) else ast.Expr(visited)]
        return [_at(statement, s.span)]

    def value(self, node: hir.Expr) -> ast.expr:
        """An expression."""
        expression: ast.expr
        if isinstance(node, hir.Verbatim):
            assert isinstance(node.node, ast.expr)
            visited: ast.expr = self.expressions.visit(copied(node.node))
            return visited
        if isinstance(node, hir.Literal):
            expression = ast.Constant(node.value)  # type: ignore[arg-type]
        elif isinstance(node, hir.Name):
            expression = ast.Name(python_name(node.id), ast.Load())
        else:
            assert isinstance(node, hir.Unary)
            expression = call("not_", self.value(node.operand))
        return _at(expression, node.span)

    def target(self, node: hir.Target) -> ast.expr:
        """The target of an assignment."""
        if isinstance(node, hir.TupleTarget):
            items = [self.target(item) for item in node.items]
            if node.star is not None:
                items[node.star] = ast.Starred(items[node.star], ast.Store())
            return _at(ast.Tuple(items, ast.Store()), node.span)
        assert isinstance(node, hir.NameTarget)
        return _at(ast.Name(python_name(node.id), ast.Store()), node.span)

    # -- decisions ---------------------------------------------------------------------------------

    def decision(self, s: hir.If) -> list[ast.stmt]:
        """An `if`; a statement with a block; or a decision at run time."""
        test = s.test
        if isinstance(test, hir.Verbatim) and isinstance(test.node, ast.expr):
            test = replace(test, node=as_test(test.node))
        if isinstance(test, hir.Verbatim) and isinstance(test.node, (ast.With, ast.Try)):
            return [self.with_block(test.node, s.then)]
        if isinstance(test, hir.Verbatim) and isinstance(test.node, ast.expr):
            if is_static(test.node):
                then, orelse = self.block(s.then), self.block(s.orelse)
                return [_at(ast.If(self.value(test), then or [ast.Pass()], orelse), s.span)]
        self.count += 1
        n = self.count
        bound = hir_names.bound_in((*s.then, *s.orelse))
        state, setter = self.state(n, bound, s.live_out, s.span)
        then_name, else_name = f"_ow_then_{n}", f"_ow_else_{n}"
        raises = [ast.Constant(_raises(block)) for block in (s.then, s.orelse)]
        raises.append(ast.Constant(isinstance(s.test, hir.Verbatim)))
        run = call(
            "if_", self.value(test), _load(then_name), _load(else_name), state, *raises
        )  # fmt: skip
        return [
            *setter,
            self.function(then_name, s.then, bound, s.span),
            self.function(else_name, s.orelse, bound, s.span),
            _at(ast.Expr(run), s.span),
        ]

    def with_block(self, node: ast.With | ast.Try, body: hir.Block) -> ast.stmt:
        """`with` or `try` around statements that were rewritten."""
        bare = copy.copy(node)
        bare.body = [ast.Pass()]
        new_node: ast.With | ast.Try = self.expressions.visit(copied(bare))
        new_node.body = self.block(body) or [ast.Pass()]
        return new_node

    def for_loop(self, s: hir.For) -> list[ast.stmt]:
        """A `for` without exits but its flag."""
        self.count += 1
        n = self.count
        bound = list(
            dict.fromkeys([*hir_names.target_names(s.target), *hir_names.bound_in(s.body)])
        )
        target = hir_names.target_names(s.target)
        state, setter = self.loop_state(n, bound, s.carried, s, target)
        item = _at(ast.Name(f"_ow_item_{n}", ast.Load()), s.span)
        bind = _at(ast.Assign([self.target(s.target)], item), s.span)
        name, take = f"_ow_body_{n}", f"_ow_take_{n}"
        run = call(
            "for_", self.value(s.iterable), _load(take), _load(name), self.flag(s.broken, s.span),
            state,
        )  # fmt: skip
        return [
            *setter,
            self.function(take, (), bound, s.span, [bind], item.id),
            self.function(name, s.body, bound, s.span),
            _at(ast.Expr(run), s.span),
        ]

    def while_loop(self, s: hir.While) -> list[ast.stmt]:
        """A `while` without exits but its flag."""
        self.count += 1
        n = self.count
        bound = hir_names.bound_in((s,))
        # The test is a part of its own, so that what it reads goes round, too.
        read = set(hir_names.reads(s.test, set()))
        carried = tuple(name for name in bound if name in s.carried or name in read)
        state, setter = self.loop_state(n, bound, carried, s, [])
        name = f"_ow_body_{n}"
        test = _at(thunk(self.value(s.test)), s.span)
        run = call("while_", test, _load(name), self.flag(s.broken, s.span), state)
        return [
            *setter,
            self.function(name, s.body, bound, s.span),
            _at(ast.Expr(run), s.span),
        ]

    def loop_state(
        self, n: int, bound: list[str], carried: tuple[str, ...], s: hir.For | hir.While,
        target: list[str],
    ) -> tuple[ast.Call, list[ast.stmt]]:  # fmt: skip
        """The state of a loop; `target` is bound before each iteration."""
        always = self.captured | frozenset(self.outer)
        read = live_before(s.body, {*carried, *s.live_out}, always) - set(target)
        state, setter = self.state(n, bound, carried, s.span)
        changed = {
            piece.target.id for piece in _pieces(s.body)
            if isinstance(piece, ast.AugAssign) and isinstance(piece.target, ast.Name)
        }  # fmt: skip
        for some in (read & set(carried), read & set(carried) & changed):
            state.args.append(_strings([python_name(n) for n in bound if n in some]))
        return state, setter

    def flag(self, broken: str | None, span: Span) -> ast.expr:
        """What reads the flag of a loop."""
        if broken is None:
            return _at(ast.Constant(None), span)
        return _at(thunk(ast.Name(python_name(broken), ast.Load())), span)

    def function(
        self,
        name: str,
        block: hir.Block,
        bound: list[str],
        span: Span,
        statements: list[ast.stmt] | None = None,
        parameter: str | None = None,
    ) -> ast.FunctionDef:
        """A local function that runs a branch, and binds the names of the function around it."""
        self.inside += 1
        body = statements if statements is not None else self.block(block)
        self.inside -= 1
        args = [ast.arg(parameter)] if parameter else []
        arguments = ast.arguments(
            posonlyargs=[], args=args, kwonlyargs=[], kw_defaults=[], defaults=[]
        )
        body = [*self.declarations(bound), *body] or [ast.Pass()]
        function = ast.FunctionDef(name, arguments, body, [])
        return _at(function, span)

    def declarations(self, bound: list[str]) -> list[ast.stmt]:
        """`global` and `nonlocal` of the names that a local function binds."""
        names = list(map(python_name, bound))
        glob = [n for n in names if self.outer.get(n) == "global"]
        local = [n for n in names if self.outer.get(n) != "global"]
        self.cells.update(dict.fromkeys(n for n in local if n not in self.outer))
        statements: list[ast.stmt] = [ast.Global(glob)] if glob else []
        return [*statements, ast.Nonlocal(local)] if local else statements

    def state(
        self,
        n: int,
        bound: list[str],
        live: tuple[str, ...],
        span: Span,
    ) -> tuple[ast.Call, list[ast.stmt]]:
        """`runtime.State(...)` of what branches bind, and the function that binds it anew."""
        names = list(map(python_name, bound))
        setter = f"_ow_set_{n}"
        value = "_ow_values"
        body: list[ast.stmt] = list(self.declarations(bound))
        for i, name in enumerate(names):
            item = ast.Subscript(_load(value), ast.Constant(i), ast.Load())
            body.append(ast.Assign([ast.Name(name, ast.Store())], item))
            unset = call("is_unset", _load(name))
            body.append(ast.If(unset, [ast.Delete([ast.Name(name, ast.Del())])], []))
        arguments = ast.arguments(
            posonlyargs=[], args=[ast.arg(value)], kwonlyargs=[], kw_defaults=[], defaults=[]
        )
        function = ast.FunctionDef(setter, arguments, body or [ast.Pass()], [])
        state_call = call(
            "State",
            _strings(names),
            _strings(list(map(python_name, live))),
            ast.Tuple([thunk(_load(n)) for n in names], ast.Load()),
            _load(setter),
        )
        caught = [name for name in live if name in self.caught]
        if caught:
            lines: list[ast.expr] = [ast.Constant(self.caught[name]) for name in caught]
            caught_lines = ast.Dict([ast.Constant(name) for name in caught], lines)
            state_call.keywords.append(ast.keyword("caught", caught_lines))
        return _at(state_call, span), [_at(function, span)]


def _pieces(block: hir.Block) -> list[ast.AST]:
    """The verbatim pieces anywhere in a block."""
    pieces: list[ast.AST] = []

    def walk(node: object) -> None:
        if isinstance(node, hir.Verbatim) and isinstance(node.node, ast.AST):
            pieces.append(node.node)
        for child in hir.children(node):
            walk(child)

    for s in block:
        walk(s)
    return pieces


def _raises(block: hir.Block) -> bool:
    """Whether a branch always ends in `raise`, so that the decision is a check."""
    for s in block:
        if isinstance(s, hir.Raise):
            return True
        if isinstance(s, hir.If) and s.orelse and _raises(s.then) and _raises(s.orelse):
            return True
    return False


def _strings(names: list[str]) -> ast.expr:
    return ast.Tuple([ast.Constant(name) for name in names], ast.Load())


def _load(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _at(node: _Node, span: Span) -> _Node:
    """A node at a place, with all in it that has none."""
    return placed(node, Place.start(span))

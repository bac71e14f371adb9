"""Python's tree as statements of the converter's: decisions, loops, exits; all else verbatim.

The result is what the converter's passes for exits and liveness take.  `with` and `try` without
exits are written as an `If` whose test is the statement without its body; `generating` writes them
as they were.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

from onnxwright.converter.frontend import hir
from onnxwright.converter.frontend.match_statements import UnsupportedPatternError, as_ifs
from onnxwright.converter.frontend.unpacking import unpacking_target
from onnxwright.converter.normalize.exits import FlagNames, contains, set_flag, thread
from onnxwright.converter.normalize.loop_exits import VALUE, loop_exits
from onnxwright.diagnostics.span import Span
from onnxwright.exporter.capture.frontend.names import bound_first, names_of
from onnxwright.exporter.capture.session.errors import CannotRewriteError
from onnxwright.exporter.capture.session.model_lines import python_name

# -- tries -----------------------------------------------------------------------------------------
# `try` whose `except` or `else` decides, as one that records what it caught, with these after it.
# For the passes a decision is a statement of the function, not of what stands in a `try`.

_DECIDES = (
    ast.If, ast.For, ast.While, ast.IfExp, ast.BoolOp, ast.Match, ast.Return, ast.Break,
    ast.Continue, ast.comprehension,
)  # fmt: skip


def decides_outside_body(s: ast.Try) -> bool:
    """Whether an `except` or the `else` of a `try` decides or is left."""
    bodies = [x for handler in s.handlers for x in handler.body]
    return _decides([*bodies, *s.orelse])


def without_decisions(s: ast.Try, name: str) -> list[ast.stmt]:
    r"""The same with `except` and `else` after it.

    Args:
        name: of a new variable, which holds the error that was caught.

    Returns:
        Statements.

    Example:
        >>> tree = ast.parse("try:\n    f()\nexcept OSError as e:\n    g(e)\nelse:\n    h()")
        >>> print(ast.unparse(without_decisions(tree.body[0], "c")))
        _ow_c = (0, None)
        try:
            f()
        except OSError as e:
            _ow_c = (1, e)
        if _ow_c[0] == 1:
            e = _ow_c[1]
            g(e)
        else:
            h()
    """
    name = f"_ow_{name.lstrip('%')}"
    catching: list[ast.ExceptHandler] = []
    after: list[ast.stmt] = list(s.orelse)
    for n, handler in reversed(list(enumerate(s.handlers, 1))):
        error = handler.name or f"{name}_error"
        held = ast.Tuple([ast.Constant(n), ast.Name(error, ast.Load())], ast.Load())
        new_handler = ast.ExceptHandler(
            handler.type or _name("BaseException"), error, [_set(name, held)]
        )
        new_handler.last = handler.body[-1]  # type: ignore[attr-defined] # whether it raises again
        catching.insert(0, ast.copy_location(new_handler, handler))
        body: list[ast.stmt] = [_Raises(name).visit(x) for x in handler.body]
        if handler.name:
            body.insert(0, _set(handler.name, _item(name, 1)))
        test = ast.Compare(_item(name, 0), [ast.Eq()], [ast.Constant(n)])
        after = [ast.If(test, body, after)]
    nothing = ast.Tuple([ast.Constant(0), ast.Constant(None)], ast.Load())
    bare = ast.Try(s.body, catching, [], [])
    out: list[ast.stmt] = [_set(name, nothing), *([bare] if catching else s.body), *after]
    if s.finalbody:
        out = [ast.Try(out, [], [], s.finalbody)]
    for made_statement in out:
        for x in ast.walk(made_statement):
            if "lineno" in x._attributes and not hasattr(x, "lineno"):
                ast.copy_location(x, s)
    return out


class _Raises(ast.NodeTransformer):
    """`raise` alone raises what was caught."""

    def __init__(self, name: str) -> None:
        self.name = name

    def visit_Raise(self, node: ast.Raise) -> ast.stmt:
        if node.exc is None:
            node.exc = _item(self.name, 1)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        """What a function raises is its own."""
        return node


def _decides(nodes: list[Any]) -> bool:
    return any(
        isinstance(x, _DECIDES)
        or (not isinstance(x, _FUNCTIONS) and _decides(list(ast.iter_child_nodes(x))))
        for x in nodes
    )


def _name(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _item(name: str, place: int) -> ast.expr:
    return ast.Subscript(_name(name), ast.Constant(place), ast.Load())


def _set(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value)


# -- structure -------------------------------------------------------------------------------------

_EXITS = (hir.Return, hir.Break, hir.Continue)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


@dataclass
class Structure:
    """Reads the body of one function.

    Fields:
        file: the file of the function, for spans.
        flags: fresh names.
        outer: names that the function declares `global` or `nonlocal`, with the keyword.
    """

    file: str
    flags: FlagNames
    outer: dict[str, str] = field(default_factory=dict)

    def block(self, body: list[ast.stmt]) -> hir.Block:
        """Statements."""
        out: list[hir.Statement] = []
        for statement in body:
            first = bound_first(statement, lambda: python_name(self.flags.fresh("test")))
            out += self.statement(statement) if len(first) == 1 else self.block(first)
        return tuple(out)

    def statement(self, s: ast.stmt) -> list[hir.Statement]:
        """One statement; `global` and `nonlocal` are kept aside."""
        span = self.span(s)
        if isinstance(s, ast.If):
            return [hir.If(span, self.piece(s.test), self.block(s.body), self.block(s.orelse))]
        if isinstance(s, ast.Match):
            try:
                return list(self.block(as_ifs(s, classes=True)))
            except UnsupportedPatternError:
                return [hir.Evaluate(span, self.piece(s))]
        if isinstance(s, ast.While):
            s = _without_names_in_test(s)
            body, orelse = self.block(s.body), self.block(s.orelse)
            if isinstance(s.test, ast.Constant):
                return [hir.While(span, hir.Literal(span, s.test.value), body, orelse)]
            return [hir.While(span, self.piece(s.test), body, orelse)]
        if isinstance(s, ast.For):
            return [self.loop(s, span)]
        if isinstance(s, ast.Return):
            return [hir.Return(span, self.piece(s.value) if s.value is not None else None)]
        if isinstance(s, ast.Break):
            return [hir.Break(span)]
        if isinstance(s, ast.Continue):
            return [hir.Continue(span)]
        if isinstance(s, ast.Raise):
            return [hir.Raise(span, self.piece(s))]
        if isinstance(s, (ast.Global, ast.Nonlocal)):
            self.outer.update(dict.fromkeys(s.names, type(s).__name__.lower()))
            return []
        if isinstance(s, ast.Pass):
            return []
        if isinstance(s, ast.With):
            return self.block_statement(s, span, self.block(s.body), names_of(*s.items))
        if isinstance(s, ast.Try):
            return self.try_statement(s, span)
        return [hir.Evaluate(span, self.piece(s))]

    def try_statement(self, s: ast.Try, span: Span) -> list[hir.Statement]:
        """A `try`; decisions and exits of its `except` and `else` come after it."""
        if decides_outside_body(s):
            return list(self.block(without_decisions(s, self.flags.fresh("caught"))))
        if _has_exits(s.finalbody):
            return [hir.Evaluate(span, self.piece(s))]
        read = names_of(*s.handlers, *s.orelse, *s.finalbody)
        read.read.update(read.bound)
        return self.block_statement(s, span, self.block(s.body), read)

    def loop(self, s: ast.For, span: Span) -> hir.For:
        """A `for`."""
        target = self.target(s.target)
        if target is None:
            raise CannotRewriteError("a `for` that binds an attribute or an item", span)
        return hir.For(span, target, self.piece(s.iter), self.block(s.body), self.block(s.orelse))

    def target(self, node: ast.expr) -> hir.Target | None:
        """A target made of names; None for others."""
        span = self.span(node)
        if isinstance(node, ast.Name):
            return hir.NameTarget(span, node.id)
        if isinstance(node, (ast.Tuple, ast.List)):
            return unpacking_target(node, span, self.target)
        return None

    def block_statement(
        self, s: ast.With | ast.Try, span: Span, body: hir.Block, names: Any
    ) -> list[hir.Statement]:
        """`with` or `try`: exits in its body become flags, and are left by after it."""
        body = loop_exits(body, _FlagsInBlock(self.flags))
        before: list[hir.Statement] = []
        after: list[hir.Statement] = []
        if contains(body, _EXITS):
            body, before, after = self.exits_after(body, span)
        read, bound = tuple(names.read), tuple(names.bound)
        marker = hir.Verbatim(span, s, read, bound, tuple(names.captured))
        return [*before, hir.If(span, marker, body, ()), *after]

    def exits_after(
        self, body: hir.Block, span: Span
    ) -> tuple[hir.Block, list[hir.Statement], list[hir.Statement]]:
        """A body whose exits set flags; what sets these before, and leaves by them after."""
        value = self.flags.fresh(_GIVEN)
        used: dict[type, str] = {}

        def leave(exit_: hir.Statement) -> hir.Block:
            flag = used.setdefault(type(exit_), self.flags.fresh("left"))
            out: list[hir.Statement] = []
            if isinstance(exit_, hir.Return):
                result = exit_.value or hir.Literal(exit_.span, None)
                out.append(hir.Assign(exit_.span, (hir.NameTarget(exit_.span, value),), result))
            return (*out, set_flag(flag, True, exit_.span))

        new_body = thread(body, _EXITS, leave, self.flags)
        before: list[hir.Statement] = [set_flag(flag, False, span) for flag in used.values()]
        after: list[hir.Statement] = []
        for kind, flag in used.items():
            exit_: hir.Statement
            if kind is hir.Return:
                exit_ = hir.Return(span, hir.Name(span, value))
            else:
                exit_ = hir.Break(span) if kind is hir.Break else hir.Continue(span)
            # An `except`, or a context manager that takes errors, may go on where none is left.
            after.append(hir.If(span, hir.Name(span, flag), (exit_,), ()))
        return new_body, before, after

    def piece(self, node: ast.AST) -> hir.Verbatim:
        """A piece that passes do not look into."""
        names = names_of(node)
        return hir.Verbatim(
            self.span(node), node, tuple(names.read), tuple(names.bound), tuple(names.captured)
        )

    def span(self, node: Any) -> Span:
        """The place of a node."""
        line, column = node.lineno, node.col_offset
        return Span(self.file, line, column, node.end_lineno or line, node.end_col_offset or column)


# What the names begin with of the values that are returned in `with` and `try`: their end runs
# after that, and may change the values.
_GIVEN = "given"


class _FlagsInBlock(FlagNames):
    """Names of flags for the loops in a `with` or `try`."""

    def __init__(self, flags: FlagNames) -> None:
        self._flags = flags

    def fresh(self, what: str) -> str:
        """A new internal name."""
        return self._flags.fresh(_GIVEN if what == VALUE else what)


def _without_names_in_test(loop: ast.While) -> ast.While:
    """A `while` whose test binds names (`:=`), as one whose body binds them first and may break."""
    if loop.orelse or not any(isinstance(n, ast.NamedExpr) for n in ast.walk(loop.test)):
        return loop
    is_and = isinstance(loop.test, ast.BoolOp) and isinstance(loop.test.op, ast.And)
    stops = [
        ast.If(ast.UnaryOp(ast.Not(), test), [ast.Break()], [])
        for test in (loop.test.values if is_and else [loop.test])  # type: ignore[attr-defined]
    ]
    new_loop = ast.While(ast.Constant(value=True), [*stops, *loop.body], [])
    for one in (new_loop, *stops):
        ast.copy_location(one, loop.test)
    return ast.fix_missing_locations(ast.copy_location(new_loop, loop))


def _has_exits(nodes: list[Any]) -> bool:
    """Whether an exit stands in these statements, outside functions."""
    for node in nodes:
        if isinstance(node, (ast.Return, ast.Break, ast.Continue)):
            return True
        if not isinstance(node, _FUNCTIONS) and _has_exits(list(ast.iter_child_nodes(node))):
            return True
    return False


def has_exits(node: ast.AST) -> bool:
    """Whether an exit stands in a statement that is kept as it is.

    Returns:
        Whether; those of functions defined in it are not counted.
    """
    return _has_exits([node])

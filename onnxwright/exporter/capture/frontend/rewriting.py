"""The code of a function with its decisions rewritten, for the same function object.

The new code has the names, arguments and free variables of the old one, and keeps its file and
lines.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import tokenize
from collections.abc import Iterable
from types import CodeType
from typing import Any, Union, cast

from onnxwright.converter.analyze.liveness import liveness
from onnxwright.converter.frontend.hir import RESULT, Assign, Literal, NameTarget
from onnxwright.converter.frontend.names import captured_names
from onnxwright.converter.normalize.exits import FlagNames
from onnxwright.converter.normalize.single_exit import normalize
from onnxwright.diagnostics.span import Span
from onnxwright.exporter.capture.control import call_trees, convert
from onnxwright.exporter.capture.control.syntax_trees import (
    Place,
    Transformer,
    children,
    placed_by_parents,
)
from onnxwright.exporter.capture.frontend.expressions import RUNTIME, Expressions
from onnxwright.exporter.capture.frontend.generating import Generator
from onnxwright.exporter.capture.frontend.names import names_of
from onnxwright.exporter.capture.frontend.structure import Structure
from onnxwright.exporter.capture.session.errors import CannotRewriteError, GeneratorError
from onnxwright.exporter.capture.session.model_lines import python_name

_REWRITTEN = "onnxwright.exporter.capture.rewritten"
_CONTROL = "onnxwright.exporter.capture.control"
_Function = Union[ast.FunctionDef, ast.Lambda]


def rewritten(code: CodeType, module: dict[str, Any] | None = None) -> CodeType:
    """The code of a function, in which decisions are asked at run time.

    Args:
        module: the globals of the function; for sources that only its loader can read.

    Returns:
        Code for the same function object.

    Raises:
        CannotRewriteError: there is no source, or it has a form that is not rewritten.

    Example:
        >>> def sign(x):
        ...     if x > 0:
        ...         return 1
        ...     return -1
        >>> sign.__code__ = rewritten(sign.__code__)
        >>> sign(3), sign(-3)
        (1, -1)
    """
    node = _find(code, module)
    if code.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        raise CannotRewriteError(f"the coroutine `{code.co_name}`", _span(code))
    first = code.co_varnames[0] if code.co_argcount else None
    new_function = _function(node, code.co_filename, first, module or {})
    # The name of the function itself is one of its module, not of the factory.
    new_function.name = "_ow_function"
    new_function.lineno = code.co_firstlineno
    new_code = convert.compiled([new_function], new_function.name, code, code.co_freevars)
    if new_code.co_freevars != code.co_freevars:
        names = ", ".join(sorted(set(new_code.co_freevars) ^ set(code.co_freevars)))
        raise CannotRewriteError(f"`{code.co_name}`, whose outer names changed ({names})", None)
    return new_code


def _function(
    node: _Function,
    file: str,
    first: str | None,
    module: dict[str, Any],
    nested: bool = False,
) -> ast.FunctionDef:
    """A function with its decisions rewritten."""
    body = node.body if isinstance(node, ast.FunctionDef) else [ast.Return(node.body)]
    body = [ast.copy_location(s, node) if not hasattr(s, "lineno") else s for s in body]
    body = cast("list[ast.stmt]", [_Plain().visit(s) for s in body])
    flags = FlagNames()
    structure = Structure(file, flags)
    if _has_yield(body):
        if any(ast.unparse(d).endswith("contextmanager") for d in _decorators(node)):
            raise CannotRewriteError("a context manager", structure.span(node))
        raise GeneratorError(structure.span(node))
    for call in _frame_readers(body, module):
        text = f"a function that calls `{ast.unparse(call)}`"
        raise CannotRewriteError(text, structure.span(call), "write the variables that it needs")
    block = structure.block(body)
    span = structure.span(node)
    start = Assign(span, (NameTarget(span, RESULT),), Literal(span, None))
    block = (start, *liveness(normalize(block, flags), structure.outer))

    def inner_function(f: ast.FunctionDef) -> ast.FunctionDef:
        if _has_yield(f.body):
            return f
        args = [*f.args.posonlyargs, *f.args.args]
        name = args[0].arg if args else first
        nested_function = _function(f, file, name, module, nested=True)
        nested_function.decorator_list = [expressions.visit(d) for d in f.decorator_list]
        nested_function.args = _defaults_visited(f.args, expressions)
        return nested_function

    local = set(names_of(*body).bound) | _parameters(node.args)
    expressions = Expressions(first, inner_function, local)
    captured = frozenset(captured_names(block))
    generator = Generator(expressions, structure.outer, captured, _caught_names(body))
    statements = generator.block(block)
    head: list[ast.stmt] = []
    for keyword, kind in (("global", ast.Global), ("nonlocal", ast.Nonlocal)):
        names = [n for n, k in structure.outer.items() if k == keyword]
        if names:
            head.append(kind(names))
    if not nested:
        head.append(ast.ImportFrom(_REWRITTEN, [ast.alias("runtime", RUNTIME)], 0))
        head.append(ast.ImportFrom(_CONTROL, [ast.alias("runtime", call_trees.NAME)], 0))
    if generator.cells:
        # Local functions may bind only names that this one binds, too.
        bind: list[ast.stmt] = [
            ast.Assign([ast.Name(n, ast.Store())], ast.Constant(None)) for n in generator.cells
        ]
        head.append(ast.If(ast.Constant(False), bind, []))
    value: ast.expr = ast.Name(python_name(RESULT), ast.Load())
    result = ast.Return(value)
    args = call_trees.without_defaults(node.args) if not nested else node.args
    name = node.name if isinstance(node, ast.FunctionDef) else "_ow_lambda"
    new_function = ast.FunctionDef(name, args, [*head, *statements, result], [])
    ast.copy_location(new_function, node)
    call_trees.through_store(new_function, local, module, structure.outer)
    return placed_by_parents(new_function, Place.of(new_function), one_line=True)


def _frame_readers(body: Iterable[ast.AST], module: dict[str, Any]) -> list[ast.AST]:
    """Calls that read the variables of the function, which branches have elsewhere."""
    own = names_of(*body).bound.keys() | module.keys()
    return [n for s in body for n in ast.walk(s) if call_trees.reads_frame(n, own)]


def _caught_names(body: Iterable[ast.AST]) -> dict[str, int]:
    """Names that are read where an `except` may take that they have no value -> its line."""
    line_by_name: dict[str, int] = {}
    tries = [n for s in body for n in ast.walk(s) if isinstance(n, ast.Try)]
    for node in tries:
        for handler in node.handlers:
            kinds = ast.walk(handler.type) if handler.type else ()
            names = {n.id for n in kinds if isinstance(n, ast.Name)}
            if handler.type is None or names & _OF_UNSET:
                read = (n for s in node.body for n in ast.walk(s) if isinstance(n, ast.Name))
                line_by_name |= {n.id: handler.lineno for n in read if isinstance(n.ctx, ast.Load)}
    return line_by_name


_OF_UNSET = frozenset(("BaseException", "Exception", "NameError", "UnboundLocalError"))


def _has_yield(parts: Iterable[ast.AST]) -> bool:
    """Whether the statements of a function make it a generator."""
    return any(
        isinstance(n, (ast.Yield, ast.YieldFrom))
        or (not isinstance(n, _SCOPES) and _has_yield(children(n.__dict__)))
        for n in parts
    )


_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def _decorators(node: _Function) -> list[ast.expr]:
    return node.decorator_list if isinstance(node, ast.FunctionDef) else []


class _Plain(Transformer):
    """Statements in the form that the passes know.

    `setattr(x, "name", value)` is `x.name = value`, `delattr(x, "name")` is `del x.name`, and
    `name: int = value` is `name = value`: Python does not evaluate annotations in functions, and
    has none of names that a local function binds for the one around it.
    """

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        assignment = ast.Pass() if node.value is None else ast.Assign([node.target], node.value)
        return ast.fix_missing_locations(ast.copy_location(assignment, node))

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        # The annotations of a class are its fields.
        node.body = [s if isinstance(s, ast.AnnAssign) else self.visit(s) for s in node.body]
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        new_statement: ast.stmt
        match node.value:
            case ast.Call(ast.Name("setattr"), [owner, ast.Constant(str(name)), value], []):
                new_statement = ast.Assign([ast.Attribute(owner, name, ast.Store())], value)
            case ast.Call(ast.Name("delattr"), [owner, ast.Constant(str(name))], []):
                new_statement = ast.Delete([ast.Attribute(owner, name, ast.Del())])
            case _:
                return node
        if not name.isidentifier() or name.startswith("__"):  # those have the name of their class
            return node
        return ast.fix_missing_locations(ast.copy_location(new_statement, node))


def _parameters(args: ast.arguments) -> set[str]:
    every = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
    return {p.arg for p in every if p is not None}


def _defaults_visited(args: ast.arguments, expressions: Expressions) -> ast.arguments:
    """Parameters of a nested function, without annotations."""
    new_arguments = call_trees.without_defaults(args)
    new_arguments.defaults = [expressions.visit(d) for d in args.defaults]
    new_arguments.kw_defaults = [d and expressions.visit(d) for d in args.kw_defaults]
    return new_arguments


def _find(code: CodeType, module: dict[str, Any] | None) -> _Function:
    """The tree of a function."""
    if not linecache.getlines(code.co_filename, module):
        raise CannotRewriteError(f"`{code.co_name}`, whose source is not available", _span(code))
    try:
        node = convert.tree_of(code, module)
    except (SyntaxError, tokenize.TokenError):
        raise CannotRewriteError(
            f"`{code.co_name}`, whose file does not parse", _span(code)
        ) from None
    if node is None:
        raise CannotRewriteError(f"`{code.co_name}`, whose source has changed", _span(code))
    return node


def _span(code: CodeType) -> Span:
    return Span(code.co_filename, code.co_firstlineno, 0, code.co_firstlineno, 0)

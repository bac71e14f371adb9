"""Calls, loads and stores of a function's tree, as calls of the run time."""

from __future__ import annotations

import ast
from collections.abc import Container
from types import ModuleType
from typing import Any, Union

from onnxwright.exporter.capture.control.syntax_trees import Place, Transformer, copied, placed
from onnxwright.exporter.capture.session.stand_ins import CLASSES

NAME = "_ow_control"
"""The name of `runtime` in converted code: a free variable."""

BY_SOURCE = "_ow_rt"
# Functions of the run time of a capture by source that write to an argument -> which one that is.
_WRITTEN = {"set_item": 1, "augment_item": 1, "augment": 1}
# Builtins that look at the variables of the frame -> with so many arguments.
_OF_FRAME = {"eval": 1, "exec": 1, "vars": 0, "dir": 0, "locals": 0}
_Function = Union[ast.FunctionDef, ast.Lambda]
# Builtins that ask what an object is -> the functions that know the numbers of PyTorch.
_KINDS = {"isinstance": "is_kind", "type": "Kind"}
# These look at the frame that calls them, or give nothing that could change anything.
_DIRECT = frozenset(
    ("super", "globals", "isinstance", "issubclass", "len",
     "range", "int", "float", "bool", "str", "repr", "abs", "type", "id", "tuple", "hash",
     "callable", "print", "format", "hasattr", "round", "divmod", "pow", "chr", "ord", "slice",
     "object", "ValueError", "TypeError", "RuntimeError",
     "NotImplementedError", "KeyError", "AssertionError")
)  # fmt: skip


def through_store(
    node: ast.FunctionDef, local: set[str], names: dict[str, Any], outer: dict[str, str]
) -> None:
    """Let the calls and writes of a function go through the run time, as `NAME`.

    Args:
        node: a definition that was made for a capture by source, with local functions for its
            branches; is changed in place.
        local: the names that the function binds.
        names: its globals.
        outer: the names that it declares `global` or `nonlocal`, with the keyword.
    """
    transformer = Calls(local, names, outer, branches=True)
    node.body = transformer.block(node.body)
    node.has_store = True  # type: ignore[attr-defined]


class Calls(Transformer):
    """Rewrites the calls, loads and stores of one function.

    Args:
        local: the names that it binds.
        names: its globals.
        outer: names that it declares `global` or `nonlocal`.
        branches: whether functions inside are branches of it, unless they are rewritten already.
    """

    def __init__(
        self,
        local: set[str],
        names: dict[str, Any],
        outer: dict[str, str] | None = None,
        *,
        branches: bool = False,
    ) -> None:
        self.local, self.names, self.branches = local, names, branches
        self.outer: dict[str, str] = {} if outer is None else outer

    def function(self, node: _Function) -> _Function:
        """The definition, without defaults, annotations and decorators."""
        node.args = without_defaults(node.args)
        if isinstance(node, ast.Lambda):
            node.body = self.visit(node.body)
            return node
        for inner in ast.walk(node):
            if isinstance(inner, (ast.Global, ast.Nonlocal)):
                kind = type(inner).__name__.lower()
                self.outer.update(dict.fromkeys(inner.names, kind))
        node.decorator_list, node.returns = [], None
        node.body = self.block(node.body)
        return node

    # -- statements --------------------------------------------------------------------------------

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Statements, each after a note of the variables of others that it binds."""
        statements: list[ast.stmt] = []
        for s in body:
            statements += [ast.copy_location(ast.Expr(n), s) for n in self.notes(s)]
            statements.append(self.visit(s))
        return statements

    def notes(self, s: ast.stmt) -> list[ast.expr]:
        """Calls that tell the run time what a statement is about to bind or to change."""
        note_calls: list[ast.expr] = []
        if isinstance(s, ast.AugAssign) and isinstance(s.target, ast.Name):
            note_calls.append(_call("augmented", ast.Name(s.target.id, ast.Load())))
        for name in self.bound(s) if self.outer else ():
            if self.outer.get(name) == "global":
                around = ast.Attribute(_thunk(ast.Constant(0)), "__globals__", ast.Load())
                note_calls.append(_call("global_", around, ast.Constant(name)))
            elif name in self.outer:
                variable = _thunk(ast.Name(name, ast.Load()))
                closure = ast.Attribute(variable, "__closure__", ast.Load())
                note_calls.append(_call("cell", closure, ast.Constant(name)))
        return note_calls

    def bound(self, s: ast.stmt) -> list[str]:
        """The names that a statement binds, but for those of blocks inside of it."""
        if isinstance(s, (ast.FunctionDef, ast.ClassDef)):
            return [s.name]
        if isinstance(s, (ast.Import, ast.ImportFrom)):
            return [(a.asname or a.name).partition(".")[0] for a in s.names]
        own = [
            value for field, value in ast.iter_fields(s)
            if field not in ("body", "orelse", "finalbody", "handlers")
        ]  # fmt: skip
        parts = [x for v in own for x in (v if isinstance(v, list) else [v])]
        nodes = [n for x in parts if isinstance(x, ast.AST) for n in ast.walk(x)]
        return [n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)]

    def visited(self, parts: list[Any]) -> list[Any]:
        """What is made of parts; blocks of statements get their notes."""
        is_block = bool(parts) and isinstance(parts[0], ast.stmt)
        return self.block(parts) if is_block else super().visited(parts)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """Annotations of variables are not evaluated."""
        node.annotation = ast.copy_location(ast.Constant(0), node.annotation)
        return self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        """`owner.name += value`, `items[n] += value`: what is there may be changed in place."""
        target = node.target
        self.generic_visit(node)
        if isinstance(target, (ast.Attribute, ast.Subscript)):
            target.value = _call("changing", target.value)
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        """`for x in items`."""
        self.generic_visit(node)
        node.iter = _call("iterated", node.iter)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        """`for x in items` of a comprehension."""
        self.generic_visit(node)
        node.iter = _call("iterated", node.iter)
        return node

    def visit_withitem(self, node: ast.withitem) -> ast.AST:
        """`with manager`."""
        self.generic_visit(node)
        line = ast.Constant(node.context_expr.lineno)
        node.context_expr = _call("entered", node.context_expr, line)
        return node

    def visit_Try(self, node: ast.Try) -> ast.AST:
        """`try`: while its body runs, the run time knows which errors it takes and goes on."""
        caught = [h for h in node.handlers if goes_on(h)]
        lines = [h.lineno for h in caught]
        self.generic_visit(node)
        if caught:
            kinds = [h.type or ast.Name("BaseException", ast.Load()) for h in caught]
            pairs = [
                ast.Tuple([ast.Constant(line), _thunk(copied(kind))], ast.Load())
                for line, kind in zip(lines, kinds)
            ]
            entered = ast.With([ast.withitem(_call("Handlers", *pairs))], node.body)
            node.body = [placed(entered, Place.of(node.body[0]))]
        return node

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        """`except`: what stops the capture is not an error of the program."""
        self.generic_visit(node)
        node.body.insert(0, ast.copy_location(ast.Expr(_call("refuse_caught")), node.body[0]))
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """A function defined inside: its decorators and defaults; a branch, as a block."""
        node.decorator_list = [_call("bound", self.visit(d)) for d in node.decorator_list]
        defaults = node.args
        defaults.defaults = [self.visit(d) for d in defaults.defaults]
        defaults.kw_defaults = [d and self.visit(d) for d in defaults.kw_defaults]
        if self.branches and not hasattr(node, "has_store"):
            node.body = self.block(node.body)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Left as it is: its methods are converted when they are called."""
        return node

    visit_AsyncFunctionDef = visit_ClassDef  # type: ignore[assignment]  # noqa: N815

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        """Left as it is, unless it is part of a branch."""
        return self.generic_visit(node) if self.branches else node

    # -- expressions -------------------------------------------------------------------------------

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """`f(x)`."""
        name = node.func.id if isinstance(node.func, ast.Name) else None
        own = _runtime_name(node.func)
        if own is not None:
            return self.own_call(node, own)
        self.generic_visit(node)
        kind = _KINDS.get(name or "") if self.is_builtin(name) else None
        if kind is not None and (name != "type" or len(node.args) == 1):
            node.func = ast.copy_location(_attribute(kind), node.func)
            return node
        if self.is_builtin(name) and reads_frame(node):
            return _call("own_names", node) if not node.args else node
        if self.is_builtin(name) and name in _DIRECT:
            return node
        node.func = _call("bound", node.func)
        return node

    def is_builtin(self, name: str | None) -> bool:
        """Whether a name is not one of the function or of its file."""
        return name not in self.local and name not in self.names

    def visit_MatchClass(self, node: ast.MatchClass) -> ast.AST:
        """`case int(n)`."""
        self.generic_visit(node)
        name = node.cls.id if isinstance(node.cls, ast.Name) else ""
        if name in CLASSES and self.is_builtin(name):
            node.cls = ast.copy_location(_attribute(CLASSES[name]), node.cls)
        return node

    def visit_Match(self, node: ast.Match) -> ast.AST:
        """`match ok: case True`."""
        patterns = [p for case in node.cases for p in ast.walk(case.pattern)]
        self.generic_visit(node)
        if any(isinstance(p, ast.MatchSingleton) and p.value is not None for p in patterns):
            node.subject = _call("truth", node.subject)
        return node

    def own_call(self, node: ast.Call, name: str) -> ast.AST:
        """A call of the run time of a capture by source; it writes to some of its arguments."""
        node.args = [self.visit(a) for a in node.args]
        for keyword in node.keywords:
            keyword.value = self.visit(keyword.value)
        if name == "builtin":
            node.args = [
                a if isinstance(a, ast.Starred) else _call("callable_", a) for a in node.args
            ]
        place = _WRITTEN.get(name)
        plain = not any(isinstance(a, ast.Starred) for a in node.args)
        if place is not None and plain and place < len(node.args):
            node.args[place] = _call("noted", node.args[place])
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """`owner.name`, read or written."""
        if _runtime_name(node) is not None:
            return node
        if isinstance(self.module_of(node.value), ModuleType) and isinstance(node.ctx, ast.Load):
            return node
        node.value = self.visit(node.value)
        name = ast.Constant(node.attr)
        if isinstance(node.ctx, ast.Load):
            node.value = _call("holder", node.value, name)
        else:
            node.value = _call("owner", node.value, name)
        return node

    def module_of(self, node: ast.expr) -> Any:
        """The module that an expression is, as `torch.nn.functional`."""
        if isinstance(node, ast.Name):
            return None if node.id in self.local else self.names.get(node.id)
        if isinstance(node, ast.Attribute):
            around = self.module_of(node.value)
            return vars(around).get(node.attr) if isinstance(around, ModuleType) else None
        return None

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """`ok is True`: what PyTorch has in the place of a truth value is asked for it."""
        self.generic_visit(node)
        if len(node.ops) == 1 and isinstance(node.ops[0], (ast.Is, ast.IsNot)):
            other = node.comparators[0]
            if isinstance(other, ast.Constant) and isinstance(other.value, bool):
                node.left = _call("truth", node.left)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """`items[n]`, read or written."""
        self.generic_visit(node)
        is_read = isinstance(node.ctx, ast.Load)
        node.value = _call("read" if is_read else "items_of", node.value)
        return node


def reads_frame(node: ast.AST, own: Container[str] = ()) -> bool:
    """Whether a call is one of a builtin for the variables of its frame.

    Args:
        node: an expression.
        own: the names that are not those of builtins.

    Example:
        >>> [reads_frame(ast.parse(text, mode="eval").body) for text in ("vars()", "vars(x)")]
        [True, False]
    """
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return False
    return len(node.args) == _OF_FRAME.get(node.func.id) and node.func.id not in own


def goes_on(handler: ast.ExceptHandler) -> bool:
    """Whether the program goes on after an `except`, which does not raise again at its end."""
    return not isinstance(getattr(handler, "last", handler.body[-1]), ast.Raise)


def _runtime_name(node: ast.expr) -> str | None:
    """The name of a function of the run time of a capture by source; None for others."""
    if isinstance(node, ast.Call) and _runtime_name(node.func) == "builtin":
        return "builtin"
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return node.attr if node.value.id == BY_SOURCE else None
    return None


def without_defaults(args: ast.arguments) -> ast.arguments:
    """Parameters without defaults and annotations: the function object keeps its own."""

    def bare(parameter: ast.arg) -> ast.arg:
        return ast.copy_location(ast.arg(parameter.arg), parameter)

    return ast.arguments(
        posonlyargs=list(map(bare, args.posonlyargs)),
        args=list(map(bare, args.args)),
        vararg=bare(args.vararg) if args.vararg else None,
        kwonlyargs=list(map(bare, args.kwonlyargs)),
        kw_defaults=[None for _ in args.kwonlyargs],
        kwarg=bare(args.kwarg) if args.kwarg else None,
        defaults=[],
    )


def _thunk(node: ast.expr) -> ast.Lambda:
    empty = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.Lambda(empty, node)


def _attribute(name: str) -> ast.Attribute:
    return ast.Attribute(ast.Name(NAME, ast.Load()), name, ast.Load())


def _call(name: str, *args: ast.expr) -> ast.Call:
    """A call of the run time, at the place of its argument."""
    function = _attribute(name)
    call = ast.Call(function, list(args), [])
    if args and hasattr(args[0], "lineno"):
        for inner in (call, function, function.value, *args[1:]):
            if not hasattr(inner, "lineno"):
                ast.copy_location(inner, args[0])
    return call

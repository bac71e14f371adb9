"""A converted copy of a Python function: its calls and its writes go through `runtime`.

`f(x)` becomes `_ow_control.bound(f)(x)`, and `items[n] = x` becomes
`_ow_control.items_of(items)[n] = x`: the run time sees what is called and what is written to, and
Python does the rest, in the frame of the function.  Functions defined inside stay as they are; they
are converted when they are called.  The function itself, its code and its globals are not changed.
"""

from __future__ import annotations

import ast
import copy
import inspect
import linecache
import sys
import textwrap
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any, Union

NAME = "_ow_control"
"""The name of `runtime` in converted code: a free variable."""

_BY_SOURCE = "_ow_rt"
# Functions of the run time of a capture by source that write to an argument -> which one that is.
_WRITTEN = {
    "append": 0, "insert": 0, "extend": 0, "popped": 0, "cleared": 0, "reversed_in_place": 0,
    "sort": 0, "removed": 0, "set_item": 1, "augment_item": 1, "augment": 1, "method": 1,
}  # fmt: skip
_Function = Union[ast.FunctionDef, ast.Lambda]
# These look at the frame that calls them, or give nothing that could change anything.
_DIRECT = frozenset(
    ("super", "locals", "globals", "vars", "eval", "exec", "dir", "isinstance", "issubclass", "len",
     "range", "int", "float", "bool", "str", "repr", "abs", "type", "id", "tuple", "hash", "callable",
     "print", "format", "hasattr", "round", "divmod", "pow", "chr", "ord", "slice", "object",
     "ValueError", "TypeError", "RuntimeError", "NotImplementedError", "KeyError", "AssertionError")
)  # fmt: skip
_FUTURE = sum(getattr(__import__("__future__"), n).compiler_flag for n in ("annotations",))

# Codes of functions of one text are equal: each is known by its identity, and kept for that.
# Code -> it, and its converted code; None where there is none.
_CONVERTED: dict[int, tuple[CodeType, CodeType | None]] = {}
# Converted code -> it, and what it was made of.
_ORIGINALS: dict[int, tuple[CodeType, CodeType]] = {}


def original(code: CodeType) -> CodeType:
    """The code that converted code was made of; other code as it is."""
    found = _ORIGINALS.get(id(code))
    return code if found is None else found[1]


def is_converted(code: CodeType) -> bool:
    """Whether code was made here."""
    return id(code) in _ORIGINALS


def has_runtime(code: CodeType) -> bool:
    """Whether code calls a run time of this package already."""
    names = (*code.co_freevars, *code.co_cellvars, *code.co_varnames)
    return NAME in names or _BY_SOURCE in names


def converted(function: FunctionType, runtime: ModuleType) -> FunctionType | None:
    """A copy of a function whose calls and writes go through the run time.

    Args:
        function: of Python.
        runtime: the module that converted code calls.

    Returns:
        The copy, with the globals, the free variables and the defaults of the function; None where
        its source cannot be read, or is not that of its code.

    Example:
        >>> import onnxwright.exporter.capture.control.runtime as runtime
        >>> copy = converted(textwrap.dedent, runtime)
        >>> copy("  a"), copy.__code__ is textwrap.dedent.__code__
        ('a', False)
    """
    code = function.__code__
    if id(code) not in _CONVERTED:
        new = _convert(code, function.__globals__)
        _CONVERTED[id(code)] = code, new
        if new is not None:
            _ORIGINALS[id(new)] = new, code
    found = _CONVERTED[id(code)][1]
    if found is None:
        return None
    cells = dict(zip(code.co_freevars, function.__closure__ or ()))
    cells[NAME] = CellType(runtime)
    return with_code(function, found, tuple(cells[name] for name in found.co_freevars))


def with_code(
    function: FunctionType, code: CodeType, closure: tuple[CellType, ...] | None
) -> FunctionType:
    """A copy of a function with other code.

    Args:
        function: of Python.
        code: that of the copy.
        closure: its free variables.
    """
    made = FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, closure
    )
    made.__kwdefaults__ = function.__kwdefaults__
    made.__qualname__, made.__module__ = function.__qualname__, function.__module__
    made.__dict__.update(function.__dict__)
    return made


def _convert(code: CodeType, names: dict[str, Any]) -> CodeType | None:
    """Converted code; None where that is not possible."""
    unfit = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR | inspect.CO_ITERABLE_COROUTINE
    if code.co_flags & unfit:
        return None
    try:
        node = _tree(code, names)
        if node is None or not _is_of(node, code):
            return None
        made = _compiled(_calls(code, names).function(node), code)
    except (OSError, SyntaxError, RecursionError):
        return None
    return made if set(made.co_freevars) <= {*code.co_freevars, NAME} else None


def _tree(code: CodeType, names: dict[str, Any]) -> _Function | None:
    """The definition of a function, with the lines of its file."""
    lines = linecache.getlines(code.co_filename, names)
    first = code.co_firstlineno - 1
    if code.co_name == "<lambda>":
        tree: ast.AST = _file(code.co_filename, lines)
        found = [
            node for node in ast.walk(tree)
            if isinstance(node, ast.Lambda) and node.lineno == first + 1
        ]  # fmt: skip
        if len(found) > 1:
            found = [node for node in found if _has_code(node, code)]
        return copy.deepcopy(found[0]) if found else None
    if first >= len(lines):
        return None
    block = inspect.getblock(lines[first:])
    tree = ast.parse(textwrap.dedent("".join(block)))
    node = tree.body[0]
    if not isinstance(node, ast.FunctionDef):
        return None
    ast.increment_lineno(node, first)
    return node


def _has_code(node: ast.Lambda, code: CodeType) -> bool:
    """Whether a lambda of a line is the one of some code; equal ones are as good as each other."""
    made = _compiled(copy.deepcopy(node), code)
    parts = ("co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars")
    return all(getattr(made, part) == getattr(code, part) for part in parts)


_FILES: dict[str, tuple[list[str], ast.Module]] = {}


def _file(name: str, lines: list[str]) -> ast.Module:
    """The tree of a file; linecache keeps one list of lines until it is read again."""
    known = _FILES.get(name)
    if known is None or known[0] is not lines:
        known = _FILES[name] = (lines, ast.parse("".join(lines)))
    return known[1]


def _is_of(node: _Function, code: CodeType) -> bool:
    """Whether a definition has the parameters of code: its file may have changed."""
    args = node.args
    every = [*args.posonlyargs, *args.args, *args.kwonlyargs]
    every += [a for a in (args.vararg, args.kwarg) if a is not None]
    names = code.co_varnames[: len(every)]
    return len(names) == len(every) and all(
        one == p.arg or (p.arg.startswith("__") and one.endswith(p.arg))
        for one, p in zip(names, every)
    )


def _compiled(node: _Function, code: CodeType) -> CodeType:
    """The code of a definition, whose free variables are those of code and the run time."""
    if isinstance(node, ast.Lambda):
        body: list[ast.stmt] = [ast.Return(node)]
        name = "<lambda>"
    else:
        name = "_ow_function"
        node.name = name
        body = [node]
    line = node.lineno
    place = {"lineno": line, "col_offset": 0, "end_lineno": line, "end_col_offset": 0}
    free = [ast.arg(v, **place) for v in (*code.co_freevars, NAME)]
    arguments = ast.arguments(posonlyargs=[], args=free, kwonlyargs=[], kw_defaults=[], defaults=[])
    outer = ast.FunctionDef("_ow_factory", arguments, body, [], **place)
    if sys.version_info >= (3, 12):
        outer.type_params = []
    tree = ast.fix_missing_locations(ast.Module([outer], []))
    flags = code.co_flags & _FUTURE
    compiled = compile(tree, code.co_filename, "exec", flags=flags, dont_inherit=True)
    made = _inner(_inner(compiled, "_ow_factory"), name)
    changes: dict[str, Any] = {"co_name": code.co_name, "co_firstlineno": code.co_firstlineno}
    if hasattr(code, "co_qualname"):
        changes["co_qualname"] = code.co_qualname
    return made.replace(co_consts=_with_inner(made, code), **changes)


def _inner(code: CodeType, name: str) -> CodeType:
    return next(c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == name)


def _with_inner(made: CodeType, code: CodeType) -> tuple[Any, ...]:
    """The constants of new code, with the functions that are defined inside as they were."""
    before: dict[tuple[Any, ...], list[CodeType]] = {}
    for one in code.co_consts:
        if isinstance(one, CodeType):
            before.setdefault(_key(one), []).append(one)

    def kept(one: Any) -> Any:
        known = before.get(_key(one), []) if isinstance(one, CodeType) else []
        is_same = len(known) == 1 and known[0].co_freevars == one.co_freevars
        return known[0] if is_same and known[0].co_names == one.co_names else one

    return tuple(map(kept, made.co_consts))


def _key(code: CodeType) -> tuple[Any, ...]:
    return code.co_name, code.co_firstlineno, code.co_varnames


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
    made = _Calls(local, {}, names, outer, branches=True)
    node.body = made.block(node.body)
    node.has_store = True  # type: ignore[attr-defined]


class _Calls(ast.NodeTransformer):
    """Rewrites the calls, loads and stores of one function.

    Args:
        local: the names that it binds.
        mangled: names that are private to its class -> as they are called.
        names: its globals.
        outer: names that it declares `global` or `nonlocal`.
        branches: whether functions inside are branches of it, unless they are rewritten already.
    """

    def __init__(
        self,
        local: set[str],
        mangled: dict[str, str],
        names: dict[str, Any],
        outer: dict[str, str] | None = None,
        *,
        branches: bool = False,
    ) -> None:
        self.local, self.mangled, self.names, self.branches = local, mangled, names, branches
        self.outer: dict[str, str] = {} if outer is None else outer

    def function(self, node: _Function) -> _Function:
        """The definition, without defaults, annotations and decorators."""
        node.args = without_defaults(node.args)
        if self.mangled:
            self.mangle(node)
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

    def mangle(self, node: _Function) -> None:
        """Give names that are private to the class around the function the name that they have."""
        for inner in ast.walk(node):
            for field in ("id", "attr", "arg", "name", "asname"):
                if isinstance(getattr(inner, field, None), str):
                    setattr(inner, field, self.name(getattr(inner, field)))
            if isinstance(inner, (ast.Global, ast.Nonlocal)):
                inner.names = list(map(self.name, inner.names))

    def name(self, name: str) -> str:
        """A name that may be private to the class around the function."""
        is_private = name.startswith("__") and not name.endswith("__")
        return self.mangled.get(name, name) if is_private else name

    # -- statements --------------------------------------------------------------------------------

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Statements, each after a note of the variables of others that it binds."""
        made: list[ast.stmt] = []
        for s in body:
            made += [ast.copy_location(ast.Expr(n), s) for n in self.notes(s)]
            made.append(self.visit(s))
        return made

    def notes(self, s: ast.stmt) -> list[ast.expr]:
        """Calls that tell the run time what a statement is about to bind or to change."""
        made: list[ast.expr] = []
        if isinstance(s, ast.AugAssign) and isinstance(s.target, ast.Name):
            made.append(_call("augmented", ast.Name(s.target.id, ast.Load())))
        for name in self.bound(s) if self.outer else ():
            if self.outer.get(name) == "global":
                around = ast.Attribute(_thunk(ast.Constant(0)), "__globals__", ast.Load())
                made.append(_call("global_", around, ast.Constant(name)))
            elif name in self.outer:
                variable = _thunk(ast.Name(name, ast.Load()))
                closure = ast.Attribute(variable, "__closure__", ast.Load())
                made.append(_call("cell", closure, ast.Constant(name)))
        return made

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
        found = [n for x in parts if isinstance(x, ast.AST) for n in ast.walk(x)]
        return [n.id for n in found if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)]

    def generic_visit(self, node: ast.AST) -> ast.AST:
        for field, value in ast.iter_fields(node):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                setattr(node, field, self.block(value))
            elif isinstance(value, list):
                value[:] = [self.visit(v) if isinstance(v, ast.AST) else v for v in value]
            elif isinstance(value, ast.AST):
                setattr(node, field, self.visit(value))
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.copy_location(ast.Constant(0), node.annotation)
        return self.generic_visit(node)

    def visit_For(self, node: ast.For) -> ast.AST:
        self.generic_visit(node)
        node.iter = _call("iterated", node.iter)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        self.generic_visit(node)
        node.iter = _call("iterated", node.iter)
        return node

    def visit_withitem(self, node: ast.withitem) -> ast.AST:
        self.generic_visit(node)
        node.context_expr = _call("entered", node.context_expr)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if self.branches:
            if not hasattr(node, "has_store"):
                node.body = self.block(node.body)
            return node
        node.decorator_list = [_call("bound", self.visit(d)) for d in node.decorator_list]
        defaults = node.args
        defaults.defaults = [self.visit(d) for d in defaults.defaults]
        defaults.kw_defaults = [d and self.visit(d) for d in defaults.kw_defaults]
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return node

    visit_AsyncFunctionDef = visit_ClassDef  # type: ignore[assignment]  # noqa: N815

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return self.generic_visit(node) if self.branches else node

    # -- expressions -------------------------------------------------------------------------------

    def visit_Call(self, node: ast.Call) -> ast.AST:
        name = node.func.id if isinstance(node.func, ast.Name) else None
        own = _runtime_name(node.func)
        if own is not None:
            return self.own_call(node, own)
        self.generic_visit(node)
        if name in _DIRECT and name not in self.local and name not in self.names:
            return node
        node.func = _call("bound", node.func)
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
        if _runtime_name(node) is not None:
            return node
        if isinstance(self.known(node.value), ModuleType) and isinstance(node.ctx, ast.Load):
            return node
        node.value = self.visit(node.value)
        name = ast.Constant(node.attr)
        if isinstance(node.ctx, ast.Load):
            node.value = _call("holder", node.value, name)
        else:
            node.value = _call("owner", node.value, name)
        return node

    def known(self, node: ast.expr) -> Any:
        """The module that an expression is, as `torch.nn.functional`."""
        if isinstance(node, ast.Name):
            return None if node.id in self.local else self.names.get(node.id)
        if isinstance(node, ast.Attribute):
            around = self.known(node.value)
            return vars(around).get(node.attr) if isinstance(around, ModuleType) else None
        return None

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        is_read = isinstance(node.ctx, ast.Load)
        node.value = _call("read" if is_read else "items_of", node.value)
        return node


def _calls(code: CodeType, names: dict[str, Any]) -> _Calls:
    local = {*code.co_varnames, *code.co_cellvars, *code.co_freevars}
    return _Calls(local, _private_names(code), names)


def _private_names(code: CodeType) -> dict[str, str]:
    """Names as `__x` -> as `_Class__x`, in code and in the functions defined inside."""
    names = (*code.co_names, *code.co_varnames, *code.co_cellvars, *code.co_freevars)
    found = {
        n[n.index("__", 1) :]: n
        for n in names
        if n.startswith("_") and not n.startswith("__") and "__" in n[1:] and not n.endswith("__")
    }
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            found |= _private_names(inner)
    return found


def _runtime_name(node: ast.expr) -> str | None:
    """The name of a function of the run time of a capture by source; None for others."""
    if isinstance(node, ast.Call) and _runtime_name(node.func) == "builtin":
        return "builtin"
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return node.attr if node.value.id == _BY_SOURCE else None
    return None


def without_defaults(args: ast.arguments) -> ast.arguments:
    """Parameters without defaults and annotations: the function object keeps its own."""
    bare = [
        [ast.copy_location(ast.arg(p.arg), p) for p in part]
        for part in (args.posonlyargs, args.args, args.kwonlyargs)
    ]
    return ast.arguments(
        posonlyargs=bare[0],
        args=bare[1],
        vararg=ast.arg(args.vararg.arg) if args.vararg else None,
        kwonlyargs=bare[2],
        kw_defaults=[None for _ in bare[2]],
        kwarg=ast.arg(args.kwarg.arg) if args.kwarg else None,
        defaults=[],
    )


def _thunk(node: ast.expr) -> ast.Lambda:
    empty = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.Lambda(empty, node)


def _call(name: str, *args: ast.expr) -> ast.Call:
    """A call of the run time, at the place of its argument."""
    function = ast.Attribute(ast.Name(NAME, ast.Load()), name, ast.Load())
    made = ast.Call(function, list(args), [])
    if hasattr(args[0], "lineno"):
        for inner in (made, function, function.value, *args[1:]):
            if not hasattr(inner, "lineno"):
                ast.copy_location(inner, args[0])
    return made

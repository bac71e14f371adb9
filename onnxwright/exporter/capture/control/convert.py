"""A converted copy of a Python function: its calls and its writes go through `runtime`.

`f(x)` becomes `_ow_control.bound(f)(x)`, and `items[n] = x` becomes
`_ow_control.items_of(items)[n] = x`: the run time sees what is called and what is written to, and
Python does the rest, in the frame of the function.  Functions defined inside stay as they are; they
are converted when they are called.  The function itself, its code and its globals are not changed.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import sys
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any, Union

from onnxwright.exporter.capture.control.call_trees import BY_SOURCE, NAME, Calls
from onnxwright.exporter.capture.control.store import FACTORY
from onnxwright.exporter.capture.control.syntax_trees import Place, copied, placed_by_parents

_Function = Union[ast.FunctionDef, ast.Lambda]
_FUTURE = sum(getattr(__import__("__future__"), n).compiler_flag for n in ("annotations",))

# Codes of functions of one text are equal: each is known by its identity, and kept for that.
# Code -> it, and its converted code; None where there is none.
_CONVERTED: dict[int, tuple[CodeType, CodeType | None]] = {}
# Converted code -> it, and what it was made of.
_ORIGINALS: dict[int, tuple[CodeType, CodeType]] = {}


_RUNTIME: list[ModuleType] = []


def set_runtime(runtime: ModuleType) -> None:
    """Say which module converted code calls."""
    _RUNTIME[:] = [runtime]


def runtime() -> Any:
    """The module that converted code calls."""
    return _RUNTIME[0]


def original(code: CodeType) -> CodeType:
    """The code that converted code was made of; other code as it is."""
    entry = _ORIGINALS.get(id(code))
    return code if entry is None else entry[1]


def is_converted(code: CodeType) -> bool:
    """Whether code was made here."""
    return id(code) in _ORIGINALS


def has_runtime(code: CodeType) -> bool:
    """Whether code calls a run time of this package already."""
    names = (*code.co_freevars, *code.co_cellvars, *code.co_varnames)
    return NAME in names or BY_SOURCE in names


def converted(function: FunctionType) -> FunctionType | None:
    """A copy of a function whose calls and writes go through the run time.

    Returns:
        The copy, with the globals, the free variables and the defaults of the function; None where
        its source cannot be read, or is not that of its code.

    Example:
        >>> import onnxwright.exporter.capture.control.runtime
        >>> import textwrap
        >>> copy = converted(textwrap.dedent)
        >>> copy("  a"), copy.__code__ is textwrap.dedent.__code__
        ('a', False)
    """
    code = function.__code__
    if id(code) not in _CONVERTED:
        new = _convert(code, function.__globals__)
        _CONVERTED[id(code)] = code, new
        if new is not None:
            _ORIGINALS[id(new)] = new, code
    converted_code = _CONVERTED[id(code)][1]
    if converted_code is None:
        return None
    cells = dict(zip(code.co_freevars, function.__closure__ or ()))
    cells[NAME] = CellType(runtime())
    return with_code(
        function, converted_code, tuple(cells[name] for name in converted_code.co_freevars)
    )


def with_code(
    function: FunctionType, code: CodeType, closure: tuple[CellType, ...] | None
) -> FunctionType:
    """A copy of a function with other code."""
    new_function = FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, closure
    )
    new_function.__kwdefaults__ = function.__kwdefaults__
    new_function.__qualname__, new_function.__module__ = function.__qualname__, function.__module__
    new_function.__dict__.update(function.__dict__)
    return new_function


def _convert(code: CodeType, names: dict[str, Any]) -> CodeType | None:
    """Converted code; None where that is not possible."""
    unfit = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR | inspect.CO_ITERABLE_COROUTINE
    if code.co_flags & unfit:
        return None
    try:
        node = tree_of(code, names)
        if node is None:
            return None
        converted_code = _compiled(_calls(code, names).function(node), code)
    except (OSError, SyntaxError, RecursionError):
        return None
    return converted_code if set(converted_code.co_freevars) <= {*code.co_freevars, NAME} else None


def tree_of(code: CodeType, names: dict[str, Any] | None) -> _Function | None:
    """The definition of a function, with the lines of its file and the private names of its code.

    Args:
        names: its globals; for sources that only its loader can read.

    Returns:
        A tree of its own; None where the source is not that of the code.

    Raises:
        SyntaxError: the source does not parse.
    """
    node = _definition(code, names)
    if node is None or not _is_of(node, code):
        return None
    _mangle(node, code)
    return node


def _definition(code: CodeType, names: dict[str, Any] | None) -> _Function | None:
    lines = linecache.getlines(code.co_filename, names)
    first = code.co_firstlineno - 1
    if code.co_name == "<lambda>":
        tree: ast.AST = _file(code.co_filename, lines)
        lambdas = [
            node for node in ast.walk(tree)
            if isinstance(node, ast.Lambda) and node.lineno == first + 1
        ]  # fmt: skip
        if len(lambdas) > 1:
            lambdas = [node for node in lambdas if _has_code(node, code)]
        return copied(lambdas[0]) if lambdas else None
    if first >= len(lines):
        return None
    text = "".join(inspect.getblock(lines[first:]))
    # An indented definition is parsed inside a block: columns, and texts over several lines, stay.
    is_indented = text[:1].isspace()
    # Empty lines before it give each node the line of its file.
    before = "\n" * (first - 1) + "if True:\n" if is_indented else "\n" * first
    body = ast.parse(before + text).body
    node = body[0].body[0] if is_indented and isinstance(body[0], ast.If) else body[0]
    if not isinstance(node, ast.FunctionDef):
        return None
    return node


def _has_code(node: ast.Lambda, code: CodeType) -> bool:
    """Whether a lambda of a line is the one of some code; equal ones are as good as each other."""
    lambda_code = _compiled(copied(node), code)
    parts = ("co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars")
    return all(getattr(lambda_code, part) == getattr(code, part) for part in parts)


_FILES: dict[str, tuple[list[str], ast.Module]] = {}


def _file(name: str, lines: list[str]) -> ast.Module:
    """The tree of a file; linecache keeps one list of lines until it is read again."""
    cached_file = _FILES.get(name)
    if cached_file is None or cached_file[0] is not lines:
        cached_file = _FILES[name] = (lines, ast.parse("".join(lines)))
    return cached_file[1]


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
        # That of its first decorator: Python counts the lines of code from there.
        node.lineno = code.co_firstlineno
        body = [node]
    new_code = compiled(body, name, code, (*code.co_freevars, NAME))
    return new_code.replace(co_consts=_with_inner(new_code, code))


def compiled(body: list[ast.stmt], name: str, code: CodeType, free: tuple[str, ...]) -> CodeType:
    """The code of a definition that takes the place of other code.

    Args:
        body: statements with the definition.
        name: that of the definition.
        code: the other code.
        free: the names that it may have from around it.
    """
    line = code.co_firstlineno
    place = Place(line, 0, line, 0)
    args = [ast.arg(v) for v in free]
    arguments = ast.arguments(posonlyargs=[], args=args, kwonlyargs=[], kw_defaults=[], defaults=[])
    outer = ast.FunctionDef(FACTORY, arguments, body, [])
    if sys.version_info >= (3, 12):
        outer.type_params = []
    tree = placed_by_parents(ast.Module([outer], []), place, one_line=False)
    flags = code.co_flags & _FUTURE
    module_code = compile(tree, code.co_filename, "exec", flags=flags, dont_inherit=True)
    changes: dict[str, Any] = {"co_name": code.co_name}
    if hasattr(code, "co_qualname"):
        changes["co_qualname"] = code.co_qualname
    return _inner(_inner(module_code, FACTORY), name).replace(**changes)


def _inner(code: CodeType, name: str) -> CodeType:
    return next(c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == name)


def _with_inner(new_code: CodeType, code: CodeType) -> tuple[Any, ...]:
    """The constants of new code, with the functions that are defined inside as they were."""
    before: dict[tuple[Any, ...], list[CodeType]] = {}
    for one in code.co_consts:
        if isinstance(one, CodeType):
            before.setdefault(_key(one), []).append(one)

    def kept(one: Any) -> Any:
        same_key = before.get(_key(one), []) if isinstance(one, CodeType) else []
        is_same = len(same_key) == 1 and same_key[0].co_freevars == one.co_freevars
        return same_key[0] if is_same and same_key[0].co_names == one.co_names else one

    return tuple(map(kept, new_code.co_consts))


def _key(code: CodeType) -> tuple[Any, ...]:
    return code.co_name, code.co_firstlineno, code.co_varnames


def _calls(code: CodeType, names: dict[str, Any]) -> Calls:
    local = {*code.co_varnames, *code.co_cellvars, *code.co_freevars}
    return Calls(local, names)


def _mangle(node: _Function, code: CodeType) -> None:
    """Give names that are private to the class around a function their names in code."""
    names = _private_names(code)
    for inner in ast.walk(node) if names else ():
        if isinstance(inner, ast.keyword):  # Python leaves the names of arguments as they are
            continue
        for field in ("id", "attr", "arg", "name", "asname"):
            name = getattr(inner, field, None)
            if isinstance(name, str):
                setattr(inner, field, names.get(name, name))
        if isinstance(inner, (ast.Global, ast.Nonlocal)):
            inner.names = [names.get(name, name) for name in inner.names]


def _private_names(code: CodeType) -> dict[str, str]:
    """Names as `__x` -> as `_Class__x`, in code and in the functions defined inside."""
    names = (*code.co_names, *code.co_varnames, *code.co_cellvars, *code.co_freevars)
    mangled_names = {
        n[n.index("__", 1) :]: n
        for n in names
        if n.startswith("_") and not n.startswith("__") and "__" in n[1:] and not n.endswith("__")
    }
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            mangled_names |= _private_names(inner)
    return mangled_names

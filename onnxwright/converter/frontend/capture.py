"""A Python function to its syntax tree, with true lines and its own file.

The whole file is parsed (once per text), so lines and columns are those of the editor, whatever
the function is nested in.  Text that is in no file is taken from `linecache` (notebooks, newer
interpreters), from the command line (`python -c`), or from what was given as `source=`; for text
given to `exec` the callers are asked for a string that compiles to this very function.
"""

from __future__ import annotations

import ast
import functools
import inspect
import linecache
import stat
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType, MethodType
from typing import Any, NoReturn

from onnxwright.converter.frontend.definitions import FunctionNode, definition_of
from onnxwright.converter.frontend.source_texts import candidate_texts
from onnxwright.diagnostics.catalogue import names as messages
from onnxwright.diagnostics.catalogue import syntax
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.diagnostics.span import Span, register_source
from onnxwright.types.roles import Script

# What `functools.lru_cache` and `functools.cache` make of a function: calling it gives what the
# function gives.
CACHES = (type(functools.lru_cache(maxsize=1)(lambda: None)),)
_FUTURE_FLAGS = 0x1FE0000  # the compiler flags that `from __future__` sets


@dataclass(frozen=True, slots=True)
class SourceUnit:
    """A function and where it is written.

    Attributes:
        function: the Python function.
        file: the name of its file, as tracebacks show it.
        text: the text of the whole file or entry.
        node: its syntax tree; lines count from the start of `text`.
        line_offset: what to add to a line of `node` for the line of the file.
    """

    function: FunctionType
    file: str
    text: str
    node: FunctionNode
    line_offset: int = 0

    @property
    def span(self) -> Span:
        """The `def` line, for messages about the whole function."""
        line = self.node.lineno + self.line_offset
        start = self.node.col_offset
        return Span(self.file, line, start, line, start + len(f"def {self.function.__name__}"))


# The texts that were read last and their trees, the newest at the end.
_parsed: dict[tuple[str, int], tuple[str, ast.Module]] = {}
_PARSED = 16


def _parse(file: str, text: str) -> ast.Module:
    """The tree of a file, parsed once for each text."""
    key = (file, hash(text))
    tree = _parsed.pop(key, None)
    if tree is None or tree[0] != text:
        tree = (text, ast.parse(text))
    _parsed[key] = tree
    for oldest in list(_parsed)[:-_PARSED]:
        _parsed.pop(oldest, None)
    return tree[1]


# By the id of a function's code: the text and tree of its module, while `known_module` is open.
_known_modules: dict[int, tuple[str, ast.Module]] = {}


@contextmanager
def known_module(text: str, tree: ast.Module, code: CodeType) -> Iterator[None]:
    """Find functions at the top of a text in its tree, without parsing it, while this is open."""
    functions = [id(c) for c in code.co_consts if isinstance(c, CodeType)]
    _known_modules.update(dict.fromkeys(functions, (text, tree)))
    try:
        yield
    finally:
        for number in functions:
            del _known_modules[number]


def plain_function(obj: object) -> FunctionType:
    """The Python function that a call of `obj` runs.

    A decorator that hands out another function (`functools.wraps`) is not looked through: that
    other function is what Python calls.  A script, a method and the caches of functools only run
    the function that they hold.

    Raises:
        ScriptTypeError: it is a class, a built-in or another object (OW104).
    """
    target: Any = obj
    while not isinstance(target, (FunctionType, type)):
        if isinstance(target, (staticmethod, classmethod, MethodType)):
            target = target.__func__
        elif isinstance(target, (Script, *CACHES)):
            target = target.__wrapped__  # type: ignore[union-attr]
        else:
            break
    if isinstance(target, FunctionType):
        return target
    what = f"the class `{obj.__name__}`" if isinstance(obj, type) else f"`{type(obj).__name__}`"
    advice = (
        "decorate its `__call__` or a method instead"
        if isinstance(obj, type)
        else "as in `@script`"
    )
    fail(syntax.NotAFunction(what=what, advice=advice))


def early_text(function: FunctionType, depth: int = 2) -> str | None:
    """The text of a function that is in no file, taken while it can still be found.

    Called when decorating; None for a function whose file can be read later.
    """
    file = function.__code__.co_filename
    if id(function.__code__) in _known_modules:
        return None
    lines = _lines(file, function)
    if lines and (not file.startswith("<") or _compiles_to("".join(lines), function.__code__)):
        return None
    last = _last_text.get(file)
    if last is not None and _compiles_to(last, function.__code__):
        return last
    for text in candidate_texts(function, depth + 1):
        for variant in dict.fromkeys((text, textwrap.dedent(text), textwrap.dedent(text).strip())):
            if _compiles_to(variant, function.__code__):
                if len(_last_text) > 64:
                    _last_text.clear()
                _last_text[file] = variant
                return variant
    return None


# The last text of something that is not a file (`<string>`): the next function is often
# from it too.
_last_text: dict[str, str] = {}


def _compiles_to(text: str, code: CodeType) -> bool:
    """Whether compiling `text` gives this very code object."""
    flags = code.co_flags & _FUTURE_FLAGS
    return _identity(code) in _codes_in(text, code.co_filename, flags)


def _identity(code: CodeType) -> tuple[object, ...]:
    """What makes two code objects one: instructions, names, constants, nested code included."""
    return (
        code.co_name,
        code.co_firstlineno,
        code.co_code,
        code.co_names,
        code.co_varnames,
        code.co_freevars,
        code.co_cellvars,
        tuple(map(_exact_constant, code.co_consts)),
    )


def _exact_constant(value: object) -> object:
    """A constant such that equal means the same type and the same bits."""
    if isinstance(value, CodeType):
        return _identity(value)
    if isinstance(value, tuple):
        return tuple(map(_exact_constant, value))
    if isinstance(value, frozenset):
        return frozenset(map(_exact_constant, value))
    return (type(value), repr(value))


@functools.lru_cache(maxsize=8)
def _codes_in(text: str, file: str, flags: int) -> frozenset[tuple[object, ...]]:
    """Every code object in a text."""
    try:
        stack = [compile(text, file, "exec", flags=flags, dont_inherit=True)]
    except (SyntaxError, ValueError):
        return frozenset()
    codes = set()
    while stack:
        current = stack.pop()
        codes.add(_identity(current))
        stack.extend(c for c in current.co_consts if isinstance(c, CodeType))
    return frozenset(codes)


def capture(function: Callable[..., Any], source: str | None = None) -> SourceUnit:
    """Find the syntax tree of a function.

    Args:
        source: its text, where there is no file to read (the function alone, or the whole module).

    Raises:
        ScriptError: the text cannot be found (OW202), or is not what the function was made from
            (OW203).
        ScriptSyntaxError: it is async or a generator (OW105).
    """
    target = plain_function(function)
    code = target.__code__
    file = code.co_filename
    module = _known_modules.get(id(code))
    if source is not None:
        unit = _from_text(target, source)
    elif module is not None:
        text, tree = module
        node = definition_of(tree, code, code.co_firstlineno)
        assert node is not None
        unit = SourceUnit(target, file, text, node)
    else:
        lines = _lines(file, target)
        if not lines:
            _fail_without_source(target)
        text = "".join(lines)
        try:
            tree = _parse(file, text)
        except SyntaxError:
            fail(messages.SourceChanged(name=target.__name__, span=_about(code)))
        node = definition_of(tree, code, code.co_firstlineno)
        if node is None or not _is_made_from(code, text):
            fail(messages.SourceChanged(name=target.__name__, span=_about(code)))
        unit = SourceUnit(target, file, text, node)
    _refuse_async(unit)
    return unit


def _is_made_from(code: CodeType, text: str) -> bool:
    """Whether a definition in a file is the one that made `code`: the file may have been edited."""
    if _asserts_rewritten(code):
        return _same_words(code, text)
    return _compiles_to(text, code)


def _asserts_rewritten(code: CodeType) -> bool:
    """Whether a test runner rewrote the `assert` statements of a function (or of one inside)."""
    if any(name.startswith("@py") for name in (*code.co_varnames, *code.co_names)):
        return True
    return any(_asserts_rewritten(c) for c in code.co_consts if isinstance(c, CodeType))


def _same_words(code: CodeType, text: str) -> bool:
    """Whether a given text defines a function of the same names and constants as `code`.

    Lines and byte code may differ: the text may have been cut out of a module, and a test runner
    may have rewritten `assert` statements, which adds names and constants.
    """
    rewritten = _asserts_rewritten(code)
    flags = code.co_flags & _FUTURE_FLAGS
    try:
        stack = [compile(text, code.co_filename, "exec", flags=flags, dont_inherit=True)]
    except (SyntaxError, ValueError):
        return False
    names, constants = _words(code)
    while stack:
        current = stack.pop()
        if current.co_name == code.co_name:
            found_names, found_constants = _words(current)
            if found_names == names and found_constants == constants:
                return True
            if (
                rewritten
                and found_constants <= constants
                and found_names <= names | {"AssertionError"}
            ):
                return True
        stack.extend(c for c in current.co_consts if isinstance(c, CodeType))
    return False


def _words(code: CodeType) -> tuple[frozenset[str], frozenset[object]]:
    """The names and constants of a function and of what is defined in it, docstrings aside."""
    names = {*code.co_names, *code.co_freevars, *code.co_varnames, *code.co_cellvars}
    constants: set[object] = set()
    documented = bool(code.co_consts) and isinstance(code.co_consts[0], str)
    for n, value in enumerate(code.co_consts):
        if isinstance(value, CodeType):
            inner_names, inner_constants = _words(value)
            names |= inner_names
            constants |= inner_constants
        elif isinstance(value, str):
            if n or not documented:
                constants.add(" ".join(value.split()))  # dedenting a text moves lines of strings
        elif value is not None:
            constants.add(_exact_constant(value))
    return frozenset(names), frozenset(constants)


def _about(code: CodeType) -> Span:
    return Span(code.co_filename, code.co_firstlineno, 0, code.co_firstlineno, 1)


def _fail_without_source(function: FunctionType) -> NoReturn:
    """Raise OW202, with what helps where the function comes from."""
    code, name = function.__code__, function.__name__
    if code.co_filename == "<stdin>" or _is_read_once(code.co_filename):
        advice = (
            "Python does not keep a script that it reads from a pipe; put it in a file "
            "(`python FILE`, or `python - < FILE`), pass it with `python -c`, or give the text: "
            "`script(source=...)`"
        )
        fail(messages.NoSource(name=name, advice=advice, span=_about(code)))
    advice = (
        "write the function in a file and import it, or give its text: `script(source=...)`; text "
        "for `exec` is found where a variable holds it: `text = ...; exec(text)`"
    )
    fail(messages.NoSource(name=name, advice=advice))


def _lines(file: str, function: FunctionType) -> list[str]:
    """The lines of a file; none of a pipe, which would wait for a writer."""
    if file not in linecache.cache and _is_read_once(file):
        return []
    linecache.checkcache(file)
    return linecache.getlines(file, function.__globals__)


def _is_read_once(file: str) -> bool:
    """Whether a file is a pipe, a terminal or a device (`/dev/stdin`, `<(command)` of a shell)."""
    try:
        return not stat.S_ISREG(Path(file).stat().st_mode)
    except (OSError, ValueError):
        return False


def _from_text(function: FunctionType, source: str) -> SourceUnit:
    """A function found in a text by its name; lines are the file's if they fit."""
    code = function.__code__
    try:
        tree = ast.parse(source)
        text = source
    except SyntaxError:
        text = textwrap.dedent(source)
        try:
            tree = ast.parse(text)
        except SyntaxError as error:
            advice = f"the text given as `source=` does not parse: {error}"
            fail(messages.NoSource(name=function.__name__, advice=advice))
    node = definition_of(tree, code, code.co_firstlineno) or definition_of(tree, code, None)
    if node is not None and not _same_words(code, text):
        fail(messages.SourceChanged(name=function.__name__, span=_about(code)))
    if node is None:
        advice = f"the text given as `source=` does not define `{function.__name__}`"
        fail(messages.NoSource(name=function.__name__, advice=advice))
    file = code.co_filename
    if "".join(linecache.getlines(file)) == text:
        return SourceUnit(function, file, text, node)
    # NOTE: never registered under the file's own name: other functions of it read that.
    file = f"<source of {function.__qualname__}>"
    register_source(file, text)
    return SourceUnit(function, file, text, node)


def _refuse_async(unit: SourceUnit) -> None:
    node: Any = unit.node
    what = None
    if isinstance(node, ast.AsyncFunctionDef):
        what = "an async function"
    elif unit.function.__code__.co_flags & inspect.CO_GENERATOR:
        what = "a generator"
    if what is not None:
        fail(syntax.AsyncOrGenerator(name=unit.function.__name__, what=what, span=unit.span))

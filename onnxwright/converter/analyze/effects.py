"""Which Python objects a call may change, found without calling it.

Compiling runs Python once where the model runs a part of it many times, or not at all.  A call that
changes an object (`todo.pop()`, `next(it)`, a helper that counts) must not run in such a part; this
module says so beforehand, from the kinds of built-in objects and from the source of functions.
"""

from __future__ import annotations

import ast
import builtins
import collections
import functools
import inspect
import types
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from onnxwright.converter.analyze.builtin_effects import (
    CHANGEABLE,
    CHANGES_FIRST,
    CHANGING,
    CHANGING_FUNCTIONS,
    FIXED,
    ITERATING,
    LAZY,
    OUTER_STATE,
    OUTSIDE,
    PURE_MODULES,
    READING,
    STATEFUL_MODULES,
)
from onnxwright.converter.frontend.capture import capture
from onnxwright.converter.frontend.outer_names import OuterNames
from onnxwright.errors import OnnxwrightError

_DEPTH = 8
# Statements that reach beyond a function.
_REACHING = (ast.Global, ast.Nonlocal, ast.With, ast.AsyncWith, ast.Import, ast.ImportFrom,
             ast.Await)  # fmt: skip


def is_iterator(x: object) -> bool:
    """Whether reading `x` uses it up."""
    return hasattr(type(x), "__next__")


def is_fresh(function: Any, result: Any) -> bool:
    """Whether the result of a call is an object that the call made."""
    if function in (sorted, iter) if is_hashable(function) else False:
        return not isinstance(result, FIXED)
    return isinstance(function, type) and type(result) is function


def changed_by(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
    """The objects that a call may change; `OUTSIDE` for state that none of them holds.

    Returns:
        The objects, none where the call changes nothing.

    Example:
        >>> todo = [1, 2]
        >>> changed_by(todo.pop, [], {}), changed_by(max, [todo], {})
        ([[1, 2]], [])
    """
    return _changed(function, args, kwargs, frozenset(), 0)


def special_methods(
    function: Any, args: Sequence[Any]
) -> Iterator[tuple[types.FunctionType, tuple[Any, ...]]]:
    """The methods written in Python that an operator or a built-in function calls, with arguments.

    Args:
        function: a function of the module `operator`, or a built-in one.

    Yields:
        `__add__`, `__getitem__`, `__len__` and their like, the ones of right operands included.

    Example:
        >>> class Steps:
        ...     __module__ = "mine"
        ...
        ...     def __len__(self):
        ...         return 3
        >>> [m.__name__ for m, _ in special_methods(len, [Steps()])]
        ['__len__']
    """
    name = getattr(function, "__name__", "").strip("_")
    name = "iter" if name in ITERATING else {"truth": "bool", "not": "bool"}.get(name, name)
    names = [f"__{name}__"] + (["__len__"] if name == "bool" else [])
    if name == "iter":
        names += ["__next__", "__getitem__"]
    for n, x in enumerate(args):
        if type(x).__module__ == "builtins" or _module(type(x)) in PURE_MODULES:
            continue
        for one in [*names, f"__r{name}__"] if n else names:
            method = next((vars(c)[one] for c in type(x).__mro__ if one in vars(c)), None)
            if isinstance(method, types.FunctionType):
                own = len(inspect.signature(method).parameters) - 1
                yield method, (x, *[a for m, a in enumerate(args) if m != n][: max(own, 0)])


def _changed(
    function: Any, args: Sequence[Any], kwargs: Mapping[str, Any], seen: frozenset[Any], depth: int
) -> list[Any]:
    used = [a for a in (*args, *kwargs.values()) if is_iterator(a)]
    if not isinstance(function, types.FunctionType):
        for arguments in (*args, *kwargs.values()):
            if isinstance(arguments, (types.FunctionType, types.MethodType)):
                # It is called with what only the call itself knows.
                used += _changed(arguments, [_Blank()] * _arity(arguments), {}, seen, depth + 1)
    if is_hashable(function) and function in LAZY:
        return [x for x in used if not is_iterator(x)]
    if isinstance(function, functools.partial):
        arguments = (*function.args, *args)
        return _changed(function.func, arguments, {**function.keywords, **kwargs}, seen, depth)
    wrapped = getattr(function, "__wrapped__", None)
    if wrapped is not None and not isinstance(function, types.FunctionType):
        function = wrapped
    if isinstance(function, (types.BuiltinMethodType, types.MethodWrapperType)):
        return [*used, *_by_builtin(function, args)]
    if isinstance(function, type):
        return [*used, *_by_class(function, args, kwargs, seen, depth)]
    if isinstance(function, types.MethodType):
        return _changed(function.__func__, (function.__self__, *args), kwargs, seen, depth)
    if isinstance(function, types.FunctionType):
        return [*used, *_by_function(function, args, kwargs, seen, depth)]
    if isinstance(function, (types.MethodDescriptorType, types.WrapperDescriptorType)):
        first = args[0] if args else OUTSIDE
        return [*used, *_by_method(first, function.__name__)]
    if _module(type(function)) in PURE_MODULES:  # ufuncs, itemgetters, compiled patterns
        return used + ([kwargs["out"]] if kwargs.get("out") is not None else [])
    call = type(function).__dict__.get("__call__")
    if isinstance(call, types.FunctionType):
        return [*used, *_by_function(call, (function, *args), kwargs, seen, depth)]
    return [*used, function]


def _arity(function: Any) -> int:
    """How many arguments a function must be given."""
    params = inspect.signature(function).parameters.values()
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(1 for p in params if p.kind in kinds and p.default is inspect.Parameter.empty)


def _by_builtin(function: Any, args: Sequence[Any]) -> list[Any]:
    """A function or bound method written in C."""
    receiver = getattr(function, "__self__", None)
    if receiver is not None and not isinstance(receiver, (types.ModuleType, type)):
        return _by_method(receiver, function.__name__)
    if function in CHANGES_FIRST:
        return [args[0]] if args and not is_iterator(args[0]) else []
    if function in OUTER_STATE:
        return [OUTSIDE]
    return _by_module(function, args)


def _by_module(function: Any, args: Sequence[Any]) -> list[Any]:
    """A function known by its module only."""
    if function.__name__ in CHANGING_FUNCTIONS:
        return list(args[:1]) or [OUTSIDE]
    full = getattr(function, "__module__", None) or ""
    module = _module(function)
    if module in STATEFUL_MODULES or full.startswith("numpy.random"):
        return [OUTSIDE]
    return [] if module in PURE_MODULES or not module else [OUTSIDE]


def _by_method(receiver: Any, name: str) -> list[Any]:
    """A method of an object, by the kind of the object."""
    if isinstance(receiver, (*FIXED, type)):
        return []
    if isinstance(receiver, CHANGEABLE) or is_iterator(receiver):
        plain = name.startswith("__") and name not in CHANGING
        return [] if name in READING or plain else [receiver]
    if _module(type(receiver)) in PURE_MODULES and name not in CHANGING:
        return []
    return [receiver] if name in CHANGING else [OUTSIDE]


def _by_class(
    cls: type, args: Sequence[Any], kwargs: Mapping[str, Any], seen: frozenset[Any], depth: int
) -> list[Any]:
    """Making an object: what its own `__init__` changes beside the new object."""
    init = cls.__dict__.get("__init__") or getattr(cls, "__init__", None)
    if not isinstance(init, types.FunctionType) or _module(cls) in PURE_MODULES:
        return [] if _module(cls) not in STATEFUL_MODULES else [OUTSIDE]
    if hasattr(cls, "__dataclass_fields__"):
        return []
    new = _New()
    changes = _by_function(init, (new, *args), kwargs, seen, depth)
    return [x for x in changes if x is not new]


class _New:
    """Placeholder for an object that is being created."""


def _module(x: Any) -> str:
    return (getattr(x, "__module__", None) or "").split(".")[0]


def is_hashable(x: Any) -> bool:
    """Whether an object can be looked up in a set or a dictionary."""
    try:
        hash(x)
    except TypeError:
        return False
    return True


# -- functions written in Python ------------------------------------------------------------------


def _by_function(
    function: types.FunctionType,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    seen: frozenset[Any],
    depth: int,
) -> list[Any]:
    """A Python function, by its source."""
    if function.__code__ in seen:
        return []
    if _module(function) in PURE_MODULES or _module(function) in STATEFUL_MODULES:
        return _by_module(function, args)
    try:
        bound = inspect.signature(function, follow_wrapped=False).bind(*args, **kwargs)
        bound.apply_defaults()
        node = capture(function).node
    except (TypeError, ValueError, OnnxwrightError):
        return [OUTSIDE]
    if depth > _DEPTH:
        return [OUTSIDE]
    reader = _Reader(function, bound.arguments, seen | {function.__code__}, depth)
    for part in node.body if isinstance(node, ast.FunctionDef) else [node.body]:
        reader.visit(part)
    return reader.changed


_UNKNOWN: Any = object()
_NEW: Any = object()


class _Reader(ast.NodeVisitor):
    """Walks a function's source and collects what it changes."""

    def __init__(
        self,
        function: types.FunctionType,
        arguments: Mapping[str, Any],
        seen: frozenset[Any],
        depth: int,
    ) -> None:
        self.arguments = dict(arguments)
        self.outer = OuterNames(function)
        self.locals = frozenset(function.__code__.co_varnames)
        self.seen = seen
        self.depth = depth
        self.changed: list[Any] = []
        self.fresh: dict[str, bool] = {}

    # -- what names refer to -----------------------------------------------------------------------

    def value(self, node: ast.expr) -> Any:
        """The object an expression refers to, as far as that is sure; `_NEW` for one made here."""
        if isinstance(node, ast.Name):
            if node.id in self.fresh:
                return _NEW if self.fresh[node.id] else _UNKNOWN
            if node.id in self.arguments:
                return self.arguments[node.id]
            if node.id in self.locals:
                return _UNKNOWN
            return self.outer.get(node.id, _UNKNOWN)
        if isinstance(node, ast.Attribute):
            holder = self.value(node.value)
            if holder is _UNKNOWN or holder is _NEW or isinstance(holder, _New):
                return _NEW if holder is _NEW else _UNKNOWN
            attribute = inspect.getattr_static(holder, node.attr, _UNKNOWN)
            if isinstance(attribute, (property, classmethod, staticmethod)):
                return getattr(holder, node.attr, _UNKNOWN)
            if inspect.isroutine(attribute) and not inspect.isroutine(holder):
                return getattr(holder, node.attr, _UNKNOWN)
            return attribute if attribute is not _UNKNOWN else getattr(holder, node.attr, _UNKNOWN)
        if isinstance(node, (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp,
                             ast.Constant, ast.Tuple, ast.BinOp, ast.UnaryOp, ast.Compare,
                             ast.JoinedStr, ast.GeneratorExp)):  # fmt: skip
            return _NEW
        if isinstance(node, ast.Call):
            held = self.value(node.func)
            builtin = isinstance(held, type) or (
                is_hashable(held) and held in (sorted, iter, len, sum, min, max, abs, float, int)
            )
            return _NEW if builtin else _UNKNOWN
        return _UNKNOWN

    def change(self, node: ast.expr) -> None:
        """Something is changed in what an expression refers to."""
        before = self.value(node)
        if before is _NEW:
            return
        if before is _UNKNOWN:
            inner: ast.expr = node
            while isinstance(inner, (ast.Attribute, ast.Subscript)):
                inner = inner.value
            held = self.value(inner) if inner is not node else _UNKNOWN
            if held is _NEW or isinstance(held, _New):
                return
            before = OUTSIDE if held is _UNKNOWN else held
        self.changed.append(before)

    # -- statements --------------------------------------------------------------------------------

    def bind(self, target: ast.expr, value: ast.expr | None) -> None:
        """A target gets a value."""
        if isinstance(target, ast.Name):
            new = value is not None and self.value(value) is _NEW
            self.fresh[target.id] = new and self.fresh.get(target.id, True)
        elif isinstance(target, (ast.Attribute, ast.Subscript)):
            self.change(target.value)
        elif isinstance(target, ast.Starred):
            self.bind(target.value, None)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for item in target.elts:
                self.bind(item, None)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        for target in node.targets:
            self.visit(target)
            self.bind(target, node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)
            self.bind(node.target, node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.visit(node.value)
        if isinstance(node.target, ast.Name):
            held = self.value(node.target)
            if held is not _NEW and not isinstance(held, FIXED):
                if held is not _UNKNOWN or node.target.id not in self.fresh:
                    self.change(node.target)
            self.fresh.setdefault(node.target.id, False)
        else:
            self.bind(node.target, None)

    def visit_For(self, node: ast.For) -> None:
        self.used(node.iter)
        self.bind(node.target, None)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        self.used(node.iter)
        self.bind(node.target, None)
        self.generic_visit(node)

    def used(self, node: ast.expr) -> None:
        """What is iterated over is used up, if it is an iterator."""
        held = self.value(node)
        if is_iterator(held):
            self.changed.append(held)

    def visit_Delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, (ast.Attribute, ast.Subscript)):
                self.change(target.value)

    def outside(self, node: ast.AST) -> None:
        """A statement that reaches beyond the function."""
        self.changed.append(OUTSIDE)

    def visit(self, node: ast.AST) -> Any:
        """One part of the source; some kinds always reach beyond the function."""
        return self.outside(node) if isinstance(node, _REACHING) else super().visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        self.generic_visit(node)
        function = self.value(node.func)
        if function is _NEW:
            # A method of an object made here, or a call of one.
            return
        if function is _UNKNOWN:
            self.unknown_call(node)
            return
        args = [self.value(part) for part in (*node.args, *(k.value for k in node.keywords))]
        if is_hashable(function) and function in (*CHANGES_FIRST,):
            self.change(node.args[0]) if node.args else None
            return
        plain = [_Blank() if a is _UNKNOWN or a is _NEW else a for a in args]
        count = len(node.args)
        names = [k.arg or "" for k in node.keywords]
        changes = _changed(
            function, plain[:count], dict(zip(names, plain[count:])), self.seen, self.depth + 1
        )
        for changed in changes:
            if isinstance(changed, _Blank):
                where = next(n for n, a in enumerate(plain) if a is changed)
                if args[where] is not _NEW:
                    self.changed.append(OUTSIDE)
            else:
                self.changed.append(changed)

    def unknown_call(self, node: ast.Call) -> None:
        """A call of something known only at run time."""
        if isinstance(node.func, ast.Attribute):
            if node.func.attr in CHANGING:
                self.change(node.func.value)
        elif isinstance(node.func, ast.Name) and node.func.id not in vars(builtins):
            self.changed.append(OUTSIDE)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.fresh[node.name] = True
        for part in node.body:
            self.visit(part)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self.visit(node.body)


class _Blank:
    """Placeholder for an unknown argument."""


def objects_in(x: Any, depth: int = 6) -> Iterator[Any]:
    """An object and everything in it, containers inside containers included."""
    yield x
    if depth and isinstance(x, (list, tuple, set, frozenset, collections.deque)):
        for item in x:
            yield from objects_in(item, depth - 1)
    elif depth and isinstance(x, dict):
        for item in x.values():
            yield from objects_in(item, depth - 1)


__all__ = ["OUTSIDE", "changed_by", "is_fresh", "is_hashable", "is_iterator", "objects_in"]

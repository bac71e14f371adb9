"""The table of numpy's functions and array methods: a name, and what it means over a backend.

Values of every mode look their methods up here, and numpy's own functions that are given values.
"""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from onnxwright.diagnostics.catalogue import numpy_functions as messages
from onnxwright.diagnostics.diagnostic import fail
from onnxwright.semantics.backend import Backend, V, is_value
from onnxwright.semantics.literals import describe
from onnxwright.semantics.numpy_functions import (
    elementwise,
    joining,
    rearranging,
    reductions,
)
from onnxwright.semantics.numpy_functions.arguments import refuse

Meaning = Callable[..., Any]
_VIEWS = frozenset(
    ("reshape", "transpose", "ravel", "squeeze", "swapaxes", "moveaxis", "expand_dims",
     "broadcast_to", "flip", "split", "array_split")
)  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """One row of the table.

    Attributes:
        name: the name, as a method and below `np.`.
        meaning: what it means; its first parameters are the backend and the array.
        is_method: whether values have it as a method.
        functions: the functions of numpy that mean it, as they are called below `np.`.
    """

    name: str
    meaning: Meaning
    is_method: bool = False
    functions: tuple[str, ...] = ()

    @property
    def is_view(self) -> bool:
        """Whether numpy returns a view of the first argument where possible."""
        return self.name.removeprefix("np.") in _VIEWS


def _both(name: str, meaning: Meaning, *functions: str) -> Entry:
    return Entry(name, meaning, True, functions or (name,))


def _function(name: str, meaning: Meaning, *others: str) -> Entry:
    return Entry(name, meaning, False, (name, *others))


def _of_numpy(b: Backend[Any], x: object, newshape: object = None, **keywords: object) -> Any:
    """`np.reshape(x, shape)`, whose shape is one argument."""
    shape = keywords.pop("shape", newshape)
    return rearranging.reshape(b, x, shape, **keywords)


def _transpose(b: Backend[V], x: object, axes: object = None) -> V:
    """`np.transpose(x, axes)`, whose axes are one argument."""
    return rearranging.transpose(b, x, axes)


ENTRIES: tuple[Entry, ...] = (
    _both("sum", reductions.sum_),
    _both("prod", reductions.prod),
    _both("mean", reductions.mean),
    _both("var", reductions.var),
    _both("std", reductions.std),
    _both("max", reductions.max_, "max", "amax"),
    _both("min", reductions.min_, "min", "amin"),
    _both("any", reductions.any_),
    _both("all", reductions.all_),
    _both("argmax", reductions.argmax),
    _both("argmin", reductions.argmin),
    _both("cumsum", reductions.cumsum),
    _both("cumprod", reductions.cumprod),
    _function("count_nonzero", reductions.count_nonzero),
    _function("linalg.norm", reductions.norm),
    Entry("reshape", rearranging.reshape, is_method=True),
    Entry("np.reshape", _of_numpy, functions=("reshape",)),
    Entry("transpose", rearranging.transpose, is_method=True),
    Entry("np.transpose", _transpose, functions=("transpose", "permute_dims")),
    Entry("flatten", rearranging.flatten, is_method=True),
    _both("ravel", rearranging.flatten),
    _both("squeeze", rearranging.squeeze_),
    _both("swapaxes", rearranging.swapaxes),
    _function("moveaxis", rearranging.moveaxis),
    _function("expand_dims", rearranging.expand_dims),
    Entry("astype", rearranging.astype, True, ("astype",)),
    _both("copy", rearranging.copy),
    _function("broadcast_to", rearranging.broadcast_to),
    _function("flip", rearranging.flip),
    _function("roll", rearranging.roll),
    _function("triu", rearranging.triu),
    _function("tril", rearranging.tril),
    _both("clip", elementwise.clip),
    _both("round", elementwise.round_, "round", "around"),
    _both("repeat", joining.repeat),
    _both("take", joining.take),
    _both("dot", joining.dot),
    _both("nonzero", joining.nonzero),
    _both("argsort", joining.argsort),
    _function("sort", joining.sort),
    _function("where", joining.where),
    _function("argwhere", joining.argwhere),
    _function("concatenate", joining.concatenate, "concat"),
    _function("stack", joining.stack),
    _function("vstack", joining.vstack),
    _function("hstack", joining.hstack),
    _function("split", joining.split),
    _function("array_split", joining.array_split),
    _function("tile", joining.tile),
    _function("take_along_axis", joining.take_along_axis),
    _function("full_like", joining.full_like),
    _function("zeros_like", joining.zeros_like),
    _function("ones_like", joining.ones_like),
    _function("empty_like", joining.empty_like),
    _function("pad", joining.pad),
    _function("inner", joining.inner),
    _function("outer", joining.outer),
    _function("einsum", joining.einsum),
    _function("tensordot", joining.tensordot),
    _function("diff", joining.diff),
    *(_function(u.__name__, m) for u, m in {**elementwise.UNARY, **elementwise.BINARY}.items()),
)  # fmt: skip


def _in_numpy(path: str) -> Any:
    function: Any = np
    for part in path.split("."):
        function = getattr(function, part, None)
    return function


METHODS: dict[str, Entry] = {e.name: e for e in ENTRIES if e.is_method}
FUNCTIONS: dict[Any, Entry] = {
    function: e for e in ENTRIES for f in e.functions if (function := _in_numpy(f)) is not None
}
# `np.add.reduce` and the like, whose axis is 0 by default.
_REDUCED = {
    np.add: "sum", np.multiply: "prod", np.maximum: "max", np.minimum: "min",
    np.logical_and: "all", np.logical_or: "any",
}  # fmt: skip
# Arguments of numpy that say where results go, not what they are, where they have these values.
_IGNORED: dict[str, tuple[object, ...]] = {
    "out": (None,), "casting": ("same_kind", "unsafe"), "subok": (True, False),
    "where": (True,), "order": ("C", "K", "A", None), "mode": ("raise",), "kind": (None,),
    "stable": (None, True), "optimize": (True, False), "like": (None,), "device": (None,),
    "initial": (),
}  # fmt: skip


def call_method(
    b: Backend[Any], name: str, x: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """`x.name(...)` as numpy means it.

    Args:
        name: a name of `METHODS`.
        kwargs: the arguments by name.

    Returns:
        A value, or several.

    Raises:
        ScriptTypeError: the arguments do not fit (OW867).
    """
    return _call(b, METHODS[name], (x, *args), kwargs)


def call_function(
    b: Backend[Any], function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """`np.function(...)` of values.

    Args:
        b: the backend.
        function: the function of numpy.
        args: its arguments.
        kwargs: its arguments by name.

    Returns:
        A value, or several.

    Raises:
        StaticTypeError: ONNX has no such function here (OW865), or the arguments do not fit
            (OW867).
    """
    entry = FUNCTIONS.get(function)
    if entry is None:
        no_function(b, function)
    return _call(b, entry, args, kwargs)


def call_ufunc(
    b: Backend[Any], ufunc: np.ufunc, method: str, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Any:
    """A ufunc of values, or its `reduce`.

    Args:
        method: how it is called: `__call__`, `reduce` or `outer`.
        kwargs: its arguments by name.

    Returns:
        A value, or several.
    """
    if method == "__call__":
        return call_function(b, ufunc, args, kwargs)
    if method == "reduce" and ufunc in _REDUCED:
        return _call(b, METHODS[_REDUCED[ufunc]], args, {"axis": 0, **kwargs})
    if method == "outer" and ufunc is np.multiply:
        return call_function(b, np.outer, args, kwargs)
    fail(messages.NoNumpyFunction(name=f"np.{ufunc.__name__}.{method}", near="", span=b.here()))


def no_function(b: Backend[Any], function: Any) -> NoReturn:
    """Refuse a function of numpy that tensors do not have.

    Raises:
        StaticTypeError: always (OW865).
    """
    name = getattr(function, "__name__", describe(function))
    fail(messages.NoNumpyFunction(name=f"np.{name}", near=_near(name), span=b.here()))


def _near(name: str) -> str:
    function_names = [f for e in ENTRIES for f in e.functions]
    near = difflib.get_close_matches(name, function_names, 1, 0.75)
    return f"`np.{near[0]}` is there; " if near else ""


def _call(b: Backend[Any], entry: Entry, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    arguments = dict(kwargs)
    signature = _signature(entry.meaning)
    parameters = signature.parameters
    for name, values in _IGNORED.items():
        if name in arguments and name not in parameters and _is_one_of(arguments[name], values):
            del arguments[name]
    try:
        signature.bind(b, *args, **arguments)
    except TypeError as error:
        reason = str(error)
        advice = f"these are there: {', '.join(_parameters(entry))}"
        refuse(b, entry.name.removeprefix("np."), reason, advice)
    result = entry.meaning(b, *args, **arguments)
    if entry.is_view:
        return result
    return fresh(b, result) if any(result is a for a in args) else result


def fresh(b: Backend[V], x: V) -> V:
    """The same value in an object of its own, for which no node is needed: a copy."""
    return b.as_weak(b.as_weak(x, "int"), None) if is_value(x) else x


@functools.cache
def _signature(meaning: Meaning) -> inspect.Signature:
    return inspect.signature(meaning)


def _is_one_of(x: object, values: Sequence[object]) -> bool:
    """Whether an argument has one of these values; `==` of a tensor is elementwise."""
    return any(x is v or (type(x) is type(v) is str and x == v) for v in values)


def _parameters(entry: Entry) -> Iterator[str]:
    """The parameters behind the backend, as numpy's users write them."""
    for n, p in enumerate(_signature(entry.meaning).parameters.values()):
        if n:
            yield f"`{p}`" if p.kind is p.VAR_POSITIONAL else f"`{p.name}`"

"""Functions that users give for operators, in the form of the library's: `op` comes first."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from onnxwright.atenlib.op import IGNORED, AtenFunction
from onnxwright.exporter.interop import accepts, calls_onnxscript, from_onnxscript, is_onnxscript
from onnxwright.semantics.backend import is_value
from onnxwright.types.annotations import ValueSpec
from onnxwright.types.kinds import fits
from onnxwright.types.roles import Script

Lowering = Callable[..., Any]


def lowering_of(overloads: Sequence[Any]) -> Lowering:
    """A lowering from one function, or from several of which the first that fits a call is used.

    Args:
        overloads: functions over `op`, plain functions over an opset of this package or of
            onnxscript, scripts of either.

    Returns:
        A function of (op, *args, **kwargs).
    """
    made = [_one(function) for function in overloads]
    if len(made) == 1:
        return made[0]

    def choose(op: Any, *args: Any, **kwargs: Any) -> Any:
        for function, lowering in zip(overloads, made, strict=True):
            if _takes(function, op, args, kwargs):
                return lowering(op, *args, **kwargs)
        shown = ", ".join(_name(f) for f in overloads)
        raise TypeError(f"none of the functions takes these arguments: {shown}")

    choose.__name__ = _name(overloads[0])
    return choose


def _one(function: Any) -> Lowering:
    if isinstance(function, AtenFunction):
        return function
    if is_onnxscript(function):
        return from_onnxscript(function)
    if _first_parameter(function) == "op":
        chosen: Lowering = function
        return chosen
    if calls_onnxscript(function):
        return from_onnxscript(function)

    def without_op(op: Any, *args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    without_op.__wrapped__ = function  # type: ignore[attr-defined]
    return without_op


def _first_parameter(function: Any) -> str | None:
    try:
        return next(iter(inspect.signature(function).parameters), None)
    except (TypeError, ValueError):
        return None


def _takes(function: Any, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a function has parameters for a call, of types that fit."""
    if isinstance(function, AtenFunction):
        return True
    named = {k: v for k, v in kwargs.items() if k not in IGNORED}
    if is_onnxscript(function):
        return accepts(function, args, named)
    first = (op,) if _first_parameter(function) == "op" else ()
    try:
        bound = inspect.signature(function).bind(*first, *args, **named).arguments
    except (TypeError, ValueError):
        return False
    if not isinstance(function, Script):
        return True
    specs = {p.name: p.spec for p in function.signature.params}  # type: ignore[attr-defined] # a role has no members
    return all(_fits(specs.get(name), value) for name, value in bound.items())


def _fits(spec: Any, value: Any) -> bool:
    if not isinstance(spec, ValueSpec) or not spec.types or not is_value(value):
        return True
    kind = getattr(value, "kind", None)
    return kind is None or any(fits(kind, wanted) for wanted in spec.types)


def _name(function: Any) -> str:
    return f"`{getattr(function, '__name__', None) or getattr(function, 'name', function)}`"


__all__ = ["lowering_of"]

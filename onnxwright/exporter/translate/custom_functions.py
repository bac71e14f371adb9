"""Functions that users give for operators, in the form of the library's: `op` comes first."""

from __future__ import annotations

import enum
import inspect
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import onnx_ir as ir

from onnxwright.atenlib.op import IGNORED, AtenFunction
from onnxwright.errors import OnnxwrightError
from onnxwright.exporter.checks import raise_bad_argument
from onnxwright.exporter.interop import accepts, calls_onnxscript, from_onnxscript, is_onnxscript
from onnxwright.semantics.backend import is_value
from onnxwright.types.annotations import ValueSpec, parse_annotation
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import TensorType, fits
from onnxwright.types.roles import Script

Lowering = Callable[..., Any]


def lowering_of(overloads: Sequence[Any], name: str = "") -> Lowering:
    """A lowering from one function, or from several of which the first that fits a call is used.

    Which one fits is decided by the parameters, and by the annotations of the tensors among them.

    Args:
        overloads: functions over `op`, plain functions over an opset of this package or of
            onnxscript, scripts of either.

    Returns:
        A function of (op, *args, **kwargs); its call raises an ExportValueError (OW825) where the
        first that may fit has no annotation, and another one may fit too.
    """
    lowerings = [_one(function) for function in overloads]
    if len(lowerings) == 1:
        return lowerings[0]

    def choose(op: Any, *args: Any, **kwargs: Any) -> Any:
        matches = [_match(function, op, args, kwargs) for function in overloads]
        fitting = [n for n, match in enumerate(matches) if match is not _Match.NO]
        if len(fitting) > 1 and matches[fitting[0]] is _Match.PERHAPS:
            _raise_ambiguous(name, [overloads[n] for n in fitting[:2]])
        if fitting:
            return lowerings[fitting[0]](op, *args, **kwargs)
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


class _Match(enum.IntEnum):
    """How a function fits a call."""

    NO = 0
    PERHAPS = 1
    """It has the parameters; tensors among them have no element type."""
    YES = 2


def _match(function: Any, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Match:
    """Whether a function has parameters for a call, of types that fit."""
    named = {k: v for k, v in kwargs.items() if k not in IGNORED}
    if is_onnxscript(function):
        return _Match.YES if accepts(function, args, named) else _Match.NO
    plain = function.body if isinstance(function, AtenFunction) else function
    first = (op,) if _first_parameter(plain) == "op" else ()
    try:
        bound = inspect.signature(plain).bind(*first, *args, **named).arguments
    except (TypeError, ValueError):
        return _Match.NO
    if isinstance(function, Script):
        specs = {p.name: p.spec for p in function.signature.params}  # type: ignore[attr-defined] # a role has no members
        fit = all(_fits(specs.get(name), value) for name, value in bound.items())
        return _Match.YES if fit else _Match.NO
    return _match_by_annotations(plain, bound)


def _match_by_annotations(function: Any, bound: Mapping[str, Any]) -> _Match:
    """How the annotations of a Python function fit the tensors of a call."""
    specs = _specs(function)
    match = _Match.YES
    for name, value in bound.items():
        if not is_value(value):
            continue
        spec = specs.get(name)
        if not isinstance(spec, ValueSpec) or not spec.types:
            match = _Match.PERHAPS
        elif not _fits(spec, value):
            return _Match.NO
    return match


def _specs(function: Any) -> dict[str, Any]:
    """What the annotations of a Python function say, by parameter."""
    try:
        hints = typing.get_type_hints(function)
    except Exception:  # noqa: BLE001 - names that exist for type checkers only
        hints = dict(getattr(function, "__annotations__", {}))
    return {name: _spec(hint) for name, hint in hints.items()}


def _spec(annotation: Any) -> Any:
    """What one annotation says; None for one that says nothing of tensors."""
    members = typing.get_args(annotation) if _is_union(annotation) else (annotation,)
    codes = [getattr(m, "dtype", None) for m in members]
    data_types = [c for c in codes if isinstance(c, ir.DataType)]
    if len(data_types) == len(members):  # classes of onnxscript
        return ValueSpec(tuple(TensorType(DType(int(c))) for c in data_types))
    try:
        return parse_annotation(annotation)
    except OnnxwrightError:
        return None


def _is_union(annotation: Any) -> bool:
    return typing.get_origin(annotation) in (typing.Union, types.UnionType)


def _fits(spec: Any, value: Any) -> bool:
    if not isinstance(spec, ValueSpec) or not spec.types or not is_value(value):
        return True
    kind = getattr(value, "kind", None)
    return kind is None or any(fits(kind, accepted_type) for accepted_type in spec.types)


def _raise_ambiguous(name: str, several: Sequence[Any]) -> NoReturn:
    shown = " and ".join(_name(f) for f in several)
    raise_bad_argument(
        "custom_translation_table",
        f"{shown} both take a call of `{name}`, and nothing says which is meant",
        "annotate their tensors, `def function(op, x: onnxwright.INT64)`, or give one function",
    )


def _name(function: Any) -> str:
    return f"`{getattr(function, '__name__', None) or getattr(function, 'name', function)}`"

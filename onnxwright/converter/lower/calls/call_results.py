"""What a call of a script gives: found by lowering its body for the types of the arguments."""

from __future__ import annotations

from typing import Any

from onnxwright.converter.lower.context import Script
from onnxwright.converter.lower.regions import Region
from onnxwright.converter.lower.state import Arguments, Lowering
from onnxwright.converter.lower.values import AttributeRef
from onnxwright.errors import ScriptError
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.semantics.literals import as_value, kind_of, own_array
from onnxwright.types.annotations import ValueSpec
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import OnnxType, TensorType
from onnxwright.types.signature import Param


def lowered_for_call(low: Lowering, script: Script, arguments: dict[str, Any]) -> Any:
    """The function of a script, lowered for these arguments: `results` has the types of a call.

    Calls with the same known types and values share one lowering.
    """
    facts = tuple((name, _fact(low, value)) for name, value in arguments.items())
    key: object = ("call", script.function, script.domain, script.name, facts)
    try:
        hash(key)
    except TypeError:
        return _lower_for_call(low, script, arguments)
    if key not in low.context.results:
        low.context.results[key] = _lower_for_call(low, script, arguments)
    return low.context.results[key]


def _fact(low: Lowering, value: Any) -> object:
    if isinstance(value, GraphValue):
        return ("value", value.kind, value.weak)
    if isinstance(value, AttributeRef):
        return ("attribute", value.name, value.kind)
    array = own_array(value)
    if array is not None:
        return ("array", str(array.dtype), array.shape)
    if isinstance(value, list):
        return ("list", tuple(_fact(low, v) for v in value))
    return (type(value), value)


def _lower_for_call(low: Lowering, script: Script, arguments: dict[str, Any]) -> Any:
    types: dict[str, OnnxType | None] = {}
    numbers: dict[str, str] = {}
    for p in script.signature.values:
        if arguments[p.name] is not None:
            types[p.name], number = _known_of(low, p, arguments[p.name])
            if number is not None:
                numbers[p.name] = number
    generic = generic_body(low, script)
    if not numbers and not script.signature.attributes and types == _open_types(script, generic):
        return generic  # nothing more is known than of every call
    absent = frozenset(n for n, value in arguments.items() if value is None)
    attributes = {p.name: arguments[p.name] for p in script.signature.attributes}
    call = Arguments(types, numbers, absent, attributes, only_types=True)
    return low.lower_callee(script, low.context, [Region(f"`{script.name}`", None)], call)


def generic_body(low: Lowering, script: Script) -> Any:
    """A script lowered once for all its calls, or the error that it cannot be."""
    key = ("generic", script.function, script.domain, script.name)
    if key not in low.context.results:
        try:
            called = Region(f"`{script.name}`", None)
            low.context.results[key] = low.lower_callee(script, low.context, [called])
        except ScriptError as error:
            low.context.results[key] = error
    return low.context.results[key]


def _open_types(script: Script, generic: Any) -> dict[str, OnnxType | None]:
    """The types of the values of a function that is lowered for all calls."""
    kinds = map(generic.recorder.type_of, generic.inputs)
    return {p.name: kind for p, kind in zip(script.signature.values, kinds, strict=True)}


def _known_of(low: Lowering, p: Param, value: Any) -> tuple[OnnxType | None, str | None]:
    """The type of an argument, and the kind of number if it is a Python number."""
    value = low.value(value)
    if isinstance(value, GraphValue):
        kind, number = value.kind, value.weak
    else:
        number = None if own_array(value) is not None else kind_of(value)
        number = number if number in ("bool", "int", "float") else None
        kind = as_value(low.b, value).kind
        if number == "float":
            kind = TensorType(DType.DOUBLE, ())
    dtype = annotated_dtype(p)
    if number is not None and dtype is not None:
        return TensorType(dtype, ()), None
    return kind, number


def annotated_dtype(p: Param) -> DType | None:
    """The one element type a parameter is annotated with."""
    if isinstance(p.spec, ValueSpec) and len(p.spec.types) == 1:
        (kind,) = p.spec.types
        return kind.dtype if isinstance(kind, TensorType) else None
    return None

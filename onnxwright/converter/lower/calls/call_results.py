"""What a call of a script gives: found by lowering its body with the types of the arguments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from onnxwright.converter.frontend.outer_names import OuterNames
from onnxwright.converter.lower.context import Script
from onnxwright.converter.lower.frame import Frame
from onnxwright.converter.lower.opsets import sugar_opset
from onnxwright.converter.lower.regions import Region
from onnxwright.converter.lower.state import Lowering
from onnxwright.converter.lower.statements.results import function_result
from onnxwright.converter.lower.values import AttributeRef
from onnxwright.converter.pipeline import front
from onnxwright.diagnostics.span import Span
from onnxwright.ir.builder import Recorder
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.semantics.literals import as_value, kind_of, own_array
from onnxwright.tracing.graph_backend import GraphBackend
from onnxwright.types.annotations import ValueSpec
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import OnnxType, TensorType
from onnxwright.types.signature import Param


@dataclass(frozen=True)
class CallResult:
    """What a call of a script gives: the type and weak kind of each value, and how they nest."""

    kinds: tuple[tuple[OnnxType | None, str | None], ...]
    single: bool
    met: dict[str, DType]


def call_result(low: Lowering, script: Script, arguments: dict[str, Any], span: Span) -> CallResult:
    """The types a call gives, found by lowering the callee's body with these arguments."""
    facts = tuple((name, _fact(low, value)) for name, value in arguments.items())
    key: object = ("result", script.function, script.domain, script.name, facts)
    try:
        hash(key)
    except TypeError:
        return _lower_for_types(low, script, arguments, span)
    if key not in low.context.results:
        low.context.results[key] = _lower_for_types(low, script, arguments, span)
    result: CallResult = low.context.results[key]
    return result


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


def _lower_for_types(
    low: Lowering, script: Script, arguments: dict[str, Any], span: Span
) -> CallResult:
    stages = front(script.function, script.source_text)
    recorder = Recorder()
    opset = sugar_opset(script, stages, low.context) or low.b.opset
    b = GraphBackend(recorder, opset, low.b.convert_call)
    b.span = span
    env: dict[str, Any] = {}
    weak: dict[str, GraphValue] = {}
    for p in script.signature.params:
        value = arguments[p.name]
        if not p.is_attribute:
            value = _scratch_input(low, b, p, value, weak)
        env[p.name] = value
    frame = Frame(script.name, stages.own_names, OuterNames(script.function), env)
    around = [Region(f"`{script.name}`", None)]
    nested = Lowering(b, frame, low.context, low.handlers.for_types, low.lower_callee, around)
    result = function_result(nested, script.signature, stages)
    met = {name: dtype for name, v in weak.items() if (dtype := _met_dtype(v)) is not None}
    single = not isinstance(result, (tuple, list))
    values = [result] if single else list(result)
    return CallResult(tuple((v.kind, v.weak) for v in values), single, met)


def _scratch_input(
    low: Lowering, b: GraphBackend, p: Param, value: Any, weak: dict[str, GraphValue]
) -> Any:
    """A value parameter of a callee lowered for its types only."""
    if value is None:
        return None
    value = low.value(value)
    kind: OnnxType | None
    number: str | None = None
    if isinstance(value, GraphValue):
        kind, number = value.kind, value.weak
    else:
        array = own_array(value)
        number = None if array is not None else kind_of(value)
        number = number if number in ("bool", "int", "float") else None
        scratch = as_value(low.b, value)
        kind = scratch.kind
        if number == "float":
            kind = TensorType(DType.DOUBLE, ())
    dtype = annotated_dtype(p)
    if number is not None and dtype is not None:
        kind, number = TensorType(dtype, ()), None
    wrapped = b.wrap(b.recorder.input(p.name, kind), kind, number)
    if number is not None:
        weak[p.name] = wrapped
    return wrapped


def annotated_dtype(p: Param) -> DType | None:
    """The one element type a parameter is annotated with."""
    if isinstance(p.spec, ValueSpec) and len(p.spec.types) == 1:
        (kind,) = p.spec.types
        return kind.dtype if isinstance(kind, TensorType) else None
    return None


def _met_dtype(v: GraphValue) -> DType | None:
    """The one element type that a number was cast to in a body, if there is just one."""
    dtypes: set[DType | None] = set()
    for node, _ in v.value.uses():
        if node.op_type == "Cast" and "to" in node.attributes:
            dtypes.add(DType(node.attributes["to"].as_int()))
        elif v.kind is not None:
            dtypes.add(getattr(v.kind, "dtype", None))
    dtypes.discard(None)
    return dtypes.pop() if len(dtypes) == 1 else None

"""Operators written out as the function bodies that ONNX gives for them."""

from __future__ import annotations

from typing import Any

import onnx
import onnx_ir as ir

from onnxwright.ir import adapters
from onnxwright.ir.infer import schema_kinds
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.tracing.inline import call_function
from onnxwright.types.roles import AttributeReference
from onnxwright.versions.call import Call, Refused


def has_body(call: Call) -> bool:
    """Whether ONNX gives a body for the operator of a call in its version."""
    schema: Any = call.signature.schema
    return bool(schema.function_opset_versions or schema.context_dependent_function_opset_versions)


def expand(call: Call) -> list[GraphValue | None]:
    """The outputs of an operator, by its function body.

    Args:
        call: the call; its backend builds in the version that the call is written for.

    Raises:
        Refused: there is no body, or types that it depends on are not known.

    Source:
        The function bodies of the schemas in `onnx.defs`.
    """
    proto = _body(call)
    outputs = list(proto.output)
    names_inside = {name for node in proto.node for name in node.output} | set(proto.input)
    # The bodies of some operators leave out what the call does not ask for.
    del proto.output[:]
    proto.output.extend(name for name in outputs if name in names_inside)
    try:
        function: Any = ir.from_proto(proto)
    except ValueError as error:
        raise Refused(f"its function body cannot be read ({error})") from error
    attributes = {
        name: param.default
        for name, param in call.signature.attributes.items()
        if param.default is not None
    }
    attributes.update(call.attributes)
    own_attributes = {n: v for n, v in attributes.items() if n in _names(proto)}
    if any(isinstance(v, AttributeReference) for v in own_attributes.values()):
        name = next(n for n, v in own_attributes.items() if isinstance(v, AttributeReference))
        call.attr(name)
    missing = len(function.inputs) - len(call.inputs)
    inputs = [*call.inputs, *([None] * missing)]
    values = {n: v.value if isinstance(v, ir.Attr) else v for n, v in own_attributes.items()}
    results = iter(call_function(call.backend, function, inputs, values))
    return [next(results) if name in names_inside else None for name in outputs][: call.count]


def _names(proto: onnx.FunctionProto) -> set[str]:
    return {*proto.attribute, *(a.name for a in proto.attribute_proto)}


def _body(call: Call) -> onnx.FunctionProto:
    schema: Any = call.signature.schema
    plain = [v for v in schema.function_opset_versions if v <= call.version]
    if plain:
        return _read(schema.get_function_with_opset_version(max(plain)))
    versions = [v for v in schema.context_dependent_function_opset_versions if v <= call.version]
    if not versions:
        raise Refused("the older version has no such operator, and ONNX gives no function body")
    node = onnx.NodeProto(op_type=call.name)
    types = []
    for n, value in enumerate(call.inputs):
        node.input.append("" if value is None else f"i{n}")
        if value is None:
            types.append(onnx.TypeProto())
            continue
        if not hasattr(value.kind, "elem"):
            call.dtype(n)  # refuses where it is not known
        types.append(adapters.type_proto(value.kind))
    node.output.extend(f"o{n}" if used else "" for n, used in enumerate(call.used))
    while node.output and not node.output[-1]:
        del node.output[-1]
    kinds = schema_kinds(call.signature)
    for name in call.attributes:
        value = call.attr(name)
        node.attribute.append(ir.to_proto(adapters.attribute(name, value, kinds.get(name))))
    data = schema.get_context_dependent_function_with_opset_version(
        max(versions), node.SerializeToString(), [t.SerializeToString() for t in types]
    )
    if not data:
        raise Refused(
            "its function body depends on types that are not known",
            "run shape inference on the model, or declare the types of its inputs",
        )
    return _read(data)


def _read(data: bytes) -> onnx.FunctionProto:
    proto = onnx.FunctionProto()
    proto.ParseFromString(data)
    return proto

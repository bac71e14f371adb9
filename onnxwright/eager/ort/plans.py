"""Which models can compute one operator call in ONNX Runtime, the best first.

The operator itself; the function that defines it; an older version of it that takes the same call.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import onnx

from onnxwright.eager import node_model
from onnxwright.eager.evaluators import Request
from onnxwright.eager.ort import sessions
from onnxwright.opset import registry
from onnxwright.opset.op import Op
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import OnnxType, OptionalType


def models_for(request: Request, types: Sequence[OnnxType | None]) -> Iterator[tuple[Any, bool]]:
    """Models that compute a call, the best first.

    Args:
        types: the types of its inputs, None where one is absent.

    Yields:
        A model of one node, and whether that is an older version of the operator.
    """
    op, inputs, attributes, outputs = request
    present = [x is not None for x in inputs]
    signature = op.signature
    node = node_model.node_proto(op.name, op.domain, signature, present, attributes, outputs)
    top = sessions.newest_opset()
    if signature is None:
        versions = {op.domain: op.version, "": top}
        yield node_model.one_node_model(node, types, versions, present=present), False
        return
    last = last_version(signature)
    if op.domain != "":
        versions = {op.domain: last, "": top}
    else:
        versions = {"": min(last, top)}
    too_new = op.domain == "" and signature.since_version > top
    if not too_new:
        yield node_model.one_node_model(node, types, versions, present=present), False
    if signature.has_function:
        version = signature.since_version if too_new else versions[op.domain]
        full = with_defaults(node, signature)
        body = node_model.function_body(signature, version, full, types)
        if body is not None:
            call = _only_declared(full, body)
            yield node_model.body_model(body, call, types, _body_versions(body, top)), False
    # A version that newer ones only widened computes the same; it may have the kernel.
    for since, _ in reversed(registry.versions_of(op.domain, op.name)):
        if since >= signature.since_version or since > top:
            continue
        older = registry.signature(op.domain, op.name, since)
        if older is None or not _widened_only(older, signature):
            return
        if not _accepts(older, types, attributes, outputs):
            return
        older_node = node_model.node_proto(op.name, op.domain, older, present, attributes, outputs)
        older_versions = {"": top, op.domain: min(last_version(older), top)}
        if op.domain != "":
            older_versions[op.domain] = last_version(older)
        yield (
            node_model.one_node_model(older_node, types, older_versions, present=present),
            True,
        )


def last_version(signature: registry.OpSignature) -> int:
    """The newest opset version in which an operator still has this schema."""
    later = [
        since
        for since, _ in registry.versions_of(signature.domain, signature.name)
        if since > signature.since_version
    ]
    return later[0] - 1 if later else registry.newest(signature.domain)


def with_defaults(node: onnx.NodeProto, signature: registry.OpSignature) -> Any:
    """The call with every default of the schema written out.

    Returns:
        The call; another NodeProto.
    """
    full = onnx.NodeProto()
    full.CopyFrom(node)
    names = {a.name for a in full.attribute}
    for name, param in signature.attributes.items():
        default = signature.schema.attributes[name].default_value
        if name not in names and default.type and param.default is not None:
            full.attribute.append(default)
    return full


def _only_declared(node: onnx.NodeProto, function: Any) -> Any:
    """The call without attributes that the function does not take; they are built into it."""
    declared = {*function.attribute, *(a.name for a in function.attribute_proto)}
    call = onnx.NodeProto()
    call.CopyFrom(node)
    call.ClearField("attribute")
    call.attribute.extend(a for a in node.attribute if a.name in declared)
    call.op_type = function.name
    del call.output[len(function.output) :]
    return call


def _body_versions(function: Any, top: int) -> dict[str, int]:
    versions = {o.domain: o.version for o in function.opset_import}
    versions[""] = min(versions.get("", top), top)
    return versions


def declared_types(op: Op, types: list[OnnxType | None]) -> list[OnnxType | None]:
    """The types as the model declares them: optional where the schema takes nothing else.

    Args:
        types: the types of the inputs; changed in place.
    """
    signature = op.signature
    if signature is None or not signature.inputs:
        return types
    for n, kind in enumerate(types):
        allowed = signature.inputs[min(n, len(signature.inputs) - 1)].types
        if kind is None or kind.onnx_name in allowed:
            continue
        if OptionalType(kind).onnx_name in allowed:
            types[n] = OptionalType(kind)
    return types


def _widened_only(older: registry.OpSignature, newer: registry.OpSignature) -> bool:
    """Whether a newer version only added: element types, optional inputs, optional attributes.

    What a call does not give keeps its old meaning, by ONNX's own rule for new versions.
    """

    def names(params: Sequence[registry.InputParam]) -> list[tuple[str, str]]:
        return [(p.name, p.option) for p in params]

    count = len(older.inputs)
    if names(older.inputs) != names(newer.inputs[:count]) or not all(
        p.is_optional for p in newer.inputs[count:]
    ):
        return False
    if names(older.outputs) != names(newer.outputs[: len(older.outputs)]):
        return False
    for name, param in newer.attributes.items():
        attribute = older.attributes.get(name)
        if attribute is None:
            if param.required:
                return False
        elif (attribute.kind, attribute.required, attribute.default) != (
            param.kind,
            param.required,
            param.default,
        ):
            return False
    return set(older.attributes) <= set(newer.attributes)


def _accepts(
    signature: registry.OpSignature,
    types: Sequence[OnnxType | None],
    attributes: Mapping[str, Any],
    outputs: int,
) -> bool:
    """Whether a call fits a schema: the attributes exist, the types are allowed."""
    if not all(name in signature.attributes for name in attributes):
        return False
    if outputs > signature.max_output or len(types) > signature.max_input:
        return False
    for n, kind in enumerate(types):
        param = signature.inputs[min(n, len(signature.inputs) - 1)]
        if kind is not None and kind.onnx_name not in param.types:
            return False
    return True


def widen(
    model: Any,
    elements: Sequence[DType | None],
    exotic_in: Sequence[bool],
    results: Sequence[DType | None],
) -> None:
    """Put casts around the node of a model, so that exotic types travel as FLOAT.

    Args:
        model: the model, changed in place.
        results: the element types of the outputs that travel as FLOAT, else None.
    """
    graph = model.graph
    node = graph.node[0]
    before, after = [], []
    for n, (dtype, exotic) in enumerate(zip(elements, exotic_in, strict=True)):
        if exotic and dtype is not None:
            for info in graph.input:
                if info.name == f"i{n}":
                    info.type.tensor_type.elem_type = int(DType.FLOAT)
            node.input[n] = f"narrow{n}"
            cast = onnx.NodeProto(op_type="Cast", input=[f"i{n}"], output=[f"narrow{n}"])
            cast.attribute.append(node_model.attribute_proto("to", int(dtype)))
            before.append(cast)
    for n, dtype in enumerate(results):
        if dtype is not None:
            node.output[n] = f"result{n}"
            cast = onnx.NodeProto(op_type="Cast", input=[f"result{n}"], output=[f"o{n}"])
            cast.attribute.append(node_model.attribute_proto("to", int(DType.FLOAT)))
            after.append(cast)
    nodes = [*before, *graph.node, *after]
    kept = []
    for item in nodes:
        copy = onnx.NodeProto()
        copy.CopyFrom(item)
        kept.append(copy)
    del graph.node[:]
    graph.node.extend(kept)

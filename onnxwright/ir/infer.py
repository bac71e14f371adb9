"""Types of a node's outputs from those of its inputs: ONNX's own inference, node by node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnx.checker
import onnx_ir as ir
from onnx import shape_inference

from onnxwright.ir.adapters import from_type_proto, tensor, type_proto
from onnxwright.opset.registry import OpSignature
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import OnnxType, TensorType
from onnxwright.types.shapes import Shape, broadcast

# What ONNX's inference raises for inputs that cannot go together.
INFERENCE_ERRORS = (shape_inference.InferenceError, onnx.checker.ValidationError)

# Values up to this size are shown to inference (shapes, axes, paddings).
_DATA_LIMIT = 1024


def infer(
    signature: OpSignature,
    node: ir.Node,
    inputs: Sequence[OnnxType | None],
    known: Sequence[np.ndarray[Any, Any] | None],
    opset_version: int,
) -> list[OnnxType | None]:
    """The types of the outputs of a node, as far as ONNX can tell.

    Args:
        signature: the operator's schema.
        node: the node; names of its values do not matter.
        inputs: the input types, None where not known or absent.
        known: arrays that inputs are known to hold.
        opset_version: the version of the domain the function uses.

    Raises:
        INFERENCE_ERRORS: the inputs cannot go together.
    """
    quick = _elementwise(signature, node, inputs)
    if quick is not None:
        return [quick]
    proto = onnx.NodeProto()
    proto.op_type = node.op_type
    proto.domain = node.domain
    types: dict[str, onnx.TypeProto] = {}
    data: dict[str, onnx.TensorProto] = {}
    for n, value in enumerate(node.inputs):
        if value is None:
            proto.input.append("")
            continue
        name = f"i{n}"
        proto.input.append(name)
        types[name] = type_proto(inputs[n])
        array = known[n]
        if array is not None and array.size <= _DATA_LIMIT and array.dtype != object:
            data[name] = ir.to_proto(tensor(array, name))
    proto.output.extend(f"o{n}" for n in range(len(node.outputs)))
    for attr in node.attributes.values():
        if not attr.is_ref():
            proto.attribute.append(ir.to_proto(attr))
    found = shape_inference.infer_node_outputs(
        signature.schema,
        proto,
        types,
        data or None,
        opset_imports=[onnx.helper.make_opsetid(node.domain, opset_version)],
    )
    result: list[OnnxType | None] = []
    for n in range(len(node.outputs)):
        kind = found.get(f"o{n}")
        made = from_type_proto(kind) if kind is not None else None
        result.append(made if made is not None else _by_variable(signature, n, inputs))
    if node.op_type == "GatherND" and node.domain == "":
        result[0] = _gather_nd(node, inputs, result[0])
    return result


# Operators whose one output has the type of the first input, broadcast over all inputs.
_SAME_TYPE = frozenset(
    ("Add", "Sub", "Mul", "Div", "Pow", "Min", "Max", "Mod", "And", "Or", "Xor", "BitwiseAnd",
     "BitwiseOr", "BitwiseXor", "BitShift", "PRelu", "Abs", "Neg", "Ceil", "Floor", "Round",
     "Sqrt", "Exp", "Log", "Sin", "Cos", "Tan", "Tanh", "Sigmoid", "Relu", "LeakyRelu", "Elu",
     "Selu", "Erf", "Identity", "Not", "BitwiseNot", "Reciprocal", "Sign", "Softplus",
     "Softsign", "HardSigmoid", "Gelu", "Clip")
)  # fmt: skip
_COMPARE = frozenset(["Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"])
_FIRST_ONLY = frozenset(("Clip",))


def _elementwise(
    signature: OpSignature, node: ir.Node, inputs: Sequence[OnnxType | None]
) -> TensorType | None:
    """The output of an elementwise operator on tensors of known type, without asking ONNX.

    None where the operator is another, or where ONNX has to say what is wrong.
    """
    name = signature.name
    compare = name in _COMPARE
    if signature.domain != "" or not (compare or name in _SAME_TYPE or name == "Cast"):
        return None
    if len(node.outputs) != 1 or not inputs:
        return None
    shapes: list[Shape] = []
    first = inputs[0]
    allowed = signature.inputs[0].types
    for kind in inputs[:1] if name in _FIRST_ONLY else inputs:
        if not isinstance(kind, TensorType) or kind.dtype is None or kind.shape is None:
            return None
        if kind.dtype.onnx_name not in allowed:
            return None
        shapes.append(kind.shape)
    assert isinstance(first, TensorType)
    shape = shapes[0] if len(shapes) == 1 else broadcast(*shapes)
    if shape is None:
        return None
    if name == "Cast":
        to = node.attributes.get("to")
        return None if to is None or to.is_ref() else TensorType(DType(to.as_int()), shape)
    return TensorType(DType.BOOL if compare else first.dtype, shape)


def _gather_nd(
    node: ir.Node, inputs: Sequence[OnnxType | None], found: OnnxType | None
) -> OnnxType | None:
    """The shape that ONNX's inference leaves out where one row of indices uses up every axis.

    Source: ONNX GatherND, version 13: indices.shape[:-1] + data.shape[batch_dims + r:].
    """
    data, indices = inputs[0], inputs[1]
    if not isinstance(data, TensorType) or not isinstance(indices, TensorType):
        return found
    if data.shape is None or not indices.shape or not isinstance(indices.shape[-1], int):
        return found
    batch = node.attributes["batch_dims"].as_int() if "batch_dims" in node.attributes else 0
    return TensorType(data.dtype, (*indices.shape[:-1], *data.shape[batch + indices.shape[-1] :]))


def by_variable(
    signature: OpSignature, count: int, inputs: Sequence[OnnxType | None]
) -> list[OnnxType | None]:
    """What the type variables of a schema alone say of the outputs."""
    return [_by_variable(signature, n, inputs) for n in range(count)]


def _by_variable(
    signature: OpSignature, n: int, inputs: Sequence[OnnxType | None]
) -> OnnxType | None:
    """The element type alone: of the one type allowed, or of an input of the same variable."""
    if not signature.outputs:
        return None
    param = signature.outputs[min(n, len(signature.outputs) - 1)]
    if len(param.types) == 1:
        (only,) = param.types
        if only.startswith("tensor("):
            return TensorType(DType.from_onnx_name(only))
    for formal, kind in zip(signature.inputs, inputs, strict=False):
        if formal.type_str == param.type_str and isinstance(kind, TensorType):
            return TensorType(kind.dtype)
    return None


def schema_kinds(signature: OpSignature | None) -> Mapping[str, Any]:
    """Attribute name to kind, from the schema; empty for an operator without one."""
    if signature is None:
        return {}
    return {name: param.kind for name, param in signature.attributes.items()}

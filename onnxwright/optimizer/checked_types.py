"""Whether a node that a fusion writes has the types that its operator takes."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir

from onnxwright.ir.infer import INFERENCE_ERRORS, infer
from onnxwright.opset.registry import OpSignature, signature
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import TensorType


def is_typed(node: ir.Node, output: ir.DataType | None, opset_version: int) -> bool:
    """Whether a node of the standard domain is valid for its inputs, with this output type.

    Both the type variables of the schema and ONNX's inference have to agree: for some operators
    (RMSNormalization) the schema allows types that its function body does not.

    Args:
        node: the node; its place does not matter.
        output: the element type that its first output has to have.
        opset_version: the version of the standard opset.

    Returns:
        False, too, where an element type is not known.

    Source:
        The operator's schema; onnx.shape_inference.
    """
    formal = signature("", node.op_type, opset_version)
    if formal is None or output is None:
        return False
    variables = _variables(formal, node.inputs)
    if variables is None or variables.get(formal.outputs[0].type_str, output) != output:
        return False
    types = [None if v is None else TensorType(DType(int(v.dtype or 0))) for v in node.inputs]
    try:
        found = infer(formal, node, types, [None] * len(types), opset_version)
    except INFERENCE_ERRORS:
        return False
    kind = found[0]
    return isinstance(kind, TensorType) and kind.dtype is not None and int(kind.dtype) == output


def _variables(
    formal: OpSignature, inputs: Sequence[ir.Value | None]
) -> dict[str, ir.DataType] | None:
    """The element type of each type variable; None if inputs contradict the schema."""
    found: dict[str, ir.DataType] = {}
    for n, value in enumerate(inputs):
        param = formal.inputs[min(n, len(formal.inputs) - 1)]
        if value is None:
            continue
        if value.dtype is None or DType(int(value.dtype)).onnx_name not in param.types:
            return None
        if param.homogeneous and found.setdefault(param.type_str, value.dtype) != value.dtype:
            return None
    return found

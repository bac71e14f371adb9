"""Masks of attention, whose sums with scores are beyond the range of half precision."""

from __future__ import annotations

from collections.abc import Container, Iterable

import onnx_ir as ir

from onnxwright.ir.nested import all_nodes
from onnxwright.quantize.half_types import is_float

_SUMS = frozenset({"Add", "Sub"})
# What a mask passes on its way to scores, and a sum on its way to Softmax.
_PASSED = _SUMS | {
    "Mul", "Div", "Neg", "Where", "Min", "Max", "Identity", "Reshape", "Transpose", "Unsqueeze",
    "Squeeze", "Expand", "Slice", "Concat", "Gather", "GatherND", "Tile",
}  # fmt: skip
_SOFTMAX = ("Softmax", "LogSoftmax")
_MASK = 3  # the place of the mask among the inputs of Attention


def masked_nodes(
    model: ir.Model, wide: Container[ir.Value], inputs: Iterable[ir.Value]
) -> set[ir.Node]:
    """The nodes from a mask that may be beyond the range to the Softmax of its scores.

    FLOAT16's lowest number plus a negative score is -inf, and Softmax of a row of -inf is NaN;
    in FLOAT the sum stays finite.

    Args:
        inputs: the inputs of the model that may hold any number of FLOAT.

    Returns:
        The nodes that have to compute in FLOAT: sums, what is between them and Softmax, Softmax,
        and Attention that adds such a mask.
    """
    beyond = {value for value in inputs if is_float(value)}
    sums: set[ir.Value] = set()  # values beyond the range that a sum is part of
    nodes = [node for node in all_nodes(model.graph) if not node.domain]
    for node in nodes:
        read = [v for v in node.inputs if v is not None and (v in beyond or v in wide)]
        if read and node.op_type in _PASSED:
            beyond.update(filter(is_float, node.outputs))
            if node.op_type in _SUMS or any(v in sums for v in read):
                sums.update(node.outputs)
    kept: set[ir.Node] = set()
    needed: set[ir.Value] = set()
    for node in reversed(nodes):
        if node.op_type in _SOFTMAX and node.inputs[0] in sums:
            reads = node.inputs
        elif node.op_type == "Attention" and len(node.inputs) > _MASK:
            mask = node.inputs[_MASK]
            if mask is None or not (mask in beyond or mask in wide):
                continue
            reads = (mask,)
        elif needed.intersection(node.outputs):
            reads = node.inputs
        else:
            continue
        kept.add(node)
        needed.update(v for v in reads if v is not None and v in beyond)
    return kept

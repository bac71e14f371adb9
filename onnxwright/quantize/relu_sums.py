"""Sums between a product of a dequantized weight and Relu, written so that the product is fused.

ONNX Runtime makes one operator of MatMul of matrices, Add and Relu before it looks for
DequantizeLinear, and then dequantizes the whole weight in every run.  It leaves Sum as it is.
"""

from __future__ import annotations

import onnx_ir as ir

from onnxwright.quantize.models import root_graphs

_BROADCASTS_SINCE = 8


def write_sums(model: ir.Model) -> None:
    """Let Sum take the place of Add between a product of a dequantized weight and Relu.

    Args:
        model: the model, its functions and bodies included; it is changed.

    Source:
        ONNX Sum 8; the order of optimizations in ONNX Runtime 1.32.

    Example:
        >>> import onnx
        >>> made = ir.from_proto(
        ...     onnx.parser.parse_model(
        ...         '<ir_version: 10, opset_import: ["" : 21]>'
        ...         "g (float[a,2] x, int8[2,2] q, float s, float[2] b) => (float[a,2] y)"
        ...         "{ w = DequantizeLinear(q, s) p = MatMul(x, w) t = Add(p, b) y = Relu(t) }"
        ...     )
        ... )
        >>> write_sums(made)
        >>> [node.op_type for node in made.graph]
        ['DequantizeLinear', 'MatMul', 'Sum', 'Relu']
    """
    for root, _ in root_graphs(model):
        if root.opset_imports.get("", 1) < _BROADCASTS_SINCE:
            continue
        for node in root.all_nodes():
            added = _maker(node.inputs[0], "Add") if node.op_type == "Relu" else None
            if added is not None and any(_is_product(value) for value in added.inputs):
                added.op_type = "Sum"


def _maker(value: ir.Value | None, kind: str) -> ir.Node | None:
    """The node of a standard operator that computes a value."""
    node = None if value is None else value.producer()
    return node if node is not None and not node.domain and node.op_type == kind else None


def _is_product(value: ir.Value | None) -> bool:
    """Whether a value is a product of matrices, of which the second is dequantized."""
    node = _maker(value, "MatMul")
    if node is None or _maker(node.inputs[1], "DequantizeLinear") is None:
        return False
    shape = None if node.inputs[0] is None else node.inputs[0].shape
    return shape is None or len(shape) == 2


__all__ = ["write_sums"]

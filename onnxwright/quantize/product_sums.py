"""Sums after products of dequantized weights, written so that ONNX Runtime fuses the products.

It makes Gemm of MatMul of matrices and Add before it looks for DequantizeLinear.  Where Relu
follows, or the other matrix is dequantized too, the weight is then dequantized in every run.  It
leaves Sum as it is.
"""

from __future__ import annotations

import onnx_ir as ir

from onnxwright.quantize.models import root_graphs

_BROADCASTS_SINCE = 8


def write_sums(model: ir.Model) -> None:
    """Let Sum take the place of Add after a product of a dequantized weight.

    This is done before Relu, and where both matrices are dequantized.

    Args:
        model: the model, its functions and bodies included; it is changed.

    Source:

    Example:
        >>> import onnx
        >>> model = ir.from_proto(
        ...     onnx.parser.parse_model(
        ...         '<ir_version: 10, opset_import: ["" : 21]>'
        ...         "g (float[a,2] x, int8[2,2] q, float s, float[2] b) => (float[a,2] y)"
        ...         "{ w = DequantizeLinear(q, s) p = MatMul(x, w) t = Add(p, b) y = Relu(t) }"
        ...     )
        ... )
        >>> write_sums(model)
        >>> [node.op_type for node in model.graph]
        ['DequantizeLinear', 'MatMul', 'Sum', 'Relu']
    """
    for root, _ in root_graphs(model):
        if root.opset_imports.get("", 1) < _BROADCASTS_SINCE:
            continue
        for node in root.all_nodes():
            if node.op_type == "Add" and not node.domain:
                products = [product for value in node.inputs if (product := _product(value))]
                if any(_maker(p.inputs[0], "DequantizeLinear") for p in products) or (
                    products and _feeds_relu(node.outputs[0])
                ):
                    node.op_type = "Sum"


def _maker(value: ir.Value | None, kind: str) -> ir.Node | None:
    """The node of a standard operator that computes a value."""
    node = None if value is None else value.producer()
    return node if node is not None and not node.domain and node.op_type == kind else None


def _product(value: ir.Value | None) -> ir.Node | None:
    """The product of matrices that a value is, if the second one is dequantized."""
    node = _maker(value, "MatMul")
    if node is None or _maker(node.inputs[1], "DequantizeLinear") is None:
        return None
    shape = None if node.inputs[0] is None else node.inputs[0].shape
    return node if shape is None or len(shape) == 2 else None


def _feeds_relu(value: ir.Value) -> bool:
    return any(use.node.op_type == "Relu" and not use.node.domain for use in value.uses())

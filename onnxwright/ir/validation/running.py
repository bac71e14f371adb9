"""What must hold of a model whose nodes are visited one by one, to run or to change them."""

from __future__ import annotations

import onnx

from onnxwright.ir.validation.nodes import check_nodes
from onnxwright.ir.validation.order import in_order


def runnable(model: onnx.ModelProto) -> onnx.ModelProto:
    """Reject a model that cannot be traversed, and sort its nodes.

    Args:
        model: the model, checked by `check_model`.

    Returns:
        The model itself where its nodes are sorted, else a sorted copy.

    Raises:
        Damage: a node does not keep what the schema of its operator promises (`check_nodes`).
    """
    check_nodes(model)
    return in_order(model)


__all__ = ["runnable"]

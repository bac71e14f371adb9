"""Split nodes whose number of outputs is not the one they state: ONNX Runtime ends the process."""

from __future__ import annotations

import onnx

from onnxwright.ir.validation.damage import Damage, quoted
from onnxwright.ir.validation.functions import nodes_of


def check_splits(model: onnx.ModelProto) -> None:
    """Refuse a Split with `num_outputs` for another number of outputs.

    Args:
        model: the model, checked by `check_model`.

    Raises:
        Damage: there is such a node.

    Source:
        ONNX Split-18: `num_outputs` is the number of outputs.
    """
    for body in (model.graph, *model.functions):
        for node in nodes_of(body.node):
            if node.op_type != "Split" or node.domain not in ("", "ai.onnx"):
                continue
            for attr in node.attribute:
                stated = attr.name == "num_outputs" and not attr.ref_attr_name
                if stated and attr.i != len(node.output):
                    where = f"node {quoted(node.name)} (Split), attribute 'num_outputs'"
                    what = f"it is {attr.i}, the node has {len(node.output)} outputs"
                    raise Damage("structure", where, what)


__all__ = ["check_splits"]

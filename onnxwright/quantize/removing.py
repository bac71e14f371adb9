"""What nothing reads any more: constants, and what was computed from them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import onnx_ir as ir

from onnxwright.ir.nested import all_graphs
from onnxwright.quantize.models import root_graphs


def remove_unread(values: Iterable[ir.Value]) -> None:
    """Remove constants that nothing reads, after Transpose, Cast and Identity of them.

    Args:
        values: initializers and outputs of Constant nodes.
    """
    for value in dict.fromkeys(values):
        _remove_readers(value)
        if value.uses() or value.is_graph_output():
            continue
        node = value.producer()
        if node is not None:
            if node.graph is not None:
                node.graph.remove(node, safe=True)
        elif value.is_initializer() and not value.is_graph_input() and value.graph is not None:
            del value.graph.initializers[str(value.name)]


def _remove_readers(value: ir.Value) -> None:
    for use in list(value.uses()):
        node = use.node
        if node.domain or node.op_type not in ("Transpose", "Cast", "Identity"):
            continue
        result = node.outputs[0]
        _remove_readers(result)
        if not result.uses() and not result.is_graph_output() and node.graph is not None:
            node.graph.remove(node, safe=True)


def stored_bytes(model: ir.Model) -> int:
    """The bytes of all initializers and Constant nodes of a model, each tensor once."""
    seen: dict[int, int] = {}
    for root, _ in root_graphs(model):
        for graph in all_graphs(root):
            for value in graph.initializers.values():
                if value.const_value is not None:
                    seen[id(value.const_value)] = int(value.const_value.nbytes)
            for node in graph:
                if node.op_type == "Constant" and not node.domain:
                    for held in node.attributes.values():
                        seen |= _bytes_of(held)
    return sum(seen.values())


def _bytes_of(held: ir.Attr) -> dict[int, int]:
    """The bytes of an attribute of Constant, by the identity of what it holds."""
    if held.is_ref():
        return {}
    if held.type is ir.AttributeType.TENSOR:
        tensor = held.as_tensor()
        return {id(tensor): int(tensor.nbytes)}
    width = _WIDTHS.get(held.type)
    if width is None:
        return {}
    count = len(held.value) if isinstance(held.value, Sequence) else 1
    return {id(held): width * count}


_WIDTHS = {
    ir.AttributeType.FLOAT: 4,
    ir.AttributeType.FLOATS: 4,
    ir.AttributeType.INT: 8,
    ir.AttributeType.INTS: 8,
}

"""The part of a graph around a call, as a few lines of text for messages and for looking."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import onnx_ir as ir

from onnxwright.ir.nested import subgraphs
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.tracing.graph_backend import GraphBackend

_MOST_INPUTS = 8


def around(b: GraphBackend, values: Iterable[GraphValue] = (), count: int = 6) -> list[str]:
    """The last nodes, and those that make `values`, one line each in the order of the graph.

    Args:
        b: the backend.
        values: what the call reads.
        count: how many of the last nodes to show.

    Returns:
        The lines; empty for an empty graph.
    """
    nodes = b.recorder.scope.nodes
    shown: dict[ir.Node, None] = {}
    for value in values:
        node = value.value.producer()
        if node is not None:
            shown[node] = None
    last = nodes[-count:]
    before = [n for n in shown if n not in last]
    lines = [show_node(b, n) for n in (*before, *last)]
    if len(nodes) > len(last):
        lines.insert(len(before), f"... {len(nodes) - count} nodes before")
    return lines


def show_node(b: GraphBackend, node: ir.Node) -> str:
    """A node as one line: what it makes, what it reads, what is known of the result.

    Args:
        b: the backend.
        node: the node.

    Returns:
        Text such as `y: FLOAT[N] = Add(x, 1.0)`.
    """
    outputs = ", ".join(f"{v.name}: {b.recorder.type_of(v) or '?'}" for v in node.outputs)
    reads = [_show_input(b, v) for v in node.inputs]
    if len(reads) > _MOST_INPUTS:
        reads[_MOST_INPUTS:] = ["..."]
    attributes = [
        f"{a.name}={a.value!r}"
        for a in node.attributes.values()
        if not a.is_ref() and isinstance(a.value, (int, float, str, list, tuple))
    ]
    graphs = [f"{g.name}: {len(g)} nodes" for g in subgraphs(node)]
    domain = f"{node.domain}." if node.domain else ""
    return f"{outputs} = {domain}{node.op_type}({', '.join((*reads, *attributes, *graphs))})"


def _show_input(b: GraphBackend, value: ir.Value | None) -> str:
    if value is None:
        return "None"
    array = b.recorder.const_value(value)
    if array is not None and array.size <= 4 and (value.name is None or value in b.pool):
        # An empty array may have a trillion empty rows.
        return str(array.tolist()) if array.size or array.ndim == 1 else f"zeros{array.shape}"
    return value.name or "a constant"


def note(lines: Sequence[str]) -> tuple[str, ...]:
    """The lines as a note of a message."""
    return (
        ("the graph so far ends with\n" + "\n".join(f"  {line}" for line in lines),)
        if lines
        else ()
    )

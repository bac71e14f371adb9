"""Graphs for attributes: built from functions of values, and what is known of their results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import onnx_ir as ir

from onnxwright.ir import adapters
from onnxwright.ir.adapters import from_type_proto
from onnxwright.opset.op import Op
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.tracing.graph_backend import GraphBackend
from onnxwright.types.kinds import OnnxType


def body_graph(
    b: GraphBackend,
    name: str,
    kinds: Sequence[tuple[str, OnnxType | None]],
    run: Callable[..., Any],
) -> tuple[ir.Graph, list[GraphValue]]:
    """A graph for an attribute.

    Args:
        run: gives the values of its outputs for those of its inputs.

    Returns:
        The graph, and what `run` gave.
    """
    recorder = b.recorder
    depth = len(recorder.scopes)
    recorder.push()
    try:
        results = run(*(b.input(n, kind) for n, kind in kinds))
        graph = recorder.pop([r.value for r in results], name)
    except BaseException:
        while len(recorder.scopes) > depth:
            recorder.drop()
        raise
    return graph, list(results)


def unchanged(
    b: GraphBackend,
    op: Op,
    results: tuple[GraphValue, ...],
    inputs: Sequence[GraphValue | None],
    bodies: Mapping[str, object],
) -> tuple[GraphValue, ...]:
    """Results of a Loop whose body is a graph: what keeps its type while looping has it."""
    body = bodies.get("body")
    if op.name != "Loop" or not isinstance(body, ir.Graph):
        return results
    kinds = list(results)
    carried = zip(inputs[2:], body.inputs[2:], body.outputs[1:], strict=False)
    for n, (first, before, after) in enumerate(carried):
        kind = None if first is None else first.kind
        same = all(from_type_proto(ir.to_proto(v).type) == kind for v in (before, after))
        if n < len(kinds) and same and adapters.complete(kind):
            b.recorder.set_type(kinds[n].value, kind)
            adapters.set_type(kinds[n].value, kind)
            kinds[n] = b.wrap(kinds[n].value, kind)
    return tuple(kinds)

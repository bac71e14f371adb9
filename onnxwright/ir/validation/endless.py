"""Loops that never end: a runtime that is in one cannot be interrupted, not even by Ctrl-C."""

from __future__ import annotations

from collections.abc import Mapping

import onnx
from onnx import numpy_helper

from onnxwright.ir.validation.damage import Damage, quoted


def check_endless(model: onnx.ModelProto) -> None:
    """Refuse a Loop of the main graph that has no trip count and whose condition is always true.

    Loops inside of branches, loops and functions may never be reached, and are left alone.

    Args:
        model: the model, checked by `check_model` and `check_nodes`.

    Raises:
        Damage: there is such a Loop.

    Source:
        ONNX Loop: without a trip count it runs for as long as the condition is true.
    """
    for node in model.graph.node:
        if node.op_type != "Loop" or node.domain not in ("", "ai.onnx"):
            continue
        inputs = [*node.input, "", ""]
        if inputs[0] or not (not inputs[1] or _is_true(model.graph, inputs[1])):
            continue
        body = next((a.g for a in node.attribute if a.name == "body" and a.HasField("g")), None)
        if body is not None and _goes_on(body):
            name = quoted(node.name) if node.name else quoted(node.op_type)
            where = f"graph {quoted(model.graph.name)}, node {name}"
            what = "it never ends: it has no trip count, and its condition is always true"
            advice = "give the Loop a trip count, or compute its condition in its body"
            raise Damage("structure", where, what, advice)


def _goes_on(body: onnx.GraphProto) -> bool:
    """Whether the condition that a body computes is true whenever it was true before."""
    name = body.output[0].name
    sources = _identities(body)
    while name in sources:
        name = sources[name]
    return name == body.input[1].name or _is_true(body, name)


def _identities(graph: onnx.GraphProto) -> Mapping[str, str]:
    """The output of each Identity, and its input."""
    return {
        node.output[0]: node.input[0]
        for node in graph.node
        if node.op_type == "Identity" and node.domain in ("", "ai.onnx")
    }


def _is_true(graph: onnx.GraphProto, name: str) -> bool:
    """Whether a value is a constant of the graph that holds one true element."""
    if any(value.name == name for value in graph.input):
        return False  # an initializer that is an input, too, may be replaced
    for tensor in graph.initializer:
        if tensor.name == name:
            return _holds_true(tensor)
    for node in graph.node:
        if name in node.output:
            held = [a.t for a in node.attribute if a.name == "value" and a.HasField("t")]
            return node.op_type == "Constant" and any(map(_holds_true, held))
    return False


def _holds_true(tensor: onnx.TensorProto) -> bool:
    if tensor.data_type != onnx.TensorProto.BOOL or tensor.external_data:
        return False
    array = numpy_helper.to_array(tensor)
    return array.size == 1 and bool(array.all())

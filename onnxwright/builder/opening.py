"""A model from outside as a graph under construction: its nodes as they are, its names known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import onnx_ir as ir

from onnxwright.builder.names import Names
from onnxwright.builder.replay_model import copy_value, filled
from onnxwright.ir.nested import subgraphs
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.tracing.backend import TracingBackend
from onnxwright.tracing.carrying import Carrier
from onnxwright.tracing.replay import Env, Replay


def fill(b: TracingBackend, names: Names, model: ir.Model) -> list[GraphValue]:
    """Put all that a model holds into an empty graph; nothing is simplified or dropped.

    Args:
        b: the backend of the graph.
        names: the names of its values.
        model: the model; it is not changed, and its tensors are shared with the graph.

    Returns:
        The outputs.
    """
    source = model.graph
    replay = Replay(
        b, {"": b.opset.version, **source.opset_imports}, calls=model.functions,
        carrier=Carrier(), tolerant=True, verbatim=True, keep_dead=True,
    )  # fmt: skip
    env: Env = {}
    b.recorder.holds_given_nodes = True  # what is wrong with them is a fault of the model
    outputs = filled(b, replay, source, env)
    for value, copied in env.items():
        if copied is None:
            continue
        if copied.value in b.pool:
            b.pool.kept.add(copied.value)
        if value.graph is source or value.producer() in source:
            names.by_name[str(copied.value.name)] = copied
    for value in source.inputs:
        graph_input = env[value]
        assert graph_input is not None
        copy_value(value, graph_input.value)
    _write_types(source, b.recorder.scope.nodes)
    return outputs


def _write_types(nodes: Iterable[ir.Node], copies: Iterable[ir.Node]) -> None:
    # A body whose result is not of its own making has Identities at the end.
    for node, copy in zip(nodes, copies):
        _as_written(node.outputs, copy.outputs)
        for graph, body in zip(subgraphs(node), subgraphs(copy), strict=True):
            _as_written(graph.inputs, body.inputs)
            _write_types(graph, body)
            body.doc_string, body.name = graph.doc_string, graph.name


def _as_written(values: Sequence[ir.Value], copies: Sequence[ir.Value]) -> None:
    """Write on values the types that the model says, and nothing that is known beside that."""
    for value, copy in zip(values, copies, strict=True):
        copy.type, copy.shape = value.type, None
        copy_value(value, copy)

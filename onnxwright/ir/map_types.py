"""Types that hold maps, on values of `onnx_ir`, which has no form for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import onnx
import onnx_ir as ir

from onnxwright.ir import adapters
from onnxwright.ir.nested import all_nodes, subgraphs


def give_types(model: ir.Model, types: Mapping[str, onnx.TypeProto]) -> None:
    """Give values of a model the types that were taken out.

    Args:
        model: the model; it is changed.
    """
    for value in values_of_model(model) if types else ():
        proto = types.get(value.name or "")
        if proto is not None and value.type is None:
            adapters.set_type(value, adapters.from_type_proto(proto))


def values_of_model(model: ir.Model) -> Iterator[Any]:
    """The inputs, outputs and results of nodes of a graph and its bodies; some more than once."""
    yield from model.graph.inputs
    yield from model.graph.outputs
    for node in all_nodes(model.graph):
        yield from node.outputs
        for graph in subgraphs(node):
            yield from graph.inputs
            yield from graph.outputs

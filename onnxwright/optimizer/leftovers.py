"""Cleanup of an optimized model: unused domains, types and quantization scales."""

from __future__ import annotations

from dataclasses import dataclass

import onnx_ir as ir

from onnxwright.ir.nested import all_nodes
from onnxwright.ir.serialize import QUANTIZATION
from onnxwright.ir.stored import notes_of


def drop_domains(model: ir.Model, source: ir.Model) -> None:
    """Leave out the domains of functions that are gone."""
    gone = {f.domain for f in source.functions.values()} - {
        f.domain for f in model.functions.values()
    }
    if not gone:
        return
    holders: list[ir.Graph | ir.Function] = [model.graph, *model.functions.values()]
    for holder in holders:
        used = {node.domain for node in all_nodes(holder)}
        for domain in gone - used:
            holder.opset_imports.pop(domain, None)


@dataclass(frozen=True)
class Leftovers:
    """What is asked of a source model when it has been optimized.

    Fields:
        typed: the names of intermediate values whose types the source says.
        initializers: its initializers.
    """

    typed: frozenset[str | None]
    initializers: dict[str, ir.Value]

    @classmethod
    def of(cls, source: ir.Model) -> Leftovers:
        """That of a source model."""
        nodes = all_nodes(source.graph)
        typed = frozenset([v.name for n in nodes for v in n.outputs if v.type is not None])
        return cls(typed, dict(source.graph.initializers))

    def drop_new_types(self, model: ir.Model) -> None:
        """Leave out types of intermediate values that the source does not say: they cost bytes."""
        for node in all_nodes(model.graph):
            for value in node.outputs:
                if value.name not in self.typed and not value.is_graph_output():
                    value.type = value.shape = None

    def keep_quantization(self, model: ir.Model) -> None:
        """Keep the scales and zero points that annotations name, though no node reads them."""
        graph = model.graph
        values = (
            *graph.inputs, *graph.initializers.values(), *(v for n in graph for v in n.outputs)
        )  # fmt: skip
        wanted = {name for v in values for name in (notes_of(v).get(QUANTIZATION) or {}).values()}
        for name in wanted - set(graph.initializers) - {v.name for v in values}:
            value = self.initializers.get(name)
            if value is not None:
                kept = ir.Value(name=name, type=value.type, shape=value.shape,
                                const_value=value.const_value)  # fmt: skip
                graph.register_initializer(kept)


__all__ = ["Leftovers", "drop_domains"]

"""A few nodes built beside a graph and then put in the place of one of its nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onnx_ir as ir

from onnxwright.ir.adapters import tensor as as_tensor
from onnxwright.ir.builder import Recorder, detach
from onnxwright.ir.names import Namer
from onnxwright.ir.nested import all_nodes, subgraphs
from onnxwright.opset import registry
from onnxwright.opset.opsets import Opset
from onnxwright.semantics.graph_value import GraphValue
from onnxwright.tracing.backend import TracingBackend
from onnxwright.tracing.graph_backend import ConvertCall
from onnxwright.types.dtypes import DType
from onnxwright.versions.value_types import ValueTypes


class Snippet:
    """A place to build the nodes that replace one node.

    Args:
        names: the names that are taken; new ones are added.
        types: what is known of the values around.
        version: the opset version of what is built.
        convert_call: converts calls that are built in another version, as `one_call` does.

    Attributes:
        backend: builds the nodes.
    """

    def __init__(
        self, names: Namer, types: ValueTypes, version: int, convert_call: ConvertCall
    ) -> None:
        recorder = Recorder()
        recorder.names = names
        self._types = types
        self.backend = TracingBackend(recorder, Opset("", version), convert_call)

    def outer(self, value: ir.Value | None) -> GraphValue | None:
        """A value of the graph around, to be used in what is built."""
        if value is None:
            return None
        recorder, types = self.backend.recorder, self._types
        kind = types.kind(value)
        recorder.set_type(value, kind)
        info = recorder.info(value)
        recorder.scopes[0].values[value] = None
        if value in types.constants:
            info.const_value = types.constants[value]
        if value in types.dims:
            info.shape_value = types.dims[value]
        return self.backend.wrap(value, kind)

    def replace(self, node: ir.Node, results: Sequence[GraphValue | None]) -> list[ir.Node]:
        """Put what was built in the place of a node, whose outputs `results` replace.

        Args:
            node: the node; it is removed from its graph.
            results: a value for each output, None for one that nothing reads.

        Returns:
            The new nodes in order, without those in subgraphs.
        """
        recorder = self.backend.recorder
        own = set(recorder.scope.values) & {v for n in recorder.scope.nodes for v in n.outputs}
        finals: list[ir.Value | None] = []
        for result in results:
            value = None if result is None else result.value
            if value is not None and (value not in own or value in finals):
                (value,) = recorder.copy(value)
            finals.append(value)
        kept = [v for v in finals if v is not None]
        recorder.remove_dead(recorder.scope.nodes, kept)
        nodes_of_snippet = [*self._constants(), *recorder.scope.nodes]
        _describe(nodes_of_snippet, node, recorder.names)
        for value, kind in recorder.types.items():
            self._types.set(value, kind)
        for value, info in recorder.infos.items():
            if info.const_value is not None:
                self._types.constants[value] = info.const_value
            if info.shape_value is not None:
                self._types.dims[value] = info.shape_value
        old = [v for v, f in zip(node.outputs, finals) if f is not None]
        for value, final in zip(old, kept):
            self._types.types[final] = self._types.types.get(value) or recorder.type_of(final)
            final.doc_string = value.doc_string
            final.metadata_props.update(value.metadata_props)
        graph = node.graph
        assert graph is not None
        for name in (v.name for v in old if v.name):
            recorder.names.release(name)
            recorder.names.unique(name)
        reused = {g for n in all_nodes(nodes_of_snippet) for g in subgraphs(n)}
        ir.convenience.replace_nodes_and_values(graph, node, [], nodes_of_snippet, old, kept)
        if any(g not in reused for g in subgraphs(node)):
            detach(node)
        read = [v for v in node.inputs if v is not None]
        graph.remove([node], safe=True)
        _remove_unread_constants(read)
        return nodes_of_snippet

    def _constants(self) -> list[ir.Node]:
        """Constants that are read as Constant nodes: right in graphs, bodies and functions."""
        backend, nodes = self.backend, []
        for value in [v for v in backend.pool if v.uses()]:
            backend.pool.name(value)
            attr = ir.Attr("value", ir.AttributeType.TENSOR, backend.pool.as_tensor(value))
            node = ir.Node("", "Constant", [], [attr], num_outputs=1)
            constant = node.outputs[0]
            constant.name, constant.type, constant.shape = value.name, value.type, value.shape
            array = backend.recorder.const_value(value)
            backend.recorder.set_type(constant, backend.recorder.type_of(value))
            if array is not None and array.dtype.kind == "i" and array.ndim <= 1:
                backend.recorder.info(constant).const_value = array
            for user, n in list(value.uses()):
                user.replace_input_with(n, constant)
            nodes.append(node)
        return nodes


def initializers_for_constants(graph: ir.Graph, version: int) -> None:
    """Make initializers of Constant nodes whose element types a version does not have.

    Args:
        graph: the graph; its bodies are changed as well.
    """
    signature = registry.signature("", "Constant", version)
    assert signature is not None
    allowed = signature.outputs[0].types
    for one in (graph, *graph.subgraphs()):
        for node in [n for n in one if n.op_type == "Constant" and not n.domain]:
            attr, old = node.attributes.get("value"), node.outputs[0]
            if attr is None or attr.is_ref() or old.is_graph_output():
                continue
            tensor = attr.as_tensor()
            if DType(int(tensor.dtype)).onnx_name in allowed:
                continue
            new = ir.Value(
                name=old.name, doc_string=old.doc_string, type=ir.TensorType(tensor.dtype),
                shape=ir.Shape(tensor.shape.numpy()),
                const_value=as_tensor(tensor.numpy(), old.name or ""),
            )  # fmt: skip
            new.metadata_props.update(old.metadata_props)
            old.replace_all_uses_with(new)
            one.remove([node], safe=True)
            one.register_initializer(new)


def _remove_unread_constants(values: Sequence[ir.Value]) -> None:
    """Remove Constant nodes that only the node that went had read."""
    for value in values:
        node = value.producer()
        if node is None or node.op_type != "Constant" or node.domain not in ("", "ai.onnx"):
            continue
        if node.graph is not None and not value.uses() and not value.is_graph_output():
            node.graph.remove([node], safe=True)


def _describe(nodes: Sequence[ir.Node], node: ir.Node, names: Namer) -> None:
    """New nodes have the name, origin and other metadata of the node they replace."""
    plain = [n for n in nodes if n.op_type != "Constant"]
    root = plain[-1] if plain else nodes[-1] if nodes else None
    for new in all_nodes(nodes):
        new.metadata_props.update(node.metadata_props)
        if new is root:
            new.doc_string = node.doc_string
        if not node.name:
            new.name = ""  # onnx_ir gives a name to nodes that have None
        else:
            new.name = node.name if new is root else names.unique(f"{node.name}/{new.op_type}")


def reserved_names(model: ir.Model) -> Namer:
    """A namer that knows every name of a model."""
    names = Namer()
    names.for_good = True
    graphs: list[Any] = [model.graph, *model.functions.values()]
    seen: set[str] = set()

    def take(name: str | None) -> None:
        if name and name not in seen:
            seen.add(name)
            names.unique(name)

    for graph in graphs:
        for value in graph.inputs:
            take(value.name)
        for name in getattr(graph, "initializers", {}):
            take(name)
        for node in all_nodes(graph):
            take(node.name)
            for value in node.outputs:
                take(value.name)
            for inner in subgraphs(node):
                for value in inner.inputs:
                    take(value.name)
                for name in inner.initializers:
                    take(name)
    return names

"""Types changed in place, with Casts where half precision meets FLOAT."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx_ir as ir

from onnxwright.ir.names import Namer
from onnxwright.ir.nested import all_graphs, subgraphs
from onnxwright.quantize.half_types import FLOAT, is_float
from onnxwright.quantize.half_values import constant_tensor, constants_of, fault_of, limit_of
from onnxwright.quantize.models import names_of
from onnxwright.quantize.removing import remove_unread

LARGE = 256  # elements from which a constant is not stored in two types


@dataclass
class Plan:
    """What becomes half precision.

    Fields:
        kind: the type.
        half_io: whether inputs and outputs of the model do.
        wide: constants that the type cannot hold, with the reason.
        exact: nodes that read constants as they are.
        inputs, outputs: for each node that has values of FLOAT, the places that change.
    """

    kind: ir.DataType
    half_io: bool = False
    wide: dict[ir.Value, str] = field(default_factory=dict)
    exact: set[ir.Node] = field(default_factory=set)
    inputs: dict[ir.Node, set[int]] = field(default_factory=dict)
    outputs: dict[ir.Node, set[int]] = field(default_factory=dict)


def rewrite(model: ir.Model, plan: Plan) -> None:
    """Change the types of a model, without functions, and insert Casts.

    Args:
        model: the model; it is changed.
        plan: what changes.
    """
    _Rewriter(model, plan).run()


class _Rewriter:
    def __init__(self, model: ir.Model, plan: Plan) -> None:
        self._model, self._plan = model, plan
        self._names: Namer = names_of(model)
        self._half: set[ir.Value] = set()  # values that are half precision afterwards
        self._floats: set[ir.Value] = set()  # all that were FLOAT before
        self._constants = dict(constants_of(model))
        self._stored: dict[tuple[ir.Value, bool], ir.Value] = {}
        self._casts: dict[tuple[int, ir.Value, bool], ir.Value] = {}

    def run(self) -> None:
        graphs = list(all_graphs(self._model.graph))
        nodes = [(graph, node) for graph in graphs for node in graph]
        self._mark(graphs, [node for _, node in nodes])
        originals = list(self._constants)
        bounds = {graph: list(graph.outputs) for graph in graphs}
        for graph, node in nodes:
            for place, value in enumerate(node.inputs):
                if value is not None and value in self._floats:
                    becomes_half = place in self._plan.inputs.get(node, ())
                    new = self._as(value, becomes_half, graph, node)
                    if new is not value:
                        node.replace_input_with(place, new)
        owners = {id(body): node for _, node in nodes for body in subgraphs(node)}
        for graph in graphs:
            self._close(graph, owners.get(id(graph)), bounds[graph])
        for value in self._half:
            value.type = ir.TensorType(self._plan.kind)
            if value.is_graph_input() and value.const_value is not None:
                value.const_value = self._narrow(value.const_value)
        for _, node in nodes:
            self._set_attributes(node)
            self._remove_cast(node)
        remove_unread(v for v in originals if v not in self._stored.values())

    # -- which values are of half precision ---------------------------------------------------

    def _mark(self, graphs: list[ir.Graph], nodes: list[ir.Node]) -> None:
        for graph in graphs:
            inputs = [value for value in graph.inputs if is_float(value)]
            self._floats.update(inputs)
            if graph is self._model.graph and self._plan.half_io:
                self._half.update(value for value in inputs if self._has_half_default(value))
        self._floats.update(self._constants)
        for node in nodes:
            self._floats.update(value for value in node.outputs if is_float(value))
            places = self._plan.outputs.get(node, set())
            self._half.update(node.outputs[place] for place in places)
            changes = bool(places or self._plan.inputs.get(node))
            for body in subgraphs(node):
                if changes:
                    self._half.update(value for value in body.inputs if is_float(value))

    def _has_half_default(self, value: ir.Value) -> bool:
        """Whether half precision holds what an input is where no caller gives it."""
        default = value.const_value
        return default is None or not fault_of(default, self._plan.kind)

    # -- values in the type that a reader wants -----------------------------------------------

    def _as(self, value: ir.Value, half: bool, graph: ir.Graph, reader: ir.Node | None) -> ir.Value:
        """A value in half precision, or in FLOAT, for a reader in a graph."""
        if value in self._constants:
            return self._constant(value, half, graph, reader)
        if (value in self._half) == half:
            return value
        return self._cast(value, half, graph)

    def _constant(
        self, value: ir.Value, half: bool, graph: ir.Graph, reader: ir.Node | None
    ) -> ir.Value:
        """A constant as it is stored: in both types where both are read and it is small."""
        if half:
            if value in self._plan.wide:
                return self._cast(value, half, graph)
            return self._stored_half(value)
        exact = reader is None or reader in self._plan.exact or value in self._plan.wide
        tensor = self._constants[value]
        if exact or tensor is None or tensor.size <= LARGE or not _is_weight(reader):
            return value
        stored = self._stored_half(value)
        return self._cast(stored, False, graph)

    def _narrow(self, tensor: Any) -> Any:
        """A tensor of FLOAT in half precision."""
        with np.errstate(over="ignore"):
            array = tensor.numpy().astype(self._plan.kind.numpy())
        release = getattr(tensor, "release", None)
        if release is not None:
            release()
        return ir.Tensor(array, self._plan.kind)

    def _stored_half(self, value: ir.Value) -> ir.Value:
        key = (value, True)
        if key not in self._stored:
            held = self._narrow(self._constants[value])
            name = self._names.unique(f"{value.name}_half")
            node = value.producer()
            if node is not None:
                constant = ir.node("Constant", [], {"value": held})
                stored = constant.outputs[0]
                stored.name = name
                assert node.graph is not None
                node.graph.insert_after(node, constant)
            else:
                stored = ir.Value(name=name, shape=value.shape, const_value=held)
                assert value.graph is not None
                value.graph.register_initializer(_typed(stored, self._plan.kind))
            self._stored[key] = _typed(stored, self._plan.kind)
            self._half.add(stored)
        return self._stored[key]

    def _cast(self, value: ir.Value, half: bool, graph: ir.Graph) -> ir.Value:
        """A Cast, once for each graph that reads it."""
        key = (id(graph), value, half)
        if key in self._casts:
            return self._casts[key]
        kind = self._plan.kind if half else FLOAT
        nodes, inner = [], value
        if half and self._is_wide(value):
            limit = limit_of(kind)
            bounds = [
                self._small(graph, f"{value.name}_{part}", np.array(number, np.float32))
                for part, number in (("least", -limit), ("most", limit))
            ]
            # Min and Max: Clip of opset 6 has its bounds as attributes.
            for operator, bound in zip(("Max", "Min"), bounds, strict=True):
                node = ir.node(operator, [inner, bound])
                node.outputs[0].name = self._names.unique(f"{value.name}_limited")
                inner = _typed(node.outputs[0], FLOAT, value)
                nodes.append(node)
        node = ir.node("Cast", [inner], {"to": kind})
        ending = "half" if half else "float"
        node.outputs[0].name = self._names.unique(f"{value.name}_{ending}")
        result = _typed(node.outputs[0], kind, value)
        nodes.append(node)
        maker = value.producer()
        if maker is not None and maker.graph is graph:
            graph.insert_after(maker, nodes)
        elif len(graph):
            graph.insert_before(graph[0], nodes)
        else:
            graph.extend(nodes)
        self._casts[key] = result
        return result

    def _is_wide(self, value: ir.Value) -> bool:
        """Whether a value of FLOAT may be beyond the range: a wide constant is behind it."""
        seen, stack = set(), [value]
        while stack:
            now = stack.pop()
            if now in self._plan.wide:
                return True
            node = now.producer()
            if node is not None and node not in seen and node in self._plan.exact:
                seen.add(node)
                stack += [v for v in node.inputs if v is not None]
        return False

    def _small(self, graph: ir.Graph, name: str, array: Any) -> ir.Value:
        value = ir.Value(
            name=self._names.unique(name), type=ir.TensorType(FLOAT), shape=ir.Shape(array.shape),
            const_value=ir.tensor(array),
        )  # fmt: skip
        graph.register_initializer(value)
        return value

    # -- where a graph ends -------------------------------------------------------------------

    def _close(self, graph: ir.Graph, owner: ir.Node | None, outputs: list[ir.Value]) -> None:
        """Let the outputs of a graph have the types that its reader wants."""
        for place, value in enumerate(outputs):
            if value not in self._floats:
                continue
            half = self._plan.half_io
            if owner is not None:
                half = bool(self._plan.inputs.get(owner) or self._plan.outputs.get(owner))
            new = self._as(value, half, graph, None)
            if new is value and value.producer() is not None:
                continue
            if new is value or (value in self._constants and owner is None):
                continue
            if owner is None:  # the names of outputs stay
                name = value.name
                value.name = self._names.unique(f"{name}_inner")
                new.name = name
                new.doc_string, value.doc_string = value.doc_string, None
                new.metadata_props.update(value.metadata_props)
            new.shape = value.shape
            graph.outputs[place] = new

    # -- attributes ---------------------------------------------------------------------------

    def _set_attributes(self, node: ir.Node) -> None:
        """Let the attributes that are element types say what the outputs are."""
        if node.domain or not node.outputs or node.outputs[0] not in self._half:
            return
        if node.op_type == "ConstantOfShape":
            held = node.attributes.get("value")
            array = np.zeros(1, np.float32) if held is None else held.as_tensor().numpy()
            tensor = ir.Tensor(array.astype(self._plan.kind.numpy()), self._plan.kind)
            node.attributes["value"] = ir.AttrTensor("value", tensor)
        elif node.op_type == "Cast":
            node.attributes["to"] = ir.AttrInt64("to", int(self._plan.kind))

    def _remove_cast(self, node: ir.Node) -> None:
        """Remove a Cast to the type that its input has now."""
        if node.op_type != "Cast" or node.domain or node.inputs[0] is None:
            return
        source, result = node.inputs[0], node.outputs[0]
        if source.dtype is None or source.dtype != ir.DataType(node.attributes["to"].as_int()):
            return
        if result.is_graph_output() or node.graph is None:
            return
        ir.convenience.replace_all_uses_with(result, source)
        node.graph.remove(node, safe=True)


def _is_weight(reader: ir.Node | None) -> bool:
    return reader is not None and reader.op_type not in ("QuantizeLinear", "DequantizeLinear")


def _typed(value: ir.Value, kind: ir.DataType, like: ir.Value | None = None) -> ir.Value:
    value.type = ir.TensorType(kind)
    if like is not None:
        value.shape = like.shape
    return value


__all__ = ["Plan", "constant_tensor", "rewrite"]

"""Types, constants and shape values of the values of a finished model, inferred on first use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from onnxwright.ir import adapters
from onnxwright.ir.infer import INFERENCE_ERRORS, by_variable, infer_call
from onnxwright.operators import facts
from onnxwright.operators.contrib import types_of_runtime
from onnxwright.operators.op_call import MOST_DIMS, OpCall
from onnxwright.operators.shape_values import values_of
from onnxwright.opset import registry
from onnxwright.opset.registry import OpSignature
from onnxwright.tracing.carrying import kind_of
from onnxwright.tracing.constants import constant_array
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import OnnxType, TensorType
from onnxwright.types.roles import AttributeReference
from onnxwright.types.shapes import Dim, Shape

Array = np.ndarray[Any, Any]
Identifier = tuple[str, str, str]


def attribute_values(node: ir.Node) -> dict[str, Any]:
    """The attributes of a node as Python values; graphs and types as onnx_ir attributes."""
    values: dict[str, Any] = {}
    for attr in node.attributes.values():
        if attr.is_ref():
            values[attr.name] = adapters.reference(attr)
        elif attr.type in _SIMPLE:
            values[attr.name] = attr.value
        else:
            values[attr.name] = attr
    return values


_SIMPLE = frozenset(
    (ir.AttributeType.INT, ir.AttributeType.FLOAT, ir.AttributeType.STRING, ir.AttributeType.INTS,
     ir.AttributeType.FLOATS, ir.AttributeType.STRINGS, ir.AttributeType.TENSOR)
)  # fmt: skip


def declared_type(value: ir.Value) -> OnnxType | None:
    """The type that a model declares for a value."""
    kind = value.type
    if kind is None:
        tensor = value.const_value
        if tensor is None:
            return None
        return TensorType(DType(int(tensor.dtype)), _shape(tensor.shape))
    if type(kind) is ir.TensorType:
        return TensorType(_dtype(kind.dtype), _shape(value.shape))
    return kind_of(value)


def _dtype(dtype: ir.DataType) -> DType | None:
    return DType(int(dtype)) if int(dtype) else None


def _shape(shape: Any) -> Shape | None:
    if shape is None:
        return None
    return tuple(d if isinstance(d, int) else getattr(d, "value", None) for d in shape)


def constant_of(value: ir.Value | None, ir_version: int = 4) -> Array | None:
    """The array a value always holds: of a Constant node, or an initializer that is not an input.

    Args:
        ir_version: the model's; before IR 4 every initializer is also an input, and constant.
    """
    if value is None:
        return None
    node = value.producer()
    if node is not None:
        if node.op_type != "Constant" or node.domain not in ("", "ai.onnx"):
            return None
        values = attribute_values(node)
        plain = all(not isinstance(v, (AttributeReference, ir.Attr)) for v in values.values())
        return constant_array(values) if plain and len(values) == 1 else None
    if value.const_value is None or (value.is_graph_input() and ir_version >= 4):
        return None
    try:
        array: Array = value.const_value.numpy()
    except OSError:  # its file is not there
        return None
    return array


class ValueTypes:
    """What is known of the values of a model: types, small constants, values that are shapes.

    Args:
        model: the model, which must not have changed since its nodes were made.
    """

    def __init__(self, model: ir.Model) -> None:
        self.types: dict[ir.Value, OnnxType | None] = {}
        self.dims: dict[ir.Value, Shape] = {}
        self.constants: dict[ir.Value, Array] = {}
        # Nodes whose inputs cannot go together, and why.
        self.problems: list[tuple[ir.Node, str]] = []
        self._ir_version = model.ir_version
        self._functions: Mapping[Identifier, ir.Function] = model.functions
        self._calls: dict[tuple[Identifier, str], list[OnnxType | None]] = {}
        self._active: set[Identifier] = set()
        for value in (*model.graph.inputs, *model.graph.initializers.values()):
            self._declare(value)
        self._nodes(model.graph, model.graph.opset_imports)
        for function in model.functions.values():
            if not any(key[0] == function.identifier() for key in self._calls):
                self._nodes(function, function.opset_imports)

    # -- values ------------------------------------------------------------------------------------

    def _declare(self, value: ir.Value) -> None:
        self.set(value, declared_type(value))
        if value.const_value is not None:
            self._note_constant(value)

    def _note_constant(self, value: ir.Value) -> None:
        kind = self.types.get(value)
        if not isinstance(kind, TensorType) or kind.dtype not in (DType.INT64, DType.INT32):
            return
        if kind.shape is None or len(kind.shape) > 1 or any(not _is_small(d) for d in kind.shape):
            return
        array = constant_of(value, self._ir_version)
        if array is not None:
            self.constants[value] = array

    def set(self, value: ir.Value, kind: OnnxType | None) -> None:
        """Remember the type of a value; what was known of it before stays."""
        self.types[value] = _merged(self.types.get(value), kind)

    # -- nodes -------------------------------------------------------------------------------------

    def _nodes(self, nodes: Iterable[ir.Node], imports: Mapping[str, int]) -> None:
        for node in nodes:
            types = self._outputs(node, imports)
            for n, value in enumerate(node.outputs):
                self.set(value, types[n] if n < len(types) else None)
                self.set(value, declared_type(value))
                if node.op_type == "Constant":
                    self._note_constant(value)

    def kind(self, value: ir.Value | None) -> OnnxType | None:
        """The type of a value."""
        if value is None:
            return None
        if value not in self.types:
            self.types[value] = declared_type(value)
        return self.types[value]

    def _outputs(self, node: ir.Node, imports: Mapping[str, int]) -> Sequence[OnnxType | None]:
        function = self._functions.get(node.op_identifier())
        if function is not None:
            return self._call(function, [self.kind(v) for v in node.inputs])
        domain = registry.normalize_domain(node.domain)
        signature = None
        if registry.is_known_domain(domain) and domain in imports:
            signature = registry.signature(domain, node.op_type, imports[domain])
        self._bodies(node, imports)
        if signature is None:
            kinds = [self.kind(v) for v in node.inputs]
            attributes = attribute_values(node)
            return (
                types_of_runtime(node.op_type, domain, kinds, len(node.outputs), attributes) or []
            )
        if domain == "" and node.op_type in ("If", "Loop", "Scan"):
            return self._control_flow(node)
        attributes = attribute_values(node)
        if "broadcast" in signature.attributes and facts(node.op_type, domain).elementwise:
            return [_of_first(signature, self.kind(node.inputs[0]))]
        call = OpCall(
            signature,
            attributes,
            len(node.outputs),
            [self.kind(v) for v in node.inputs],
            [None if v is None else self.constants.get(v) for v in node.inputs],
            [None if v is None else self.dims.get(v) for v in node.inputs],
            [v is not None for v in node.inputs],
        )
        try:
            types = infer_call(call, node.attributes.values, imports[domain])
        except INFERENCE_ERRORS as error:
            self.problems.append((node, str(error)))
            return by_variable(signature, len(node.outputs), call.types)
        if domain == "":
            for value, dims in zip(node.outputs, values_of(call, types) or (), strict=False):
                if dims is not None:
                    self.dims[value] = dims
        return types

    def _call(
        self, function: ir.Function, inputs: Sequence[OnnxType | None]
    ) -> list[OnnxType | None]:
        """The types a function gives; the types of its values are what all calls have in common."""
        name = function.identifier()
        key = (name, str([str(k) for k in inputs]))
        if key in self._calls or name in self._active:
            return self._calls.get(key, [])
        first = not any(called[0] == name for called in self._calls)
        values = _values(function)
        before = {v: self.types.pop(v, None) for v in values}
        for n, value in enumerate(function.inputs):
            self.types[value] = inputs[n] if n < len(inputs) else None
        self._active.add(name)
        try:
            self._nodes(function, function.opset_imports)
        finally:
            self._active.discard(name)
        kinds = [self.kind(v) for v in function.outputs]
        if not first:
            for value in values:
                self.types[value] = _common(before[value], self.types.get(value))
                self.dims.pop(value, None)
        self._calls[key] = kinds
        return kinds

    def _bodies(self, node: ir.Node, imports: Mapping[str, int]) -> None:
        for attr in node.attributes.values():
            if attr.is_ref():
                continue
            graphs: Sequence[ir.Graph] = ()
            if attr.type is ir.AttributeType.GRAPH:
                graphs = [attr.as_graph()]
            elif attr.type is ir.AttributeType.GRAPHS:
                graphs = attr.as_graphs()
            for graph in graphs:
                for value in (*graph.inputs, *graph.initializers.values()):
                    self._declare(value)
                self._body_inputs(node, graph)
                self._nodes(graph, imports)

    def _body_inputs(self, node: ir.Node, graph: ir.Graph) -> None:
        """Types of the inputs of the body of a Loop or Scan."""
        if node.domain not in ("", "ai.onnx"):
            return
        if node.op_type == "Loop":
            for value, outer in zip(graph.inputs[2:], node.inputs[2:], strict=False):
                kind = self.kind(outer)
                # The shape of a carried value may change from one iteration to the next.
                self.set(value, TensorType(kind.dtype) if isinstance(kind, TensorType) else kind)
        elif node.op_type == "Scan" and "scan_input_directions" not in node.attributes:
            for value, outer in zip(graph.inputs, node.inputs, strict=False):
                kind = self.kind(outer)
                if isinstance(kind, TensorType):
                    self.set(value, TensorType(kind.dtype))

    def _control_flow(self, node: ir.Node) -> list[OnnxType | None]:
        bodies = [a.as_graph() for a in node.attributes.values() if a.type is _GRAPH]
        kinds_of_graphs = [[self.kind(v) for v in g.outputs] for g in bodies]
        if node.op_type == "If":
            whole = [m for m in kinds_of_graphs if len(m) == len(node.outputs)]
            kinds = whole[0] if whole else []
            for other in whole[1:]:
                kinds = [_common(a, b) for a, b in zip(kinds, other, strict=True)]
            return kinds
        results = kinds_of_graphs[0][1:] if node.op_type == "Loop" else kinds_of_graphs[0]
        return [TensorType(k.dtype) if isinstance(k, TensorType) else k for k in results]


_GRAPH = ir.AttributeType.GRAPH


def _of_first(signature: OpSignature, first: OnnxType | None) -> OnnxType | None:
    """The result of an operator below opset 7, whose second operand broadcasts to the first."""
    if not isinstance(first, TensorType):
        return None
    output = signature.outputs[0].types
    return TensorType(DType.BOOL, first.shape) if output == {"tensor(bool)"} else first


def _is_small(d: Dim) -> bool:
    return isinstance(d, int) and d <= MOST_DIMS


def _values(function: ir.Function) -> list[ir.Value]:
    values = list(function.inputs)
    for node in function.all_nodes():
        values += node.outputs
    return values


def _merged(a: OnnxType | None, b: OnnxType | None) -> OnnxType | None:
    """What two descriptions of one value say together; the first where they disagree."""
    if a is None or b is None:
        return b if a is None else a
    if not isinstance(a, TensorType) or not isinstance(b, TensorType):
        return a
    shape = a.shape if a.shape is not None else b.shape
    if a.shape is not None and b.shape is not None and len(a.shape) == len(b.shape):
        shape = tuple(
            y if x is None or (isinstance(x, str) and isinstance(y, int)) else x
            for x, y in zip(a.shape, b.shape, strict=True)
        )
    return TensorType(a.dtype if a.dtype is not None else b.dtype, shape)


def _common(a: OnnxType | None, b: OnnxType | None) -> OnnxType | None:
    """What holds of both of two types."""
    if a == b:
        return a
    if not isinstance(a, TensorType) or not isinstance(b, TensorType):
        return None
    shape: Shape | None = None
    if a.shape is not None and b.shape is not None and len(a.shape) == len(b.shape):
        shape = tuple(x if x == y else None for x, y in zip(a.shape, b.shape, strict=True))
    return TensorType(a.dtype if a.dtype is b.dtype else None, shape)

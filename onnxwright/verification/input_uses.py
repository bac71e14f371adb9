"""What the nodes of a model do with an input, and so which numbers and sizes it may have."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import inliner, numpy_helper, shape_inference

from onnxwright.ir.proto_graphs import graphs_in

# Operators whose result holds elements of these inputs and nothing else (or constants beside it).
_MOVES: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(
        ("Cast", "Identity", "Unsqueeze", "Squeeze", "Reshape", "Transpose", "Flatten", "Expand",
         "Slice", "Split", "Tile", "Gather", "ReduceMax", "ReduceMin"), (0,),
    ),
    "Concat": tuple(range(64)),
    "Where": (1, 2),
    "Max": (0, 1),
    "Min": (0, 1),
}  # fmt: skip
_FEW = 64  # elements of a constant that is looked at
_POSITIVE = (0.05, 3.0)
_NUMBERS: dict[tuple[str, int], tuple[float, float]] = {
    ("Sqrt", 0): _POSITIVE, ("Log", 0): _POSITIVE, ("Pow", 0): _POSITIVE,
    ("Reciprocal", 0): (0.5, 2.0), ("Div", 1): (0.5, 2.0), ("Mod", 1): (1.0, 4.0),
    ("Acos", 0): (-1.0, 1.0), ("Asin", 0): (-1.0, 1.0), ("Atanh", 0): (-0.9, 0.9),
    ("Acosh", 0): (1.0, 3.0), ("Bernoulli", 0): (0.0, 1.0), ("GridSample", 1): (-1.1, 1.1),
    ("NonMaxSuppression", 1): (0.0, 1.0), ("Dropout", 1): (0.0, 0.5), ("BitShift", 1): (0.0, 7.0),
    ("QuantizeLinear", 1): (0.05, 1.0), ("DequantizeLinear", 1): (0.05, 1.0),
    ("Tile", 1): (1.0, 2.0), ("Expand", 1): (1.0, 1.0), ("ConstantOfShape", 0): (1.0, 3.0),
    ("Loop", 0): (0.0, 3.0), ("Range", 1): (1.0, 4.0), ("Range", 2): (1.0, 1.0),
    ("Range", 0): (0.0, 0.0),
}  # fmt: skip


@dataclass(frozen=True)
class Limits:
    """What the elements of an input may be.

    Fields:
        low, high: the bounds, both included; None where there is none.
        whole: only whole numbers, also where the type is a float.
        is_shape: it is the new shape of a Reshape.
    """

    low: float | None = None
    high: float | None = None
    whole: bool = False
    is_shape: bool = False

    def within(self, low: float, high: float, *, whole: bool = False) -> Limits:
        """These limits and others; the others where nothing would be left."""
        lows = low if self.low is None else max(self.low, low)
        highs = high if self.high is None else min(self.high, high)
        if lows > highs:
            lows, highs = low, high
        return Limits(lows, highs, self.whole or whole, self.is_shape)


@dataclass
class Graph:
    """A model as a list of nodes at any depth, with what is known of values.

    Fields:
        inputs: the inputs that have no default.
        readers: value -> nodes that read it, with the place.
        shapes: value -> dimensions: numbers, names, None.
        constants: value -> small arrays.
        sizes: names of dimensions whose size the weights say.
    """

    inputs: list[onnx.ValueInfoProto]
    readers: dict[str, list[tuple[onnx.NodeProto, int]]] = field(default_factory=dict)
    shapes: dict[str, list[Any]] = field(default_factory=dict)
    constants: dict[str, Any] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, model: onnx.ModelProto) -> Graph:
        """The graph of a model; functions are inlined, shapes inferred where that works."""
        held = {i.name for i in model.graph.initializer}
        graph = cls([i for i in model.graph.input if i.name not in held])
        source = _light(model)
        for step in (inliner.inline_local_functions, shape_inference.infer_shapes):
            try:
                source = step(source)
            except Exception:  # noqa: BLE001, S110 - what it says is a help, and no more
                pass
        for part in (source.graph, *graphs_in(source.graph.node)):
            graph._read(part)
        for info in graph.inputs:
            graph.with_known_sizes(info.name, graph.shapes.get(info.name, ()))
        return graph

    def _read(self, graph: onnx.GraphProto) -> None:
        for info in (*graph.input, *graph.value_info, *graph.output):
            if info.type.HasField("tensor_type") and info.type.tensor_type.HasField("shape"):
                self.shapes[info.name] = [_dim(d) for d in info.type.tensor_type.shape.dim]
        for tensor in graph.initializer:
            self._keep(tensor.name, tensor)
        for node in graph.node:
            for place, name in enumerate(node.input):
                self.readers.setdefault(name, []).append((node, place))
            if node.op_type == "Constant":
                for attribute in node.attribute:
                    if attribute.name == "value":
                        self._keep(node.output[0], attribute.t)
                    elif attribute.name in ("value_int", "value_float", "value_ints"):
                        value = onnx.helper.get_attribute_value(attribute)
                        self.constants[node.output[0]] = np.asarray(value)

    def _keep(self, name: str, tensor: onnx.TensorProto) -> None:
        self.shapes[name] = list(tensor.dims)
        external = tensor.data_location == onnx.TensorProto.EXTERNAL
        if not external and math.prod(tensor.dims) <= _FEW:
            try:
                self.constants[name] = numpy_helper.to_array(tensor)
            except (ValueError, TypeError):  # a light model has no numbers for it
                return

    def with_known_sizes(self, name: str, shape: Sequence[Any]) -> tuple[Any, ...]:
        """A shape with the sizes that the weights beside an input ask for; names are noted."""
        dims = list(shape)
        for node, place in self.readers.get(name, ()):
            for axis, size in self._asked(node, place, len(dims)):
                if not isinstance(dims[axis], int):
                    if isinstance(dims[axis], str):
                        self.sizes.setdefault(dims[axis], size)
                    dims[axis] = size
        return tuple(dims)

    def _asked(self, node: onnx.NodeProto, place: int, rank: int) -> Iterator[tuple[int, int]]:
        """The axes of an input whose sizes a node's weight says, and these."""
        other = self.shapes.get(node.input[1 - place], []) if len(node.input) > 1 else []
        if node.op_type in ("Conv", "ConvTranspose") and place == 0 and len(other) == rank > 1:
            by_group = node.op_type == "Conv"
            size = other[1] * attribute_of(node, "group", 1) if by_group else other[0]
            yield from [(1, size)] if isinstance(size, int) else []
        elif node.op_type == "MatMul" and place == 0 and len(other) > 1 and rank:
            yield from [(rank - 1, other[-2])] if isinstance(other[-2], int) else []
        elif node.op_type == "Gemm" and place == 0 and len(other) == rank == 2:
            size = other[1 if attribute_of(node, "transB", 0) else 0]
            axis = 0 if attribute_of(node, "transA", 0) else 1
            yield from [(axis, size)] if isinstance(size, int) else []
        elif node.op_type in ("BatchNormalization", "InstanceNormalization") and place == 0:
            yield from [(1, other[0])] if other and isinstance(other[0], int) and rank > 1 else []
        elif node.op_type == "LayerNormalization" and place == 0 and other and rank:
            yield from [(rank - 1, other[-1])] if isinstance(other[-1], int) else []
        elif node.op_type in ("LSTM", "GRU", "RNN") and place == 0 and len(other) == 3 == rank:
            yield from [(2, other[2])] if isinstance(other[2], int) else []


def limits_of(graph: Graph, name: str, size: Callable[[Any], int]) -> Limits:
    """What the nodes that read an input ask of its elements.

    Args:
        size: gives the size of a dimension.
    """
    limits = Limits()
    waiting, seen = [(name, 0.0)], {name}
    while waiting:
        value, shift = waiting.pop()
        for node, place in graph.readers.get(value, ()):
            asked = _asked_of(graph, node, place, size)
            if isinstance(asked, Limits):
                return asked
            if asked is not None:
                low, high, whole = asked
                limits = limits.within(low - shift, high - shift, whole=whole)
            offset = _offset(graph, node, place)
            if offset is None and place not in _MOVES.get(node.op_type, ()):
                continue
            for result in node.output[: 1 if node.op_type != "Split" else None]:
                if result not in seen:
                    seen.add(result)
                    waiting.append((result, shift + (offset or 0.0)))
    return limits


def _offset(graph: Graph, node: onnx.NodeProto, place: int) -> float | None:
    """What a node adds to an input: one constant number."""
    if node.op_type not in ("Add", "Sub") or (node.op_type == "Sub" and place == 1):
        return None
    other = graph.constants.get(node.input[1 - place])
    if other is None or other.size != 1 or other.dtype.kind not in "iuf":
        return None
    return float(other.reshape(-1)[0]) * (1 if node.op_type == "Add" else -1)


def _asked_of(
    graph: Graph, node: onnx.NodeProto, place: int, size: Callable[[Any], int]
) -> Limits | tuple[float, float, bool] | None:
    """What one node asks of one of its inputs: bounds, and whether only whole numbers."""
    kind = node.op_type
    if kind == "Reshape" and place == 1:
        return Limits(is_shape=True)
    count = _indexed(graph, node, place, size)
    if count is not None:
        return 0.0, max(count - 1.0, 0.0), True
    if kind == "Clip" and place == 0:
        bounds = [_number(graph, n) for n in node.input[1:3]]
        bounds = bounds if len(bounds) == 2 else [attribute_of(node, n, None)
                                                  for n in ("min", "max")]  # fmt: skip
        low, high = bounds
        if low is None or high is None or not 0 < high - low < 1e4:
            return None
        return low - (high - low) / 4, high + (high - low) / 4, False
    if kind == "QuantizeLinear" and place == 0:
        scale = _number(graph, node.input[1])
        return None if scale is None else (-140 * scale, 140 * scale, False)
    if kind == "TopK" and place == 1:
        axis = attribute_of(node, "axis", -1)
        shape = graph.shapes.get(node.input[0])
        return (1.0, float(size(shape[axis])), True) if shape else (1.0, 1.0, True)
    if kind in ("LSTM", "GRU", "RNN") and place == 4:
        shape = graph.shapes.get(node.input[0])
        return (1.0, float(size(shape[0])), True) if shape else (1.0, 1.0, True)
    limits = _NUMBERS.get((kind, place))
    return None if limits is None else (*limits, False)


def _indexed(
    graph: Graph, node: onnx.NodeProto, place: int, size: Callable[[Any], int]
) -> int | None:
    """How many elements there are to choose from where an input holds indices; else None."""
    kind, axis = node.op_type, 0
    if kind == "OneHot" and place == 0:
        depth = _number(graph, node.input[1])
        return None if depth is None else int(depth)
    if kind == "EmbedLayerNormalization" and place in (0, 1, 7):
        table = {0: 2, 1: 4, 7: 3}[place]
        shape = graph.shapes.get(node.input[table]) if len(node.input) > table else None
    elif place == 1 and kind in ("Gather", "GatherElements", "ScatterElements", "Scatter"):
        axis, shape = attribute_of(node, "axis", 0), graph.shapes.get(node.input[0])
    elif place == 1 and kind in ("GatherND", "ScatterND"):
        shape = graph.shapes.get(node.input[0])
        skipped = attribute_of(node, "batch_dims", 0)
        depth = (graph.shapes.get(node.input[1]) or [None])[-1]
        if shape and isinstance(depth, int) and depth:
            return min(size(d) for d in shape[skipped : skipped + depth])
    elif place == 1 and kind == "ArrayFeatureExtractor":
        axis, shape = -1, graph.shapes.get(node.input[0])
    elif place == 1 and kind in ("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"):
        axis, shape = 1, graph.shapes.get(node.input[0])
    elif place == 1 and kind == "ReverseSequence":
        axis = attribute_of(node, "time_axis", 0)
        shape = graph.shapes.get(node.input[0])
    else:
        return None
    if not shape or not -len(shape) <= axis < len(shape):
        return 1
    return size(shape[axis])


def _number(graph: Graph, name: str) -> float | None:
    array = graph.constants.get(name)
    if array is None or array.size != 1 or array.dtype.kind not in "iuf":
        return None
    return float(array.reshape(-1)[0])


def attribute_of(node: onnx.NodeProto, name: str, default: Any) -> Any:
    """The value of an attribute; the default where the node has none."""
    for attribute in node.attribute:
        if attribute.name == name and not attribute.ref_attr_name:
            return onnx.helper.get_attribute_value(attribute)
    return default


def _dim(d: Any) -> Any:
    if d.HasField("dim_value"):
        return int(d.dim_value) if d.dim_value >= 0 else None
    return d.dim_param or None


def _light(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy of a model without the numbers of its large weights."""
    light = onnx.ModelProto(ir_version=model.ir_version)
    light.opset_import.extend(model.opset_import)
    light.functions.extend(model.functions)
    graph = model.graph
    light.graph.name = graph.name or "graph"
    light.graph.node.extend(graph.node)
    for part in ("input", "output", "value_info"):
        getattr(light.graph, part).extend(getattr(graph, part))
    for tensor in graph.initializer:
        if math.prod(tensor.dims) <= _FEW:
            light.graph.initializer.append(tensor)
        else:
            light.graph.initializer.add(
                name=tensor.name, dims=tensor.dims, data_type=tensor.data_type
            )
    return light

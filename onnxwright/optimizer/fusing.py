"""Nodes that later opsets have one operator for: RMSNormalization, RotaryEmbedding.

Models write these out in many lines of PyTorch.  Only what is exactly the operator becomes it, and
what is written is checked against the types that the operator takes before it replaces anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from onnxwright.ir.infer import INFERENCE_ERRORS, infer
from onnxwright.ir.nested import all_graphs
from onnxwright.opset.registry import OpSignature, signature
from onnxwright.optimizer.weight_sources import Names
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import TensorType

_SINCE = 23


def fuse(model: ir.Model) -> bool:
    """Replace several nodes by one that the opset of the model has; in bodies, too.

    Args:
        model: the model; it is changed.

    Returns:
        Whether it was; nodes that nothing reads any more are still there.
    """
    version = model.graph.opset_imports.get("", 1)
    if version < _SINCE:
        return False
    names = Names(model.graph)
    changed = False
    for graph in list(all_graphs(model.graph)):
        changed |= _fuse_graph(graph, names, version)
    return changed


def _fuse_graph(graph: ir.Graph, names: Names, version: int) -> bool:
    """The same of the nodes of one graph, not of those in their bodies."""
    changed = False
    rotations = _Rotations(graph, names, version)
    for node in graph:
        if node.domain:
            continue
        if node.op_type == "Mul":
            changed |= _root_mean_square(graph, node, version)
        elif node.op_type == "Add":
            changed |= rotations.fuse(node)
        elif node.op_type == "Attention":
            changed |= _grouped(node, version)
    return changed


def _producer_of(value: ir.Value | None, *kinds: str, alone: bool = True) -> ir.Node | None:
    """The node of one of some operators that makes a value; `alone`: for one reader."""
    node = None if value is None else value.producer()
    if node is None or value is None or node.domain or node.op_type not in kinds:
        return None
    if alone and (len(value.uses()) != 1 or value.is_graph_output()):
        return None
    return node


def _either(node: ir.Node) -> Iterator[tuple[ir.Value | None, ir.Value | None]]:
    """The two inputs of a node, in both orders."""
    a, b = node.inputs
    yield a, b
    yield b, a


def _numbers(value: ir.Value | None) -> list[Any] | None:
    """What a constant holds, flat."""
    if value is None or not value.is_initializer() or type(value.const_value) is not ir.Tensor:
        return None
    return list(value.const_value.numpy().reshape(-1).tolist())


def _last_axis(value: ir.Value | None) -> int | None:
    return None if value is None or value.shape is None else len(value.shape) - 1


def _put(
    graph: ir.Graph,
    old: ir.Node,
    kind: str,
    inputs: list[Any],
    attrs: dict[str, Any],
    version: int,
) -> bool:
    """Replace a node by another whose operator accepts and returns the same types.

    What is not read any more is removed later.
    """
    attributes = [ir.Attr(n, _KINDS[type(v)], v) for n, v in attrs.items()]
    node = ir.Node("", kind, inputs, attributes, num_outputs=1, name=old.name)
    if not is_typed(node, old.outputs[0].dtype, version):
        for n in range(len(inputs)):
            node.replace_input_with(n, None)
        return False
    node.metadata_props.update(old.metadata_props)
    node.outputs[0].metadata_props.update(old.outputs[0].metadata_props)
    ir.convenience.replace_nodes_and_values(graph, old, [old], [node], old.outputs, node.outputs)
    return True


_KINDS = {int: ir.AttributeType.INT, float: ir.AttributeType.FLOAT}

# -- heads of keys and values that several heads of queries share ----------------------------------


def _grouped(node: ir.Node, version: int) -> bool:
    """Let an Attention read keys and values once that are repeated for each group of queries."""
    queries, keys, values = node.inputs[:3]
    once, twice = _repeated(keys), _repeated(values)
    if queries is None or queries.shape is None or once is None or twice is None:
        return False
    if len(queries.shape) != 4 or once.shape[1] != twice.shape[1]:  # type: ignore[index]
        return False
    if keys is not None and keys.shape is not None and queries.shape[1] == keys.shape[1]:
        node.replace_input_with(1, once)
        node.replace_input_with(2, twice)
        if is_typed(node, node.outputs[0].dtype, version):
            return True
        node.replace_input_with(1, keys)
        node.replace_input_with(2, values)
    return False


def _repeated(value: ir.Value | None) -> ir.Value | None:
    """The `x [B, heads, S, D]` of a value that repeats each head several times in a row."""
    joined = _producer_of(value, "Reshape", alone=False)
    copied = None if joined is None else _producer_of(joined.inputs[0], "Expand", alone=False)
    apart = None if copied is None else _producer_of(copied.inputs[0], "Unsqueeze", alone=False)
    if value is None or copied is None or apart is None or _numbers(apart.inputs[1]) != [2]:
        return None
    x = apart.inputs[0]
    if x is None or x.shape is None or value.shape is None or copied.outputs[0].shape is None:
        return None
    before, within, after = list(x.shape), list(copied.outputs[0].shape), list(value.shape)
    if len(before) != 4 or len(after) != 4 or not all(isinstance(d, int) for d in within[1:3]):
        return None
    same = within[:2] == before[:2] and within[3:] == before[2:]
    heads = within[1] * within[2]
    return x if same and after == [before[0], heads, *before[2:]] else None


# -- x / sqrt(mean(x * x) + epsilon) * scale -------------------------------------------------------


def _root_mean_square(graph: ir.Graph, node: ir.Node, version: int) -> bool:
    for scale, normal in _either(node):
        if scale is None or scale.shape is None or len(scale.shape) != 1:
            continue
        cast = _producer_of(normal, "Cast")
        product = _producer_of(cast.inputs[0] if cast is not None else normal, "Mul")
        if product is None or scale.dtype != node.outputs[0].dtype:
            continue
        for x, root in _either(product):
            epsilon = _epsilon(x, root)
            if epsilon is None or x is None or x.shape is None or x.shape[-1] != scale.shape[0]:
                continue
            # Half precision is computed in single precision, if the model says so.
            widened = _producer_of(x, "Cast", alone=False)
            narrow = None if widened is None else widened.inputs[0]
            attrs = {"axis": -1, "epsilon": epsilon, "stash_type": int(ir.DataType.FLOAT)}
            for candidate in (narrow, x):
                types = {scale.dtype, None if candidate is None else candidate.dtype}
                if len(types) == 1 and _put(
                    graph, node, "RMSNormalization", [candidate, scale], attrs, version
                ):
                    return True
    return False


def _epsilon(x: ir.Value | None, root: ir.Value | None) -> float | None:
    """The epsilon of `1 / sqrt(mean(x * x) + epsilon)` over the last axis, in single precision."""
    if x is None or x.dtype != ir.DataType.FLOAT or not isinstance(_last_axis(x), int):
        return None
    inverse = _producer_of(root, "Reciprocal")
    square_root = None if inverse is None else _producer_of(inverse.inputs[0], "Sqrt")
    total = None if square_root is None else _producer_of(square_root.inputs[0], "Add")
    if total is None:
        return None
    for mean, epsilon in _either(total):
        numbers, reduced = _numbers(epsilon), _producer_of(mean, "ReduceMean")
        if reduced is None or numbers is None or len(numbers) != 1 or not _of_last(reduced, x):
            continue
        square = _producer_of(reduced.inputs[0], "Mul", "Pow")
        if square is None or square.inputs[0] is not x:
            continue
        if square.inputs[1] is x or (square.op_type == "Pow" and _numbers(square.inputs[1]) == [2]):
            return float(numbers[0])
    return None


def _of_last(reduced: ir.Node, x: ir.Value) -> bool:
    """Whether a reduction is over the last axis, which it keeps."""
    keeps = reduced.attributes.get("keepdims")
    if keeps is not None and keeps.as_int() != 1:
        return False
    axes = _numbers(reduced.inputs[1]) if len(reduced.inputs) > 1 else None
    return axes in ([-1], [_last_axis(x)])


# -- x * cos + [-x2, x1] * sin ---------------------------------------------------------------------


# What the runtime has a kernel for.
_ROTATED = (ir.DataType.FLOAT, ir.DataType.FLOAT16)


class _Rotations:
    """Rotary embeddings of a graph; those of the same angles share their tables.

    Args:
        graph: the graph they are in.
        names: those of the main graph, which holds new constants.
        version: of the standard opset.
    """

    def __init__(self, graph: ir.Graph, names: Names, version: int) -> None:
        self.version = version
        self.graph = graph
        self.names = names
        self.place: Any = None
        self._tables: dict[Any, ir.Value] = {}

    def fuse(self, node: ir.Node) -> bool:
        """Replace an Add that ends a rotary embedding by RotaryEmbedding."""
        for left, right in _either(node):
            plain, turned = _producer_of(left, "Mul"), _producer_of(right, "Mul")
            if plain is None or turned is None:
                continue
            for x, cos in _either(plain):
                for half, sin in _either(turned):
                    if self._rotated(x, half) and self._replace(node, x, cos, sin):
                        return True
        return False

    def _rotated(self, x: ir.Value | None, half: ir.Value | None) -> bool:
        """Whether a value is another with its halves exchanged, the second one negated."""
        joined = _producer_of(half, "Concat")
        if joined is None or x is None or x.shape is None or len(x.shape) != 4:
            return False
        size = x.shape[3]
        if not isinstance(size, int) or size % 2 or not isinstance(x.shape[1], int):
            return False
        if len(joined.inputs) != 2 or joined.attributes["axis"].as_int() not in (-1, 3):
            return False
        negated = _producer_of(joined.inputs[0], "Neg")
        if negated is None:
            return False
        return _is_part(joined.inputs[1], x, 0, size // 2) and _is_part(
            negated.inputs[0], x, size // 2, size
        )

    def _replace(
        self, node: ir.Node, x: ir.Value | None, cos: ir.Value | None, sin: ir.Value | None
    ) -> bool:
        angles = [_angles(cos, "Cos"), _angles(sin, "Sin")]
        if x is None or x.shape is None or angles[0] is None or angles[0] != angles[1]:
            return False
        table = angles[0]
        if table.shape is None or table.dtype != x.dtype or table.shape[1] != x.shape[2]:
            return False
        if x.dtype not in _ROTATED:
            return False
        # The operator does not broadcast: angles of all the batch are written out once.
        if table.shape[0] != x.shape[0] and table.shape[0] != 1:
            return False
        self.place = node
        caches = [self._table(kind, table, x) for kind in ("Cos", "Sin")]
        return _put(
            self.graph, node, "RotaryEmbedding", [x, *caches], {"interleaved": 0}, self.version
        )

    def _table(self, kind: str, angles: ir.Value, x: ir.Value) -> ir.Value:
        """The cosines or sines of angles `[batch, length, half]`, for the batch of `x`."""
        assert x.shape is not None
        assert angles.shape is not None
        batch = x.shape[0]
        key = (kind, angles, str(batch))
        if key not in self._tables:
            last = self._add(kind, [angles], angles.shape, angles.dtype, {})
            if angles.shape[0] != batch:
                last = self._expanded(last, x)
            self._tables[key] = last
        return self._tables[key]

    def _expanded(self, table: ir.Value, x: ir.Value) -> ir.Value:
        """A table `[1, length, half]` for each of the batch of `x`."""
        assert x.shape is not None
        batch, dtype = x.shape[0], ir.DataType.INT64
        kept = self._tables.get(("shape", str(batch)))
        if kept is not None:
            shape = kept
        elif isinstance(batch, int):
            shape = self._constant([batch, 1, 1])
        else:
            one = self._add("Shape", [x], [1], dtype, {"start": 0, "end": 1})
            shape = self._add("Concat", [one, self._constant([1, 1])], [3], dtype, {"axis": 0})
        self._tables["shape", str(batch)] = shape
        assert table.shape is not None
        return self._add("Expand", [table, shape], [batch, *table.shape[1:]], table.dtype, {})

    def _constant(self, numbers: list[int]) -> ir.Value:
        return self.names.constant("sizes", np.array(numbers, np.int64))

    def _add(
        self, kind: str, inputs: list[ir.Value], shape: Any, dtype: Any, attrs: dict[str, int]
    ) -> ir.Value:
        """The result of a new node before the one that is replaced."""
        attributes = [ir.Attr(n, ir.AttributeType.INT, v) for n, v in attrs.items()]
        node = ir.Node("", kind, inputs, attributes, num_outputs=1)
        node.metadata_props.update(self.place.metadata_props)
        output = node.outputs[0]
        output.name = self.names.free(kind.lower())
        output.shape, output.type = ir.Shape(shape), ir.TensorType(dtype)
        self.graph.insert_before(self.place, node)
        return output


def _is_part(value: ir.Value | None, x: ir.Value, start: int, end: int) -> bool:
    """Whether a value is the elements of the last axis of `x` from `start` to `end`."""
    part = _producer_of(value, "Slice")
    if part is None or part.inputs[0] is not x or len(part.inputs) < 4:
        return False
    starts, ends, axes = (_numbers(part.inputs[n]) for n in (1, 2, 3))
    if len(part.inputs) > 4 and _numbers(part.inputs[4]) not in (None, [1]):
        return False
    assert x.shape is not None
    whole = end == x.shape[3] and ends is not None and len(ends) == 1 and ends[0] >= end
    return starts == [start] and axes in ([3], [-1]) and (whole or ends == [end])


def _angles(value: ir.Value | None, kind: str) -> ir.Value | None:
    """The `f [batch, length, half]` of a value `kind(concat(f, f))[:, None]`."""
    outer = _producer_of(value, "Unsqueeze", alone=False)
    if outer is None or _numbers(outer.inputs[1]) != [1]:
        return None
    table = _producer_of(outer.inputs[0], kind, alone=False)
    both = None if table is None else _producer_of(table.inputs[0], "Concat", alone=False)
    if both is None or len(both.inputs) != 2 or both.inputs[0] is not both.inputs[1]:
        return None
    angles = both.inputs[0]
    if angles is None or angles.shape is None or len(angles.shape) != 3:
        return None
    return angles if both.attributes["axis"].as_int() in (-1, 2) else None


def is_typed(node: ir.Node, output: ir.DataType | None, opset_version: int) -> bool:
    """Whether a node of the standard domain is valid for its inputs, with this output type.

    Both the type variables of the schema and ONNX's inference have to agree: for some operators
    (RMSNormalization) the schema allows types that its function body does not.

    Args:
        node: the node; its place does not matter.
        output: the element type that its first output has to have.
        opset_version: the version of the standard opset.

    Returns:
        False, too, where an element type is not known.

    Source:
        The operator's schema; onnx.shape_inference.
    """
    formal = signature("", node.op_type, opset_version)
    if formal is None or output is None:
        return False
    variables = _variables(formal, node.inputs)
    if variables is None or variables.get(formal.outputs[0].type_str, output) != output:
        return False
    types = [None if v is None else TensorType(DType(int(v.dtype or 0))) for v in node.inputs]
    try:
        kinds = infer(formal, node, types, [None] * len(types), opset_version)
    except INFERENCE_ERRORS:
        return False
    kind = kinds[0]
    return isinstance(kind, TensorType) and kind.dtype is not None and int(kind.dtype) == output


def _variables(
    formal: OpSignature, inputs: Sequence[ir.Value | None]
) -> dict[str, ir.DataType] | None:
    """The element type of each type variable; None if inputs contradict the schema."""
    dtypes: dict[str, ir.DataType] = {}
    for n, value in enumerate(inputs):
        param = formal.inputs[min(n, len(formal.inputs) - 1)]
        if value is None:
            continue
        if value.dtype is None or DType(int(value.dtype)).onnx_name not in param.types:
            return None
        if param.homogeneous and dtypes.setdefault(param.type_str, value.dtype) != value.dtype:
            return None
    return dtypes

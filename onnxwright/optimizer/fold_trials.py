"""Whether a node that weights alone feed computes anything: what is folded is computed later.

A node that a run refuses (an index out of range, a text that is not a number) stays as it is, and
the error with it.  Weights are not read: arrays of zeros of their shapes stand for them.  What
decides is read: indices, exponents, texts, and small integers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir

from onnxwright.ir.saving import read_tensor
from onnxwright.ir.serialize import node_to_proto
from onnxwright.operators import facts
from onnxwright.optimizer.weight_sources import is_missing
from onnxwright.types.dtypes import DType

Array = np.ndarray[Any, Any]

# Integers and texts of at most so many bytes are read, and arrays of at most so many are computed.
_MOST_BYTES = 1 << 20


_COMPLEX = (ir.DataType.COMPLEX64, ir.DataType.COMPLEX128)


class UncertainError(Exception):
    """What a value holds is not known before it is needed."""


class Trials:
    """Tries nodes with arrays of zeros in place of weights.

    Args:
        version: the version of the standard opset.
    """

    def __init__(self, version: int) -> None:
        self.version = version
        self._computed: dict[ir.Value, Array] = {}

    def refused(self, node: ir.Node) -> bool:
        """Whether a node fails, or gives another shape than it says.

        Args:
            node: a node of the standard domain; initializers and nodes that passed feed it.

        Returns:
            True where that is certain.
        """
        try:
            if node.op_type == "Gather":
                return not self._in_range(node)
            floats = all(map(_is_float, filter(None, node.inputs)))
            if floats and node.op_type in ("MatMul", "Gemm"):
                return not _agrees(node, _multiplied)
            if floats and facts(node.op_type).elementwise:
                return not _agrees(node, _broadcast)
            if sum(_bytes(v) for v in (*node.inputs, *node.outputs) if v) > _MOST_BYTES:
                return False
            if node.op_type == "Div" and not floats and self._has_zeros(node.inputs[1]):
                return True
            arrays = [None if v is None else self._array(v) for v in node.inputs]
        except UncertainError:
            return False
        try:
            with np.errstate(all="ignore"):
                results = run_nodes([node], _feeds(node.inputs, arrays), _names(node), self.version)
        except Exception:  # noqa: BLE001 - what fails now fails when the model runs, and says so
            return True
        if any(list(a.shape) != _sizes(v) for a, v in zip(results, node.outputs, strict=True)):
            return True
        self._keep(node, results)
        return False

    def _in_range(self, node: ir.Node) -> bool:
        """Whether the indices of a Gather are valid for the axis; the data are not copied."""
        data, indices = node.inputs[0], node.inputs[1]
        if data is None or indices is None:
            return False
        sizes = _sizes(data)
        attribute = node.attributes.get("axis")
        axis = 0 if attribute is None else attribute.as_int()
        if not -len(sizes) <= axis < len(sizes):
            return False
        size, places = sizes[axis], self._numbers(indices)
        if places.size and not -size <= int(places.min()) <= int(places.max()) < size:
            return False
        if not _is_float(data) and _bytes(node.outputs[0]) <= _MOST_BYTES:
            self._keep(node, [np.take(self._array(data), places, axis=axis)])
        return True

    def _has_zeros(self, divisor: ir.Value | None) -> bool:
        return divisor is not None and bool((self._numbers(divisor) == 0).any())

    def _keep(self, node: ir.Node, arrays: Sequence[Array]) -> None:
        """Integers and texts are looked at by later nodes."""
        pairs = zip(node.outputs, arrays, strict=True)
        self._computed.update({v: a for v, a in pairs if not _is_float(v)})

    def _array(self, value: ir.Value) -> Array:
        """The numbers of a value that may decide; zeros where it is a weight."""
        if _is_float(value):
            assert value.dtype is not None
            zero = np.zeros((), DType(int(value.dtype)).numpy)
            return np.broadcast_to(zero, _sizes(value))
        return self._numbers(value)

    def _numbers(self, value: ir.Value) -> Array:
        """What a value holds."""
        computed = self._computed.get(value)
        if computed is not None:
            return computed
        tensor: Any = value.const_value
        if tensor is None or is_missing(tensor):
            raise UncertainError
        array: Array = read_tensor(tensor)
        return array


def _is_float(value: ir.Value) -> bool:
    return value.dtype is not None and (value.dtype.is_floating_point() or value.dtype in _COMPLEX)


def _sizes(value: ir.Value) -> list[int]:
    sizes = [] if value.shape is None else [d for d in value.shape if isinstance(d, int)]
    if value.shape is None or len(sizes) != len(value.shape):
        raise UncertainError
    return sizes


def _bytes(value: ir.Value) -> int:
    if value.dtype is None:
        raise UncertainError
    # Texts have no size of their own.
    size = 16 if value.dtype == ir.DataType.STRING else value.dtype.itemsize
    return math.ceil(math.prod(_sizes(value)) * size)


def _agrees(node: ir.Node, rule: Callable[[ir.Node, list[Any]], tuple[int, ...]]) -> bool:
    """Whether the shapes of the inputs of a node fit each other, and make that of its output."""
    try:
        shape = rule(node, [tuple(_sizes(v)) for v in node.inputs if v is not None])
    except ValueError:
        return False
    return list(shape) == _sizes(node.outputs[0])


def _broadcast(_: ir.Node, shapes: list[Any]) -> tuple[int, ...]:
    return np.broadcast_shapes(*shapes)


def _multiplied(node: ir.Node, shapes: list[Any]) -> tuple[int, ...]:
    """The shape of a product of matrices; ValueError where there is none."""
    a, b, *rest = shapes
    if node.op_type == "Gemm":
        flags = [node.attributes.get(name) for name in ("transA", "transB")]
        a, b = (s[::-1] if f and f.as_int() else s for s, f in zip((a, b), flags, strict=True))
    if not a or not b or a[-1] != b[-2:][0] or (node.op_type == "Gemm" and len(a) + len(b) != 4):
        raise ValueError
    rows, columns = a[-2:-1], b[-1:] if len(b) > 1 else ()
    product = (*np.broadcast_shapes(a[:-2], b[:-2]), *rows, *columns)
    if rest and np.broadcast_shapes(product, *rest) != product:
        raise ValueError
    return product


def _names(node: ir.Node) -> list[str]:
    return [str(v.name) for v in node.outputs]


def _feeds(inputs: Sequence[ir.Value | None], arrays: Sequence[Array | None]) -> dict[str, Array]:
    pairs = zip(inputs, arrays, strict=True)
    return {str(v.name): a for v, a in pairs if v is not None and a is not None}


def run_nodes(
    nodes: Sequence[ir.Node | onnx.NodeProto],
    feeds: Mapping[str, Array],
    outputs: Sequence[str],
    version: int,
) -> list[Array]:
    """What nodes of the standard domain give, by onnx's reference implementation.

    Args:
        nodes: the nodes, in order.
        feeds: what the values hold that they read.
        outputs: the names of the results.
        version: the version of the opset.

    Returns:
        One array for each name.
    """
    from onnx.reference import ReferenceEvaluator

    graph = onnx.helper.make_graph(
        [n if isinstance(n, onnx.NodeProto) else node_to_proto(n) for n in nodes],
        "weights",
        [onnx.ValueInfoProto(name=name) for name in feeds],
        [onnx.ValueInfoProto(name=name) for name in outputs],
    )
    imports = [onnx.helper.make_opsetid("", version)]
    run = ReferenceEvaluator(onnx.helper.make_model(graph, opset_imports=imports))
    results: Any = run.run(None, dict(feeds))
    return [np.asarray(result) for result in results]

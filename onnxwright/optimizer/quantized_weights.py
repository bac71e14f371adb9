"""Weights of eight bits that are cast and scaled in the graph: DequantizeLinear in their place.

A weight stays as small as it is in the model, and runtimes know the operator.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

import onnx_ir as ir

from onnxwright.optimizer.dequantized_products import multiply_dequantized
from onnxwright.optimizer.weight_sources import (
    Derived,
    Names,
    combined,
    drop_unused,
)

_EIGHT_BITS = {ir.DataType.INT8: 10, ir.DataType.UINT8: 10, ir.DataType.FLOAT8E4M3FN: 19,
               ir.DataType.FLOAT8E5M2: 19}  # fmt: skip
_INTEGERS = (ir.DataType.INT8, ir.DataType.UINT8)
_PER_AXIS_SINCE = 13
_HALF_SINCE = 19


def dequantize_weights(model: ir.Model, names: Collection[str]) -> None:
    """Replace Cast and Mul after weights of eight bits by DequantizeLinear.

    `Mul(Cast(w), s)` and `Mul(MatMul(x, Cast(w)), s)` become one operator on the weight, where
    `s` is a weight too and has one number, or one for each place of an axis.  Products are MatMul
    of the dequantized weight, which ONNX Runtime computes in one kernel; unless its session says
    otherwise, that rounds the other operand to eight bits
    (`session.qdq_matmulnbits_accuracy_level`).

    Args:
        model: the model; it is changed.
        names: the initializers to look at.
    """
    version = model.graph.opset_imports.get("", 1)
    for name in names:
        value = model.graph.initializers.get(name)
        since = None if value is None or value.dtype is None else _EIGHT_BITS.get(value.dtype)
        if value is None or since is None or version < max(since, _PER_AXIS_SINCE):
            continue
        for use in list(value.uses()):
            if use.node.op_type == "Cast" and not use.node.domain:
                _dequantize(model.graph, value, use.node, version)
    multiply_dequantized(model)


def _dequantize(graph: ir.Graph, value: ir.Value, node: ir.Node, version: int) -> None:
    wide = node.outputs[0]
    half = wide.dtype == ir.DataType.FLOAT16 and version >= _HALF_SINCE
    reader = _only_reader(wide)
    if reader is None or (wide.dtype != ir.DataType.FLOAT and not half):
        return
    if reader.op_type == "Mul":
        result = reader.outputs[0]
        if value.dtype in _INTEGERS and any(_is_factor(u.node, result) for u in result.uses()):
            product = _only_reader(result)
            if product is not None and _is_of_matrices(value, product):
                _multiply(graph, value, node, reader, wide, product, product)
            return
        _scale(graph, value, node, reader, wide)
    elif reader.op_type == "MatMul" and _is_factor(reader, wide):
        scaled = _only_reader(reader.outputs[0])
        if scaled is not None and scaled.op_type == "Mul" and _is_of_matrices(value, reader):
            _multiply(graph, value, node, scaled, reader.outputs[0], reader, scaled)


def _only_reader(value: ir.Value) -> ir.Node | None:
    """The node that reads a value, where it is one and nothing else does."""
    uses = list(value.uses())
    return uses[0].node if len(uses) == 1 and not value.is_graph_output() else None


def _is_factor(node: ir.Node, value: ir.Value) -> bool:
    """Whether a product reads a value as its second operand."""
    return node.op_type in ("MatMul", "Gemm") and not node.domain and node.inputs[1] is value


def _is_of_matrices(value: ir.Value, product: ir.Node) -> bool:
    """Whether a product is of two matrices and reads the second one as it is stored."""
    ranks = {len(v.shape) for v in product.inputs[:2] if v is not None and v.shape is not None}
    have_ranks = all(v is not None and v.shape is not None for v in product.inputs[:2])
    transposed = product.attributes.get("transB")
    plain = transposed is None or not transposed.as_int()
    return len(value.uses()) == 1 and have_ranks and ranks == {2} and plain


def _scale(
    graph: ir.Graph, value: ir.Value, cast: ir.Node, scaled: ir.Node, factor: ir.Value
) -> None:
    """DequantizeLinear for the Mul of a weight."""
    scales = _scales(scaled, factor)
    axis = None if scales is None else _axis(value, scales, last_only=False)
    if scales is None or axis is None:
        return
    dequantize = _dequantized(graph, value, scales, axis, cast)
    ir.convenience.replace_nodes_and_values(
        graph, scaled, [scaled, cast], [dequantize], scaled.outputs, dequantize.outputs
    )
    drop_unused([scales])


def _multiply(
    graph: ir.Graph,
    value: ir.Value,
    cast: ir.Node,
    scaled: ir.Node,
    factor: ir.Value,
    product: ir.Node,
    last: ir.Node,
) -> None:
    """The product of a dequantized weight for one and its Mul, of which `last` comes last."""
    scales = _scales(scaled, factor)
    axis = None if scales is None else _axis(value, scales, last_only=last is scaled)
    if scales is None or axis is None:
        return
    dequantize = _dequantized(graph, value, scales, axis, cast)
    dequantize.outputs[0].name = cast.outputs[0].name
    inputs = [product.inputs[0], dequantize.outputs[0], *product.inputs[2:]]
    whole = ir.Node("", product.op_type, inputs, list(product.attributes.values()), num_outputs=1)
    whole.name = product.name
    whole.metadata_props.update(product.metadata_props)
    gone = [last, product if last is scaled else scaled, cast]
    ir.convenience.replace_nodes_and_values(
        graph, last, gone, [dequantize, whole], last.outputs, whole.outputs
    )
    drop_unused([scales])


def _scales(scaled: ir.Node, factor: ir.Value) -> ir.Value | None:
    """What a Mul multiplies a value with, where it is a weight of the same type."""
    scales = scaled.inputs[1] if scaled.inputs[0] is factor else scaled.inputs[0]
    if scales is None or scales is factor or not _is_stored(scales):
        return None
    return scales if scales.dtype == factor.dtype else None


def _dequantized(
    graph: ir.Graph, value: ir.Value, scales: ir.Value, axis: int, cast: ir.Node
) -> ir.Node:
    """DequantizeLinear of a weight; the axis is -1 for one scale."""
    steps = _flat(graph, scales, keep=axis >= 0)
    attributes = [] if axis < 0 else [ir.AttrInt64("axis", axis)]
    dequantize = ir.Node("", "DequantizeLinear", [value, steps], attributes, num_outputs=1)
    dequantize.name = cast.name
    dequantize.metadata_props.update(cast.metadata_props)
    result = dequantize.outputs[0]
    result.type, result.shape = cast.outputs[0].type, value.shape
    return dequantize


def _is_stored(value: ir.Value) -> bool:
    return value.is_initializer() and not value.is_graph_input() and value.shape is not None


def _axis(value: ir.Value, scales: ir.Value, *, last_only: bool) -> int | None:
    """The axis along which scales differ; -1 for one scale, None where it is another form."""
    shape, steps = _sizes(value), _sizes(scales)
    if shape is None or steps is None or len(steps) > len(shape):
        return None
    steps = [1] * (len(shape) - len(steps)) + steps
    several = [n for n, size in enumerate(steps) if size != 1]
    if not several:
        return -1
    if len(several) > 1 or steps[several[0]] != shape[several[0]]:
        return None
    return None if last_only and several[0] != len(shape) - 1 else several[0]


def _flat(graph: ir.Graph, scales: ir.Value, *, keep: bool) -> ir.Value:
    """The scales as a vector, or as one number."""
    sizes = _sizes(scales) or []
    shape = [math.prod(sizes)] if keep else []
    if sizes == shape:
        return scales

    def flat(tensors: Sequence[Any]) -> Derived:
        dtype = tensors[0].dtype
        return Derived(lambda arrays: arrays[0].reshape(shape), tensors, dtype, shape)

    return Names(graph).add(f"{scales.name}.flat", combined([scales], flat), described=False)


def _sizes(value: ir.Value) -> list[int] | None:
    """The shape of a value, where all of it is known."""
    if value.shape is None:
        return None
    sizes = [n for n in value.shape if isinstance(n, int)]
    return sizes if len(sizes) == len(value.shape) else None

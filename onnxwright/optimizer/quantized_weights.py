"""Weights of eight bits that are cast and scaled in the graph: DequantizeLinear in their place.

A weight stays as small as it is in the model, and runtimes know the operator.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import onnx_ir as ir

from onnxwright.optimizer.pretranspose_weights import permuted
from onnxwright.optimizer.weight_sources import (
    Derived,
    Names,
    combined,
    drop_unused,
    set_source,
    source_of,
)

_EIGHT_BITS = {ir.DataType.INT8: 10, ir.DataType.UINT8: 10, ir.DataType.FLOAT8E4M3FN: 19,
               ir.DataType.FLOAT8E5M2: 19}  # fmt: skip
_INTEGERS = (ir.DataType.INT8, ir.DataType.UINT8)
_PER_AXIS_SINCE = 13
_HALF_SINCE = 19


def dequantize_weights(model: ir.Model, names: Collection[str]) -> None:
    """Let DequantizeLinear take the place of Cast and Mul behind weights of eight bits.

    `Mul(Cast(w), s)` and `Mul(MatMul(x, Cast(w)), s)` become one operator on the weight, where
    `s` is a weight too and has one number, or one for each place of an axis.  A product of two
    matrices becomes a Gemm that reads the weight transposed: in all other forms ONNX Runtime rounds
    the other operand to eight bits as well (`session.qdq_matmulnbits_accuracy_level`).

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
    for node in list(model.graph):
        if node.op_type == "DequantizeLinear" and node.inputs[0] is not None:
            stored = node.inputs[0]
            if stored.is_initializer() and set(source_of(stored).names) & set(names):
                _flatten(model.graph, node)


def _flatten(graph: ir.Graph, node: ir.Node) -> None:
    """Let a Gemm take the place of a MatMul of more axes and a transposed weight."""
    turned = _only_reader(node.outputs[0])
    if turned is None or turned.op_type != "Transpose":
        return
    product = _only_reader(turned.outputs[0])
    if product is None or product.op_type != "MatMul" or not _is_factor(product, turned.outputs[0]):
        return
    x, result, perm = product.inputs[0], product.outputs[0], turned.attributes.get("perm")
    sizes = _sizes(node.outputs[0])
    if x is None or x.shape is None or len(x.shape) < 3 or sizes is None or len(sizes) != 2:
        return
    if perm is None or list(perm.as_ints()) != [1, 0]:
        return
    names, front = Names(graph), list(x.shape)[:-1]
    dynamic = [n for n, size in enumerate(front) if not isinstance(size, int)]
    flat = _new("Reshape", [x, _constant(names, f"{result.name}.rows", [-1, sizes[1]])])
    gemm = _new("Gemm", [flat.outputs[0], node.outputs[0]], transB=1)
    gemm.metadata_props.update(product.metadata_props)
    made = [flat, gemm]
    if len(dynamic) <= 1:
        whole = [n if isinstance(n, int) else -1 for n in front]
        shape = _constant(names, f"{result.name}.sizes", [*whole, sizes[0]])
    else:
        before = _new("Shape", [x], end=-1)
        last = _constant(names, f"{result.name}.last", [sizes[0]])
        joined = _new("Concat", [before.outputs[0], last], axis=0)
        made += [before, joined]
        shape = joined.outputs[0]
    made.append(_new("Reshape", [gemm.outputs[0], shape]))
    for one in made[:-1]:
        one.outputs[0].name = f"{result.name}.{one.op_type.lower()}"
    ir.convenience.replace_nodes_and_values(
        graph, product, [product, turned], made, [result], made[-1].outputs
    )


def _new(kind: str, inputs: list[ir.Value], **attributes: int) -> ir.Node:
    attrs = [ir.AttrInt64(name, value) for name, value in attributes.items()]
    return ir.Node("", kind, inputs, attrs, num_outputs=1)


def _constant(names: Names, name: str, numbers: list[int]) -> ir.Value:
    return names.constant(name, np.array(numbers, np.int64))


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
    """Whether a product of two matrices can be a Gemm that reads a weight transposed."""
    ranks = {len(v.shape) for v in product.inputs[:2] if v is not None and v.shape is not None}
    known = all(v is not None and v.shape is not None for v in product.inputs[:2])
    transposed = product.attributes.get("transB")
    plain = transposed is None or not transposed.as_int()
    return len(value.uses()) == 1 and known and ranks == {2} and plain


def _scale(
    graph: ir.Graph, value: ir.Value, cast: ir.Node, scaled: ir.Node, factor: ir.Value
) -> None:
    """DequantizeLinear for the Mul of a weight."""
    scales = _scales(scaled, factor)
    axis = None if scales is None else _axis(value, scales, last_only=False)
    if scales is None or axis is None:
        return
    made = _dequantized(graph, value, scales, axis, cast)
    ir.convenience.replace_nodes_and_values(
        graph, scaled, [scaled, cast], [made], scaled.outputs, made.outputs
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
    """Gemm of a dequantized weight for a product and its Mul, of which `last` comes last."""
    scales = _scales(scaled, factor)
    axis = None if scales is None else _axis(value, scales, last_only=last is scaled)
    if scales is None or axis is None:
        return
    set_source(value, combined([value], lambda tensors: permuted(tensors[0], [1, 0])))
    made = _dequantized(graph, value, scales, axis if axis < 0 else 1 - axis, cast)
    made.outputs[0].name = cast.outputs[0].name
    attributes = [a for a in product.attributes.values() if a.name != "transB"]
    inputs = [product.inputs[0], made.outputs[0], *product.inputs[2:]]
    gemm = ir.Node("", "Gemm", inputs, [*attributes, ir.AttrInt64("transB", 1)], num_outputs=1)
    gemm.name = product.name
    gemm.metadata_props.update(product.metadata_props)
    gone = [last, product if last is scaled else scaled, cast]
    ir.convenience.replace_nodes_and_values(
        graph, last, gone, [made, gemm], last.outputs, gemm.outputs
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
    made = ir.Node("", "DequantizeLinear", [value, steps], attributes, num_outputs=1)
    made.name = cast.name
    made.metadata_props.update(cast.metadata_props)
    result = made.outputs[0]
    result.type, result.shape = cast.outputs[0].type, value.shape
    return made


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
    found = [n for n in value.shape if isinstance(n, int)]
    return found if len(found) == len(value.shape) else None

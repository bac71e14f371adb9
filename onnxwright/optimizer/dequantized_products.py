"""Products with dequantized weights in the form that runtimes fuse: MatMul of a matrix (K, N).

ONNX Runtime computes `MatMul(x, DequantizeLinear(w))` in one kernel, which reads the small weight.
A weight that Gemm reads transposed, or Transpose, is dequantized in every run.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from onnxwright.optimizer.pretranspose_weights import permuted
from onnxwright.optimizer.weight_sources import Names, combined, is_fixed, set_source


def multiply_dequantized(model: ir.Model) -> None:
    """Store dequantized weights as they are multiplied with, and multiply by MatMul.

    `Gemm(x, DequantizeLinear(w), b)` becomes MatMul and Add; a weight that is read transposed by
    this product alone is stored transposed, with its scales and zero points.  A Gemm whose other
    matrix is dequantized as well and whose result is quantized stays: it is one kernel of integers.

    Args:
        model: the model; it is changed.
    """
    names: Names | None = None
    for node in list(model.graph):
        if node.domain or node.op_type not in ("MatMul", "Gemm") or len(node.inputs) < 2:
            continue
        matrix, turned = _matrix(node)
        dequantize = None if matrix is None else matrix.producer()
        if dequantize is None or not _is_of_weight(dequantize) or _is_of_integers(node):
            continue
        names = names or Names(model.graph)
        if turned:
            matrix = _turned(dequantize, node, names)
        if node.op_type == "Gemm":
            scale = dequantize.inputs[1]
            assert scale is not None
            assert scale.dtype is not None  # of an initializer
            _multiply(model.graph, node, matrix, scale.dtype, names)
        elif node.inputs[1] is not matrix:
            between = node.inputs[1]
            node.replace_input_with(1, matrix)
            _remove_unread(between)


def _matrix(node: ir.Node) -> tuple[ir.Value | None, bool]:
    """The second matrix of a product before a Transpose, and whether it is read transposed."""
    value, flag = node.inputs[1], node.attributes.get("transB")
    turned = flag is not None and not flag.is_ref() and bool(flag.as_int())
    before = None if value is None else value.producer()
    if before is not None and before.op_type == "Transpose" and not before.domain:
        perm = before.attributes.get("perm")
        if perm is not None and not perm.is_ref() and list(perm.as_ints()) == [1, 0]:
            return before.inputs[0], not turned
    return value, turned


def _is_of_integers(node: ir.Node) -> bool:
    """Whether the operand of a Gemm is dequantized, and its result quantized, after Relu or not."""
    x = node.inputs[0]
    before = None if x is None else x.producer()
    if node.op_type != "Gemm" or before is None or before.op_type != "DequantizeLinear":
        return False
    readers = [use.node for use in node.outputs[0].uses()]
    if len(readers) == 1 and readers[0].op_type == "Relu":
        readers = [use.node for use in readers[0].outputs[0].uses()]
    return bool(readers) and all(reader.op_type == "QuantizeLinear" for reader in readers)


def _is_of_weight(node: ir.Node) -> bool:
    """Whether a node dequantizes a matrix that the model holds."""
    if node.op_type != "DequantizeLinear" or node.domain:
        return False
    held = [value for value in node.inputs if value is not None]
    if any(attribute.is_ref() for attribute in node.attributes.values()):
        return False
    return all(map(is_fixed, held)) and held[0].shape is not None and len(held[0].shape) == 2


def _turned(dequantize: ir.Node, reader: ir.Node, names: Names) -> ir.Value:
    """What a dequantized weight is transposed: stored so, where this product alone reads it."""
    result = dequantize.outputs[0]
    parts = [value for value in dequantize.inputs if value is not None]
    alone = [len(value.uses()) == 1 and not value.is_graph_output() for value in (result, *parts)]
    between = reader.inputs[1]
    if between is not result and between is not None:
        alone.append(len(between.uses()) == 1 and not between.is_graph_output())
    if not all(alone):
        if between is not result and reader.op_type == "MatMul":
            assert between is not None
            return between
        turn = ir.node("Transpose", [result], {"perm": [1, 0]})
        turn.outputs[0].type = result.type
        turn.outputs[0].name = names.free(f"{result.name}.transposed")
        assert reader.graph is not None
        reader.graph.insert_before(reader, turn)
        return turn.outputs[0]
    for value in parts:
        if value.shape is not None and len(value.shape) == 2:
            set_source(value, combined([value], lambda tensors: permuted(tensors[0], [1, 0])))
    axis = dequantize.attributes.get("axis")
    place = 1 if axis is None else axis.as_int() % 2
    dequantize.attributes["axis"] = ir.AttrInt64("axis", 1 - place)
    result.shape = parts[0].shape
    return result


def _multiply(graph: ir.Graph, node: ir.Node, matrix: Any, kind: ir.DataType, names: Names) -> None:
    """MatMul, and what Gemm does beside it, in its place."""
    old, between = node.outputs[0], node.inputs[1]
    new: list[ir.Node] = []

    def add(kind: str, inputs: list[Any], part: str, **attributes: Any) -> ir.Value:
        added = ir.node(kind, inputs, attributes)
        added.outputs[0].name = names.free(f"{old.name}.{part}")
        added.outputs[0].type, added.outputs[0].shape = old.type, old.shape
        added.metadata_props.update(node.metadata_props)
        new.append(added)
        return added.outputs[0]

    def number(name: str) -> float:
        held = node.attributes.get(name)
        return 1.0 if held is None else float(held.as_float())

    def scaled(value: ir.Value, factor: float, part: str) -> ir.Value:
        if factor == 1:
            return value
        held = names.constant(f"{old.name}.{part}", np.array(factor, kind.numpy()))
        result = add("Mul", [value, held], f"{part}_scaled")
        result.shape = value.shape
        return result

    x = node.inputs[0]
    flag = node.attributes.get("transA")
    if flag is not None and flag.as_int():
        x = add("Transpose", [x], "transposed", perm=[1, 0])
        x.shape = None
    result = scaled(add("MatMul", [x, matrix], "product"), number("alpha"), "alpha")
    bias = node.inputs[2] if len(node.inputs) > 2 else None
    if bias is not None and number("beta") != 0:
        result = add("Add", [result, scaled(bias, number("beta"), "beta")], "sum")
    name = node.name
    ir.convenience.replace_nodes_and_values(graph, node, [node], new, [old], [result])
    next(n for n in new if n.op_type == "MatMul").name = name
    if between is not matrix:
        _remove_unread(between)


def _remove_unread(value: ir.Value | None) -> None:
    """Remove a Transpose that nothing reads any more."""
    node = None if value is None else value.producer()
    if node is None or node.graph is None or value is None or node.op_type != "Transpose":
        return
    if not value.uses() and not value.is_graph_output():
        node.graph.remove(node, safe=True)

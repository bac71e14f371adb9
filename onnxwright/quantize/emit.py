"""The nodes that stand for products and tables of quantized weights.

Source: ONNX DequantizeLinear 13 and 21, MatMulInteger 10, DynamicQuantizeLinear 11; ONNX Runtime's
MatMulNBits and GatherBlockQuantized (the page ContribOperators of that project).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir

from onnxwright.ir.names import Namer
from onnxwright.quantize.rounding import Array, Rounded, packed, packed_rows
from onnxwright.quantize.weights import WeightUse

_TYPES = {(4, True): ir.DataType.INT4, (4, False): ir.DataType.UINT4,
          (8, True): ir.DataType.INT8, (8, False): ir.DataType.UINT8}  # fmt: skip
_MICROSOFT = "com.microsoft"
_MIDDLE = 128
_ONE_MORE = ((0, 1), (0, 0))


class Emitter:
    """Writes nodes before one node of a graph.

    Args:
        names: gives names that are free.
        before: the node.
        graph: its graph.
        constants: whether weights are Constant nodes, as in the graph of a function.
    """

    def __init__(self, names: Namer, before: ir.Node, graph: ir.Graph, constants: bool) -> None:
        self._names, self._before, self._graph = names, before, graph
        self._constants = constants
        self.nodes: list[ir.Node] = []

    def weight(self, name: str, tensor: Any) -> ir.Value:
        """A new weight of the graph."""
        unique = self._names.unique(name)
        if self._constants:
            constant = self.node("Constant", [], unique, value=tensor)
        else:
            constant = ir.Value(
                name=unique, type=ir.TensorType(tensor.dtype), shape=ir.Shape(tensor.shape),
                const_value=tensor,
            )  # fmt: skip
            self._graph.register_initializer(constant)
        return constant

    def array(self, name: str, array: Any) -> ir.Value:
        """A new weight of the graph that holds an array."""
        return self.weight(name, ir.tensor(array))

    def node(
        self, kind: str, inputs: list[ir.Value | None], name: str, domain: str = "", **attrs: Any
    ) -> ir.Value:
        """A node with one output of the given name."""
        return self.several(kind, inputs, [name], domain, **attrs)[0]

    def several(
        self, kind: str, inputs: list[ir.Value | None], outputs: list[str], domain: str = "",
        **attrs: Any,
    ) -> list[ir.Value]:  # fmt: skip
        """A node with several outputs."""
        node = ir.node(kind, inputs, attrs, domain=domain, num_outputs=len(outputs))
        for value, name in zip(node.outputs, outputs, strict=True):
            value.name = name
        node.metadata_props.update(self._before.metadata_props)
        self.nodes.append(node)
        return list(node.outputs)

    def named(self, hint: str) -> str:
        """A name that no value has."""
        return self._names.unique(hint)

    def flush(self) -> None:
        """Put the nodes before the node."""
        self._graph.insert_before(self._before, self.nodes)
        self.nodes = []

    def replace(self, result: ir.Value) -> None:
        """Let the value that was made last take the place of the node's output."""
        old = self._before.outputs[0]
        result.type, result.shape = old.type, old.shape
        name, node_name = old.name, self._before.name
        self.nodes[-1].name = None
        main = next((n for n in self.nodes if n.op_type.startswith(("MatMul", "Gather"))), None)
        ir.convenience.replace_nodes_and_values(
            self._graph, self._before, [self._before], self.nodes, [old], [result]
        )
        result.name = name
        if main is not None and node_name:
            main.name = node_name


class Weights:
    """The tensors of one quantized weight, and their values in the graphs that read them.

    Args:
        name: the name of the weight.
        made: its integers and scales.
        kind: the element type of the operand.
        copies: whether each reader has values of its own: ONNX Runtime fuses DequantizeLinear with
            a product only where nothing else reads the integers.
    """

    def __init__(self, name: str, matrix: Rounded, kind: ir.DataType, *, copies: bool) -> None:
        self.name, self.matrix, self.kind = name, matrix, kind
        self._copies = copies
        self._tensors: dict[str, Any] = {}
        self._values: dict[tuple[int, str], ir.Value] = {}

    def value(self, write: Emitter, part: str, graph: ir.Graph, make: Any) -> ir.Value:
        """The value of one part, made at the first reader of a graph."""
        if part not in self._tensors:
            self._tensors[part] = make()
        # NOTE: weights are in the graph that reads them: ONNX Runtime does not load a model in
        # which a product of a body reads DequantizeLinear of a weight of the graph around it.
        key = (id(graph), part)
        if key in self._values and not self._copies:
            return self._values[key]
        self._values[key] = write.weight(f"{self.name}_{part}", self._tensors[part])
        return self._values[key]

    def integers(self, array: Array, signed: bool) -> Any:
        """A tensor of integers of the bits of the weight."""
        kind = _TYPES[self.matrix.bits, signed]
        if self.matrix.bits == 8:
            return ir.Tensor(np.ascontiguousarray(array), kind)
        return ir.PackedTensor(packed(array), kind, shape=ir.Shape(array.shape))

    def floats(self, array: Array) -> Any:
        """A tensor of scales."""
        return ir.Tensor(np.ascontiguousarray(array), self.kind)


def dequantized(write: Emitter, weights: Weights, use: WeightUse) -> ir.Value:
    """DequantizeLinear of a weight: (K, N), in the type of the operand."""
    matrix, graph = weights.matrix, use.graph
    blocked = bool(matrix.block)
    scale = matrix.scale if blocked else matrix.scale.reshape(-1)
    inputs: list[ir.Value | None] = [
        weights.value(
            write, "quantized", graph, lambda: weights.integers(matrix.values, matrix.signed)
        ),
        weights.value(write, "scale", graph, lambda: weights.floats(scale)),
    ]
    if matrix.zero is not None:
        zero = matrix.zero if blocked else matrix.zero.reshape(-1)
        inputs.append(weights.value(
            write, "zero_point", graph, lambda: weights.integers(zero, matrix.signed)
        ))  # fmt: skip
    attrs: dict[str, Any] = {"axis": 1}
    if blocked:
        attrs = {"axis": 0, "block_size": matrix.block}
    result = write.node(
        "DequantizeLinear", inputs, write.named(f"{weights.name}_dequantized"), **attrs
    )
    result.type, result.shape = ir.TensorType(weights.kind), ir.Shape(matrix.values.shape)
    return result


def product(write: Emitter, weights: Weights, use: WeightUse, factor: Any) -> None:
    """A MatMul in place of MatMul or Gemm; `factor(x)` multiplies with the weight."""
    node = use.node
    x = node.inputs[0]
    name = node.outputs[0].name
    if node.op_type == "Gemm" and _attribute(node, "transA", 0):
        x = write.node("Transpose", [x], write.named(f"{name}_transposed"), perm=[1, 0])
    result = factor(x)
    if node.op_type == "Gemm":
        result = _scaled_sum(write, node, result, weights.kind)
    write.replace(result)


def _scaled_sum(write: Emitter, node: ir.Node, result: ir.Value, kind: ir.DataType) -> ir.Value:
    """What Gemm computes after the product: `alpha * result + beta * C`."""
    name = node.outputs[0].name
    alpha, beta = _attribute(node, "alpha", 1.0), _attribute(node, "beta", 1.0)
    if alpha != 1:
        factor = write.array(f"{name}_alpha", np.array(alpha, kind.numpy()))
        result = write.node("Mul", [result, factor], write.named(f"{name}_scaled"))
    bias = node.inputs[2] if len(node.inputs) > 2 else None
    if bias is None or beta == 0:
        return result
    if beta != 1:
        factor = write.array(f"{name}_beta", np.array(beta, kind.numpy()))
        bias = write.node("Mul", [bias, factor], write.named(f"{name}_bias"))
    return write.node("Add", [result, bias], write.named(f"{name}_sum"))


def _attribute(node: ir.Node, name: str, default: Any) -> Any:
    attribute = node.attributes.get(name)
    return default if attribute is None else attribute.value


def multiplied(write: Emitter, weights: Weights, use: WeightUse) -> Any:
    """`x @ DequantizeLinear(w)`."""

    def factor(x: ir.Value) -> ir.Value:
        matrix = dequantized(write, weights, use)
        return write.node("MatMul", [x, matrix], write.named(f"{use.node.outputs[0].name}_product"))

    return factor


def multiplied_nbits(
    write: Emitter, weights: Weights, use: WeightUse, accuracy_level: int | None
) -> Any:
    """MatMulNBits: the weight is (N, blocks, bytes), its scales (N, blocks)."""
    matrix, graph = weights.matrix, use.graph
    rows, columns = matrix.values.shape

    def bytes_of() -> Any:
        values, _ = matrix.unsigned()
        middle = 1 << (matrix.bits - 1)
        whole = np.full((matrix.scale.shape[0] * matrix.block, columns), middle, np.uint8)
        whole[:rows] = values
        cut = np.ascontiguousarray(whole.T).reshape(columns, -1, matrix.block)
        return ir.Tensor(packed_rows(cut) if matrix.bits == 4 else cut)

    def zeros_of(zero: Array) -> Any:
        turned = np.ascontiguousarray(zero.T)
        return ir.Tensor(packed_rows(turned) if matrix.bits == 4 else turned)

    def factor(x: ir.Value) -> ir.Value:
        inputs: list[ir.Value | None] = [
            x,
            weights.value(write, f"q{matrix.bits}", graph, bytes_of),
            weights.value(write, "scales", graph, lambda: weights.floats(matrix.scale.T)),
        ]
        zero = matrix.unsigned()[1]
        if zero is not None:
            inputs.append(weights.value(write, "zero_points", graph, lambda: zeros_of(zero)))
        attrs = {"K": rows, "N": columns, "bits": matrix.bits, "block_size": matrix.block}
        if accuracy_level is not None:
            attrs["accuracy_level"] = accuracy_level
        name = write.named(f"{use.node.outputs[0].name}_product")
        return write.node("MatMulNBits", inputs, name, _MICROSOFT, **attrs)

    return factor


def multiplied_integers(
    write: Emitter, weights: Weights, use: WeightUse, rounded: dict[Any, list[ir.Value]]
) -> Any:
    """MatMulInteger of activations that are rounded in each run, and the scales of both.

    The weight is UINT8: products of UINT8 and INT8 saturate in ONNX Runtime on older processors.
    """
    matrix, graph = weights.matrix, use.graph
    wide = weights.kind is not ir.DataType.FLOAT

    def factor(x: ir.Value) -> ir.Value:
        name = use.node.outputs[0].name
        key = (id(graph), id(x))
        if key not in rounded:
            y = x
            if wide:
                y = write.node("Cast", [x], write.named(f"{x.name}_float"), to=1)
            outputs = [write.named(f"{x.name}_{part}") for part in ("rounded", "step", "zero")]
            rounded[key] = write.several("DynamicQuantizeLinear", [y], outputs)
        values, zero = matrix.unsigned()
        middle = ir.Tensor(np.array(_MIDDLE, np.uint8))
        integers, step, place = rounded[key]
        product = write.node("MatMulInteger", [
            integers, weights.value(write, "quantized", graph, lambda: ir.Tensor(values)), place,
            weights.value(write, "zero_point", graph, lambda: middle if zero is None else ir.Tensor(
                zero.reshape(-1)
            )),
        ], write.named(f"{name}_integers"))  # fmt: skip
        as_float = write.node("Cast", [product], write.named(f"{name}_float"), to=1)
        steps = ir.Tensor(matrix.scale.reshape(-1).astype(np.float32))
        scale = write.node(
            "Mul", [step, weights.value(write, "scale", graph, lambda: steps)],
            write.named(f"{name}_scale"),
        )  # fmt: skip
        result = write.node("Mul", [as_float, scale], write.named(f"{name}_product"))
        if wide:
            result = write.node("Cast", [result], write.named(f"{name}_narrow"), to=weights.kind)
        return result

    return factor


def gathered_block_quantized(write: Emitter, weights: Weights, use: WeightUse) -> None:
    """GatherBlockQuantized: the table is (rows, bytes), its scales (rows, blocks).

    ONNX Runtime 1.23 reads other zero points than those of a row where an odd number of them has
    four bits each: such a table has one more block, which a Slice leaves out.
    """
    matrix, graph = weights.matrix, use.graph
    values, zero = matrix.unsigned()
    scale, width = matrix.scale, len(values)
    if matrix.bits == 4 and zero is not None and len(zero) % 2:
        scale, zero = np.pad(scale, _ONE_MORE, "edge"), np.pad(zero, _ONE_MORE, "edge")
        values = np.pad(values, ((0, len(scale) * matrix.block - width), (0, 0)))

    def bytes_of(array: Array) -> Any:
        turned = np.ascontiguousarray(array.T)
        return ir.Tensor(packed_rows(turned) if matrix.bits == 4 else turned)

    inputs = [
        weights.value(write, f"q{matrix.bits}", graph, lambda: bytes_of(values)),
        use.node.inputs[1],
        weights.value(write, "scales", graph, lambda: weights.floats(scale.T)),
    ]
    if zero is not None:
        inputs.append(weights.value(write, "zero_points", graph, lambda: bytes_of(zero)))
    name = use.node.outputs[0].name
    rows = write.node(
        "GatherBlockQuantized", inputs, write.named(f"{name}_rows"), _MICROSOFT,
        gather_axis=0, quantize_axis=1, block_size=matrix.block, bits=matrix.bits,
    )  # fmt: skip
    if len(scale) > len(matrix.scale):
        bounds = [write.array(f"{name}_{part}", np.array([number], np.int64))
                  for part, number in (("start", 0), ("width", width), ("axis", -1))]  # fmt: skip
        rows = write.node("Slice", [rows, *bounds], write.named(f"{name}_part"))
    write.replace(rows)


def gathered(write: Emitter, weights: Weights, use: WeightUse, *, blocks: bool) -> None:
    """Rows of integers are gathered, and only these dequantized.

    Gather of ONNX takes no INT4: two elements are in a byte, the first half of a row in the low
    half of the bytes, so that one Concat brings them in order.

    Args:
        write: where nodes go.
        weights: the table, rounded as (width, rows).
        blocks: whether DequantizeLinear has blocks (opset 21).
    """
    matrix, graph = weights.matrix, use.graph
    name, ids = use.node.outputs[0].name, use.node.inputs[1]
    values, zero = matrix.unsigned()
    width = values.shape[0]

    def rows_of(part: str, make: Any) -> ir.Value:
        table = weights.value(write, part, graph, make)
        return write.node("Gather", [table, ids], write.named(f"{name}_{part}"), axis=0)

    scale = rows_of("row_scale", lambda: weights.floats(matrix.scale.T))
    if matrix.bits == 8:
        integers = rows_of("rows", lambda: ir.Tensor(np.ascontiguousarray(values.T)))
    else:
        half = width // 2
        pairs = rows_of("rows", lambda: ir.Tensor(
            np.ascontiguousarray((values[:half] | (values[half:] << np.uint8(4))).T)
        ))  # fmt: skip
        low = write.node(
            "BitwiseAnd", [pairs, write.array(f"{name}_mask", np.array(15, np.uint8))],
            write.named(f"{name}_low"),
        )  # fmt: skip
        high = write.node(
            "BitShift", [pairs, write.array(f"{name}_shift", np.array(4, np.uint8))],
            write.named(f"{name}_high"), direction="RIGHT",
        )  # fmt: skip
        integers = write.node("Concat", [low, high], write.named(f"{name}_integers"), axis=-1)
    if zero is not None:
        zeros = rows_of("row_zero_point", lambda: ir.Tensor(np.ascontiguousarray(zero.T)))
    else:
        middle = ir.tensor(np.array([1 << (matrix.bits - 1)], np.uint8))
        sizes = write.node("Shape", [scale], write.named(f"{name}_sizes"))
        zeros = write.node("ConstantOfShape", [sizes], write.named(f"{name}_middle"), value=middle)
    result = write.named(f"{name}_dequantized")
    if blocks:
        # Of one scale for a row, the block is the row.
        block = matrix.block or width
        write.replace(write.node(
            "DequantizeLinear", [integers, scale, zeros], result, axis=-1, block_size=block
        ))  # fmt: skip
        return
    apart = [
        write.node("Cast", [v], write.named(f"{name}_float"), to=weights.kind)
        for v in (integers, zeros)
    ]
    moved = write.node("Sub", list(apart), write.named(f"{name}_moved"))
    write.replace(write.node("Mul", [moved, scale], result))

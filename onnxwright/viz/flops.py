"""Estimated floating point operations of a node, where the shapes are known.

One multiplication or one addition counts as one; so a multiply-add counts as two (Golub and Van
Loan, Matrix Computations, section 1.1.15: a product of m-by-k and k-by-n takes 2mkn).  What an
operator computes is taken from the ONNX operator reference; each formula stands in `_RULES`.
Operators that only move, select, compare shapes or cast count as zero; comparisons, logic and
integer arithmetic are counted like floating point.  These are estimates of the work a straight
implementation does, not of what a runtime executes after fusing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import onnx

from onnxwright.types.kinds import OnnxType, TensorType

Sizes = tuple[int, ...]


class _Unknown(Exception):  # noqa: N818 - a signal inside this file
    """A shape that a formula needs is not known."""


class _Node:
    """What the formulas see of a node: shapes of its inputs and outputs, its attributes."""

    def __init__(self, node: Any, types: Mapping[str, OnnxType], dims: Mapping[str, int]) -> None:
        self.node = node
        self.types = types
        self.dims = dims

    def _shape(self, names: Sequence[str], index: int) -> Sizes:
        kind = self.types.get(names[index]) if index < len(names) else None
        if not isinstance(kind, TensorType) or kind.shape is None:
            raise _Unknown
        sizes = []
        for dim in kind.shape:
            size = dim if isinstance(dim, int) else self.dims.get(dim or "")
            if size is None:
                raise _Unknown
            sizes.append(size)
        return tuple(sizes)

    def input(self, index: int) -> Sizes:
        """The shape of an input."""
        return self._shape(self.node.input, index)

    def output(self, index: int = 0) -> Sizes:
        """The shape of an output."""
        return self._shape(self.node.output, index)

    def has(self, index: int) -> bool:
        """Whether an optional input is given."""
        return index < len(self.node.input) and bool(self.node.input[index])

    def attribute(self, name: str, default: Any = None) -> Any:
        """The value of an attribute."""
        for attribute in self.node.attribute:
            if attribute.name == name:
                return onnx.helper.get_attribute_value(attribute)
        return default


def _matmul(n: _Node) -> int:
    """2 * (elements of the result) * (length of the dot products)."""
    return 2 * math.prod(n.output()) * n.input(0)[-1]


def _gemm(n: _Node) -> int:
    """2MNK, MN for adding C, and MN for each of alpha and beta that is not one."""
    inner = n.input(0)[0 if n.attribute("transA", 0) else 1]
    added = n.has(2)
    more = added + (n.attribute("alpha", 1.0) != 1) + (added and n.attribute("beta", 1.0) != 1)
    return math.prod(n.output()) * int(2 * inner + more)


def _conv(n: _Node) -> int:
    """2 * (elements of the result) * (channels of a group * kernel), and one for the bias."""
    result = math.prod(n.output())
    bias = n.has({"Conv": 2, "QLinearConv": 8}.get(n.node.op_type, 99))
    weight = n.input(3 if n.node.op_type == "QLinearConv" else 1)
    return 2 * result * math.prod(weight[1:]) + (result if bias else 0)


def _conv_transpose(n: _Node) -> int:
    """2 * (elements of the input) * (output channels of a group * kernel), one for the bias."""
    bias = math.prod(n.output()) if n.has(2) else 0
    return 2 * math.prod(n.input(0)) * math.prod(n.input(1)[1:]) + bias


def _pool(n: _Node) -> int:
    """(elements of the result) * (kernel)."""
    kernel: Sequence[int] = n.attribute("kernel_shape", ())
    return math.prod(n.output()) * math.prod(kernel)


def _recurrent(gates: int) -> Callable[[_Node], int]:
    """2 * gates * hidden * (input + hidden) for each step, batch row and direction, and gates."""

    def rule(n: _Node) -> int:
        steps, batch, width = n.input(0)
        directions, _, hidden = n.input(2)
        cell = 2 * gates * hidden * (width + hidden) + 8 * hidden
        return steps * batch * directions * cell

    return rule


def _attention(n: _Node) -> int:
    """Q times K, mask, softmax, and the result times V: 2BHLSE + BHLS + 5BHLS + 2BHLSV.

    Keys and values of the past are part of S; with fewer heads of keys than of queries (grouped
    queries) the work is that of the queries' heads.
    """
    query, key, value = n.input(0), n.input(1), n.input(2)
    if len(query) == 4:
        batch, heads, rows, width = query
        columns, deep = key[2], value[3]
    else:
        heads = n.attribute("q_num_heads") or 1
        batch, rows, full = query
        width, columns = full // heads, key[1]
        deep = value[2] // (n.attribute("kv_num_heads") or heads)
    if n.has(4):
        columns += n.input(4)[2]
    scores = batch * heads * rows * columns
    return scores * (2 * width + n.has(3) + 5 + 2 * deep)


def _einsum(n: _Node) -> int:
    """The product of the sizes of every letter, for each multiplication and for the sum."""
    equation = n.attribute("equation", b"").decode().replace(" ", "")
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    sizes: dict[str, int] = {}
    for index, term in enumerate(terms):
        shape = n.input(index)
        before, dots, after = term.partition("...")
        free = len(shape) - len(before) - len(after)
        if free < 0 or (free and not dots):
            raise _Unknown
        # Dimensions of an ellipsis are counted from the right; 0 stands for the last.
        names = [*before, *(str(free - 1 - k) for k in range(free)), *after]
        for letter, size in zip(names, shape, strict=True):
            sizes[letter] = max(sizes.get(letter, 1), size)
    if not arrow:
        right = "".join(x for x in sizes if left.count(x) == 1)
    summed = any(letter not in right for letter in sizes if letter.isalpha())
    return (len(terms) - 1 + summed) * math.prod(sizes.values())


def _per_output(cost: int) -> Callable[[_Node], int]:
    """The same for each element of the result."""
    return lambda n: cost * math.prod(n.output())


def _per_input(cost: int) -> Callable[[_Node], int]:
    """The same for each element of the first input."""
    return lambda n: cost * math.prod(n.input(0))


def _many(n: _Node) -> int:
    """One for each element of the result and each further input."""
    return math.prod(n.output()) * max(len(n.node.input) - 1, 0)


# Cost for each element of the result, and of the first input.
_EACH_OUTPUT = {
    1: """
        Add Sub Mul Div Pow Mod BitShift Neg Abs Sqrt Reciprocal Exp Log Sin Cos Tan Asin Acos Atan
        Sinh Cosh Asinh Acosh Atanh Erf Floor Ceil Round Sign Relu PRelu Clip And Or Xor Not Equal
        Less Greater LessOrEqual GreaterOrEqual BitwiseAnd BitwiseOr BitwiseXor BitwiseNot Where
        IsNaN IsInf ThresholdedRelu Shrink
    """,
    2: "LeakyRelu QuantizeLinear DequantizeLinear",
    4: "Sigmoid Tanh HardSigmoid Elu Celu Selu Softplus Softsign HardSwish Swish",
    8: "Gelu Mish",
}
_EACH_INPUT = {
    1: """
        ReduceSum ReduceMax ReduceMin ReduceMean ReduceProd GlobalAveragePool GlobalMaxPool CumSum
        CumProd ArgMax ArgMin
    """,
    2: """
        ReduceL1 ReduceL2 ReduceSumSquare ReduceLogSum ReduceLogSumExp GlobalLpPool LpNormalization
        BatchNormalization
    """,
    5: "Softmax LogSoftmax Hardmax",
    3: "RotaryEmbedding",
    6: "RMSNormalization",
    8: """
        LayerNormalization InstanceNormalization GroupNormalization MeanVarianceNormalization LRN
    """,
}
_FREE = """
    Identity Reshape Flatten Squeeze Unsqueeze Transpose Concat Split Slice Gather GatherElements
    GatherND Scatter ScatterElements ScatterND Pad Tile Expand Cast CastLike Constant
    ConstantOfShape Shape Size Dropout DepthToSpace SpaceToDepth OneHot Range NonZero Compress
    ReverseSequence Trilu EyeLike BitCast TensorScatter SequenceConstruct SequenceAt SequenceInsert
    SequenceEmpty SequenceErase SequenceLength SplitToSequence ConcatFromSequence Optional
    OptionalGetElement OptionalHasElement
"""

_RULES: dict[str, Callable[[_Node], int]] = {
    "MatMul": _matmul,
    "MatMulInteger": _matmul,
    "QLinearMatMul": _matmul,
    "Gemm": _gemm,
    "Conv": _conv,
    "ConvInteger": _conv,
    "QLinearConv": _conv,
    "ConvTranspose": _conv_transpose,
    "AveragePool": _pool,
    "MaxPool": _pool,
    "LpPool": _pool,
    "RNN": _recurrent(1),
    "GRU": _recurrent(3),
    "LSTM": _recurrent(4),
    "Attention": _attention,
    "Einsum": _einsum,
    "Sum": _many,
    "Max": _many,
    "Min": _many,
    "Mean": _many,
    **{op: _per_output(cost) for cost, ops in _EACH_OUTPUT.items() for op in ops.split()},
    **{op: _per_input(cost) for cost, ops in _EACH_INPUT.items() for op in ops.split()},
    **dict.fromkeys(_FREE.split(), lambda _n: 0),
}


def flops_of(
    node: Any, types: Mapping[str, OnnxType], dims: Mapping[str, int] | None = None
) -> int | None:
    """How many floating point operations a node is estimated to take.

    Args:
        node: a NodeProto of the standard domain, without subgraphs.
        types: types of values by name.
        dims: sizes of symbolic dimensions, such as `{"N": 1}`.

    Returns:
        The estimate; None where a shape is not known, or no formula stands here.

    Example:
        >>> from onnxwright.types.dtypes import DType
        >>> kinds = {
        ...     "a": TensorType(DType.FLOAT, (2, 3)),
        ...     "b": TensorType(DType.FLOAT, (3, 4)),
        ...     "c": TensorType(DType.FLOAT, (2, 4)),
        ... }
        >>> flops_of(onnx.helper.make_node("MatMul", ["a", "b"], ["c"]), kinds)
        48
    """
    rule = _RULES.get(node.op_type) if node.domain in ("", "ai.onnx") else None
    if rule is None:
        return None
    try:
        return rule(_Node(node, types, dims or {}))
    except (_Unknown, IndexError, ValueError, TypeError):
        return None  # a shape that is not known, or does not fit the operator


__all__ = ["flops_of"]

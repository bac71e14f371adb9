"""Operations on the bits of numbers, shifts, and logic, to which zero is false."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from onnxwright.atenlib.complexes import Complex
from onnxwright.atenlib.helpers.constants import cast, scalar
from onnxwright.atenlib.helpers.reduce import reduce, reduced_axes
from onnxwright.atenlib.op import AtenFunction, aten, unsupported
from onnxwright.atenlib.ops.binary_functions import frexp
from onnxwright.atenlib.optest import OpTest
from onnxwright.atenlib.protocols import Number, Op, Value, is_value
from onnxwright.atenlib.rules import custom, elementwise
from onnxwright.types.dtypes import DType

BOTH = elementwise(("self", "other"))


def _values(op: Op, a: Any, b: Any) -> tuple[Any, Any]:
    """Two values of one type; one of them may be a Python number."""
    dtype = a.onnx_dtype if is_value(a) else b.onnx_dtype
    return (
        a if is_value(a) else scalar(op, a, dtype),
        b if is_value(b) else scalar(op, b, dtype),
    )


def _of_bits(name: str, doc: str) -> AtenFunction:
    """Register `and`, `or` or `xor`: logical for booleans, bitwise for integers."""

    def body(op: Op, self: Value | Number, other: Value | Number) -> Any:
        a, b = _values(op, self, other)
        prefix = "" if a.onnx_dtype.is_bool else "Bitwise"
        return getattr(op, prefix + name.title())(a, b)

    overloads = [f"aten::bitwise_{name}{kind}" for kind in (".Tensor", ".Scalar", ".Scalar_Tensor")]
    dunders = [f"aten::__{name}__{kind}" for kind in (".Tensor", ".Scalar")]
    tests = [OpTest(f"bitwise_{name}"), OpTest(f"__r{name}__")]
    names = (*overloads, *dunders, f"prims::bitwise_{name}")
    return aten(*names, rule=BOTH, tests=tests, doc=doc)(body)


bitwise_and = _of_bits("and", "The bits set in both.")
bitwise_or = _of_bits("or", "The bits set in one of two.")
bitwise_xor = _of_bits("xor", "The bits set in exactly one of two.")


@aten("aten::bitwise_not", "prims::bitwise_not", rule=elementwise())
def bitwise_not(op: Op, self: Value) -> Value:
    """Each bit the other way."""
    return op.Not(self) if self.onnx_dtype.is_bool else op.BitwiseNot(self)


@aten(
    "aten::bitwise_left_shift.Tensor",
    "aten::bitwise_left_shift.Tensor_Scalar",
    "aten::bitwise_left_shift.Scalar_Tensor",
    "aten::__lshift__.Tensor",
    "aten::__lshift__.Scalar",
    "prims::shift_left",
    rule=BOTH,
)
def left_shift(op: Op, self: Value | Number, other: Value | Number) -> Value:
    """Bits shifted left; the result is 0 where the distance is not below the width."""
    a, b = _values(op, self, other)
    dtype = a.onnx_dtype
    bits = dtype.bits
    distances = op.backend.constant_value(b)
    if distances is not None and ((distances >= 0) & (distances < bits)).all():
        return op.Mul(a, op.constant(np.left_shift(np.array(1, dtype.numpy), distances)))
    distance = op.Cast(b, to=DType.UINT64)
    near = op.Min(distance, 63)
    moved = op.Cast(op.BitShift(op.Cast(a, to=DType.UINT64), near, direction="LEFT"), to=dtype)
    inside = op.Less(distance, bits)
    return op.Where(inside, moved, op.constant(np.array(0, dtype.numpy)))


@aten(
    "aten::bitwise_right_shift.Tensor",
    "aten::bitwise_right_shift.Tensor_Scalar",
    "aten::bitwise_right_shift.Scalar_Tensor",
    "aten::__rshift__.Tensor",
    "aten::__rshift__.Scalar",
    "prims::shift_right_arithmetic",
    rule=BOTH,
)
def right_shift(op: Op, self: Value | Number, other: Value | Number) -> Value:
    """Bits moved down, the sign moved in; nothing else is left past the width."""
    a, b = _values(op, self, other)
    dtype = a.onnx_dtype
    if dtype.is_unsigned:
        moved = _down(op, a, b, 64)
        inside = op.Less(op.Cast(b, to=DType.UINT64), dtype.bits)
        return op.Where(inside, cast(op, moved, dtype), op.constant(np.array(0, dtype.numpy)))
    # The bits of a negative number are turned, moved, and turned back.
    sign = op.Where(op.Less(a, 0), *(op.constant(np.array(v, dtype.numpy)) for v in (-1, 0)))
    moved = op.Cast(_down(op, op.BitwiseXor(a, sign), b, dtype.bits), to=dtype)
    return op.BitwiseXor(moved, sign)


def _down(op: Op, a: Value, b: Value, bits: int) -> Value:
    near = op.Min(op.Cast(b, to=DType.UINT64), bits - 1)
    return op.BitShift(op.Cast(a, to=DType.UINT64), near, direction="RIGHT")


@aten("aten::hash_tensor", rule=custom(lambda a: DType.UINT64))  # noqa: ARG005
def hash_tensor(
    op: Op, self: Value, dim: Sequence[int] = (), *, keepdim: bool = False, mode: int = 0
) -> Value:
    """The exclusive or, over axes, of the numbers as 64 bits: integers, or the bits of doubles."""
    if mode != 0:
        unsupported(f"mode {mode}: torch has none but 0")
    axes = reduced_axes(list(dim), self.rank)
    whole = _bits_of_float(op, self) if self.onnx_dtype.is_float else cast(op, self, DType.INT64)
    if not axes:
        return op.Cast(whole, to=DType.UINT64)
    # A bit of the result is set where it is set in an odd number of numbers.
    places = op.constant(np.arange(64, dtype=np.uint64))
    word = op.Cast(op.Unsqueeze(whole, [-1]), to=DType.UINT64)
    one = op.constant(np.array(1, np.uint64))
    set_ = op.BitwiseAnd(op.BitShift(word, places, direction="RIGHT"), one)
    count = reduce(op, "ReduceSum", op.Cast(set_, to=DType.INT64), axes, keepdim)
    odd = op.BitwiseAnd(op.Cast(count, to=DType.UINT64), one)
    # NOTE: ONNX Runtime sums INT64 as DOUBLE, so that a sum of more than 53 bits is not exact.
    within = op.constant(np.arange(64, dtype=np.uint64) % np.uint64(32))
    shifted = op.Cast(op.BitShift(odd, within, direction="LEFT"), to=DType.INT64)
    last = shifted.rank - 1
    low, high = (
        op.Cast(reduce(op, "ReduceSum", half, [last]), to=DType.UINT64)
        for half in op.Split(shifted, axis=last, num_outputs=2)
    )
    half_word = op.constant(np.array(32, np.uint64))
    return op.BitwiseOr(op.BitShift(high, half_word, direction="LEFT"), low)


def _bits_of_float(op: Op, x: Value) -> Value:
    """The bits of numbers as doubles, in INT64; a NaN as the quiet one without a sign."""
    x = cast(op, x, DType.DOUBLE)
    fraction, exponent = frexp(op, x)
    biased = op.Add(op.Cast(exponent, to=DType.INT64), 1022)
    # Numbers below the normal ones have fewer digits, and the exponent of the least of these.
    digits = op.Add(op.Cast(op.Min(biased, 1), to=DType.DOUBLE), 52.0)
    two = op.constant(np.array(2.0))
    mantissa = op.Cast(op.Mul(op.Abs(fraction), op.Pow(two, digits)), to=DType.INT64)
    bits = op.Add(op.Mul(op.Sub(op.Max(biased, 1), 1), 1 << 52), mantissa)

    def const(value: int) -> Value:
        return op.constant(np.array(value, np.int64))

    bits = op.Where(op.Equal(x, 0.0), const(0), bits)
    bits = op.Where(op.Equal(op.Abs(x), math.inf), const(0x7FF << 52), bits)
    negative = op.Or(op.Less(x, 0.0), op.Less(op.Reciprocal(x), 0.0))
    bits = op.Add(bits, op.Where(negative, const(-(2**63)), const(0)))
    return op.Where(op.IsNaN(x), const(0x7FF8 << 48), bits)


BOOL = custom(lambda _: DType.BOOL)


def truth(op: Op, x: Value) -> Value:
    """Whether the elements of a tensor, real or complex, are not zero."""
    if isinstance(x, Complex):
        return op.Or(truth(op, x.real), truth(op, x.imag))
    return x if x.onnx_dtype.is_bool else op.Cast(x, to=DType.BOOL)


@aten("aten::logical_and", rule=BOOL)
def logical_and(op: Op, self: Value, other: Value) -> Value:
    """Whether both are not zero."""
    return op.And(truth(op, self), truth(op, other))


@aten("aten::logical_or", rule=BOOL)
def logical_or(op: Op, self: Value, other: Value) -> Value:
    """Whether one of two is not zero."""
    return op.Or(truth(op, self), truth(op, other))


@aten("aten::logical_xor", rule=BOOL)
def logical_xor(op: Op, self: Value, other: Value) -> Value:
    """Whether exactly one of two is not zero."""
    return op.Xor(truth(op, self), truth(op, other))


@aten("aten::logical_not", rule=BOOL)
def logical_not(op: Op, self: Value) -> Value:
    """Whether a number is zero."""
    return op.Not(truth(op, self))


for _function in (logical_and, logical_or, logical_xor, logical_not):
    _function.on_complex(_function.body)

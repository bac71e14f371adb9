"""Logical and, or, exclusive or, not: of numbers, zero is false."""

from __future__ import annotations

from onnxwright.atenlib.complexes import Complex
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.protocols import Op, Value
from onnxwright.atenlib.rules import custom
from onnxwright.types.dtypes import DType

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

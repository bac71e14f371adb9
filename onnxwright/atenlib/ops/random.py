"""Tensors of random numbers: uniform, normal and whole ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onnxwright.atenlib.complexes import Complex
from onnxwright.atenlib.helpers import random_numbers
from onnxwright.atenlib.helpers.constants import cast, scalar
from onnxwright.atenlib.helpers.sizes import sizes
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.optest import OpTest
from onnxwright.atenlib.protocols import Op, Size, Value
from onnxwright.atenlib.rules import creation, custom, like
from onnxwright.types.dtypes import DType
from onnxwright.types.promotion import real_of


def working(dtype: DType | None) -> DType:
    """The type numbers are drawn in: DOUBLE where it is asked for, else FLOAT."""
    return DType.DOUBLE if dtype is DType.DOUBLE else DType.FLOAT


def shape_of(op: Op, x: Value) -> list[Any]:
    """The sizes of a value or of a complex tensor."""
    return sizes(op, x.real if isinstance(x, Complex) else x)


def _drawn(op: Op, draw: Any, shape: Sequence[Size], dtype: DType | None) -> Value:
    assert dtype is not None  # the rule fills it in
    if dtype.is_complex:
        part = real_of(dtype)
        # Both parts together have the variance of one.
        factor = 0.5**0.5 if draw is random_numbers.normal else 1.0
        return Complex(*(op.Mul(draw(op, shape, part), factor) for _ in range(2)))
    return cast(op, draw(op, shape, working(dtype)), dtype)


@aten("aten::rand", "aten::rand.generator", rule=creation(), untested="its OpInfo is rand_like's")
def rand(op: Op, size: Sequence[Size], *, dtype: DType | None = None) -> Value:
    """Numbers in [0, 1)."""
    return _drawn(op, random_numbers.uniform, size, dtype)


@aten(
    "aten::randn",
    "aten::randn.generator",
    rule=creation(),
    tests=[OpTest("randn", compare="shape")],
)
def randn(op: Op, size: Sequence[Size], *, dtype: DType | None = None) -> Value:
    """Normally distributed numbers."""
    return _drawn(op, random_numbers.normal, size, dtype)


@aten(
    "aten::rand_like",
    "aten::rand_like.generator",
    rule=creation(like="self"),
    untested="the OpInfo of that name calls randn_like",
    complex="same",
)
def rand_like(op: Op, self: Value, *, dtype: DType | None = None) -> Value:
    """Numbers in [0, 1) in the shape of a tensor."""
    return _drawn(op, random_numbers.uniform, shape_of(op, self), dtype)


@aten(
    "aten::randn_like",
    "aten::randn_like.generator",
    rule=creation(like="self"),
    tests=[OpTest("randn_like", compare="shape"), OpTest("rand_like", compare="shape")],
    complex="same",
)
def randn_like(op: Op, self: Value, *, dtype: DType | None = None) -> Value:
    """Normally distributed numbers in the shape of a tensor."""
    return _drawn(op, random_numbers.normal, shape_of(op, self), dtype)


def whole(op: Op, shape: Sequence[Size], low: Any, high: Any, dtype: DType | None) -> Value:
    """Whole numbers from `low` up to but not `high`."""
    assert dtype is not None  # the rule fills it in
    span = op.Sub(*(scalar(op, n, DType.INT64) for n in (high, low)))
    drawn = op.Mul(random_numbers.uniform(op, shape, DType.DOUBLE), op.Cast(span, to=DType.DOUBLE))
    number = op.Add(op.Cast(op.Floor(drawn), to=DType.INT64), scalar(op, low, DType.INT64))
    return cast(op, number, dtype)


@aten(
    "aten::randint",
    "aten::randint.generator",
    rule=custom(lambda a: a["dtype"] or DType.INT64),
    tests=[OpTest("randint", compare="shape")],
)
def randint(
    op: Op, high: Size, size: Sequence[Size], *, dtype: DType | None = DType.INT64
) -> Value:
    """Whole numbers from 0 up to but not `high`."""
    return whole(op, size, 0, high, dtype or DType.INT64)


@aten(
    "aten::randint.low",
    "aten::randint.low_generator",
    rule=custom(lambda a: a["dtype"] or DType.INT64),
    tests=[OpTest("randint", compare="shape")],
)
def randint_low(
    op: Op, low: Size, high: Size, size: Sequence[Size], *, dtype: DType | None = DType.INT64
) -> Value:
    """Whole numbers from `low` up to but not `high`."""
    return whole(op, size, low, high, dtype or DType.INT64)


@aten(
    "aten::randint_like",
    "aten::randint_like.generator",
    "aten::randint_like.Tensor",
    "aten::randint_like.Tensor_generator",
    rule=creation(like="self"),
    tests=[OpTest("randint_like", compare="shape")],
)
def randint_like(op: Op, self: Value, high: Size, *, dtype: DType | None = None) -> Value:
    """Whole numbers from 0 up to but not `high`, in the shape of a tensor."""
    return whole(op, shape_of(op, self), 0, high, dtype)


@aten(
    "aten::randint_like.low_dtype",
    "aten::randint_like.low_generator_dtype",
    rule=creation(like="self"),
    tests=[OpTest("randint_like", compare="shape")],
)
def randint_like_low(
    op: Op, self: Value, low: Size, high: Size, *, dtype: DType | None = None
) -> Value:
    """Whole numbers from `low` up to but not `high`, in the shape of a tensor."""
    return whole(op, shape_of(op, self), low, high, dtype)


@aten(
    "aten::randperm",
    "aten::randperm.generator",
    rule=custom(lambda a: a["dtype"] or DType.INT64),
    untested="torch has no OpInfo for it",
)
def randperm(op: Op, n: Size, *, dtype: DType | None = DType.INT64) -> Value:
    """The numbers below `n` in a random order: the order that sorts random numbers."""
    drawn = random_numbers.uniform(op, [n], DType.DOUBLE)
    count = op.Unsqueeze(scalar(op, n, DType.INT64), [0])
    return cast(op, op.TopK(drawn, count, _outputs=2)[1], dtype or DType.INT64)


def _normal(op: Op, shape: Sequence[Size], mean: Any, std: Any, dtype: DType | None) -> Value:
    assert dtype is not None  # the rule fills it in
    part = working(dtype)

    def typed(x: Value) -> float | Value:
        return float(x) if isinstance(x, (int, float)) else cast(op, x, part)

    drawn = op.Mul(random_numbers.normal(op, shape, part), typed(std))
    return cast(op, op.Add(drawn, typed(mean)), dtype)


@aten(
    "aten::normal.Tensor_float",
    rule=like("mean"),
    tests=[OpTest("normal", compare="shape"), OpTest("normal:number_mean", compare="shape")],
)
def normal_tensor_float(op: Op, mean: Value, std: float = 1.0) -> Value:
    """Normally distributed numbers around a mean each."""
    return _normal(op, sizes(op, mean), mean, std, mean.onnx_dtype)


@aten("aten::normal.float_Tensor", rule=like("std"), untested="OpInfos call the other overloads")
def normal_float_tensor(op: Op, mean: float, std: Value) -> Value:
    """Normally distributed numbers with a deviation each."""
    return _normal(op, sizes(op, std), mean, std, std.onnx_dtype)


@aten("aten::normal.Tensor_Tensor", rule=like("mean"), tests=[OpTest("normal", compare="shape")])
def normal_tensors(op: Op, mean: Value, std: Value) -> Value:
    """Normally distributed numbers with a mean and a deviation each."""
    shape = sizes(op, op.Add(mean, cast(op, std, mean.onnx_dtype)))
    return _normal(op, shape, mean, std, mean.onnx_dtype)


@aten(
    "aten::normal.float_float",
    rule=creation(),
    tests=[OpTest("normal:number_mean", compare="shape")],
)
def normal_floats(
    op: Op, mean: float, std: float, size: Sequence[Size], *, dtype: DType | None = None
) -> Value:
    """Normally distributed numbers of a shape."""
    return _normal(op, size, mean, std, dtype)


@aten(
    "aten::normal_functional",
    "aten::normal",
    rule=like("self"),
    tests=[OpTest("normal:in_place", compare="shape")],
)
def normal_like(op: Op, self: Value, mean: float = 0.0, std: float = 1.0) -> Value:
    """Normally distributed numbers in the shape of a tensor."""
    return _normal(op, sizes(op, self), mean, std, self.onnx_dtype)


@normal_like.on_complex
def _normal_like_complex(op: Op, self: Complex, mean: float = 0.0, std: float = 1.0) -> Complex:
    shape, dtype = sizes(op, self.real), self.real.onnx_dtype
    centre = complex(mean)
    # Both parts together have the variance.
    return Complex(
        _normal(op, shape, centre.real, std * 0.5**0.5, dtype),
        _normal(op, shape, centre.imag, std * 0.5**0.5, dtype),
    )

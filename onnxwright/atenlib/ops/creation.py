"""Functions that make tensors from sizes and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onnxwright.atenlib.complexes import Complex, as_complex, real_part
from onnxwright.atenlib.helpers import algebra
from onnxwright.atenlib.helpers.constants import cast, full, full_like, iota, scalar
from onnxwright.atenlib.helpers.shape import flat, reshape, slice_axis
from onnxwright.atenlib.helpers.sizes import arithmetic, numel, product, sizes
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.optest import OpTest
from onnxwright.atenlib.protocols import Arguments, Number, Op, Size, Value, is_value
from onnxwright.atenlib.rules import creation, custom, like
from onnxwright.types.dtypes import DType
from onnxwright.types.promotion import real_of

_NUMBERS = {bool: DType.BOOL, int: DType.INT64, float: DType.FLOAT, complex: DType.COMPLEX64}
_COMPUTED = {"bool": DType.BOOL, "int": DType.INT64, "float": DType.FLOAT}


def filled(op: Op, size: Sequence[Size], value: Value | Number, dtype: DType | None) -> Value:
    """A value, or a `Complex`, of a shape filled with one number.

    Args:
        value: a Python number, a value of rank 0, or a `Complex`.
        dtype: the element type, maybe a complex one.
    """
    assert dtype is not None  # the rule fills it in
    if dtype.is_complex:
        part = real_of(dtype)
        real, imag = _parts(op, value, part)
        return Complex(full(op, size, real, part), full(op, size, imag, part))
    return full(op, size, _as_real(value), dtype)


def filled_like(op: Op, x: Value, value: Value | Number, dtype: DType | None) -> Value:
    """A value, or a `Complex`, of the shape of another, filled with one number."""
    assert dtype is not None  # the rule fills it in
    shape = real_part(x)
    if dtype.is_complex:
        part = real_of(dtype)
        real, imag = _parts(op, value, part)
        return Complex(full_like(op, shape, real, part), full_like(op, shape, imag, part))
    return full_like(op, shape, _as_real(value), dtype)


def _parts(op: Op, value: Value | Number, part: DType) -> tuple[Any, Any]:
    if isinstance(value, Complex) or is_value(value):
        both = as_complex(op, value, part)
        return both.real, both.imag
    number = complex(value)
    return number.real, number.imag


def _as_real(value: Value | Number) -> Value | float | int:
    return value.real if isinstance(value, (Complex, complex)) else value


def _filling_type(arguments: Arguments) -> DType | None:
    """The type that `dtype` says, else that of the number."""
    if arguments["dtype"] is None:
        value = arguments["fill_value"]
        # A number of Python, known or computed, has the default type of its kind.
        kind = _NUMBERS.get(type(value)) or _COMPUTED.get(str(getattr(value, "weak", "")))
        arguments["dtype"] = kind if kind is not None else value.onnx_dtype
    dtype: DType | None = arguments["dtype"]
    return dtype


@aten("aten::full", rule=custom(_filling_type))
def full_(op: Op, size: Sequence[Size], fill_value: Number, *, dtype: DType | None = None) -> Value:
    """A tensor of a size filled with one number."""
    return filled(op, size, fill_value, dtype)


@aten("aten::full_like", rule=creation(like="self"))
def full_like_(op: Op, self: Value, fill_value: Number, *, dtype: DType | None = None) -> Value:
    """A tensor of the shape of another filled with one number."""
    return filled_like(op, self, fill_value, dtype)


@aten("aten::new_full", rule=creation(like="self"))
def new_full(
    op: Op, self: Value, size: Sequence[Size], fill_value: Number, *, dtype: DType | None = None
) -> Value:
    """A tensor of a size filled with one number, of the type of another."""
    return filled(op, size, fill_value, dtype)


@aten("aten::zeros", "aten::_efficientzerotensor", rule=creation())
def zeros(op: Op, size: Sequence[Size], *, dtype: DType | None = None) -> Value:
    """A tensor of zeros."""
    return filled(op, size, 0, dtype)


@aten("aten::ones", rule=creation())
def ones(op: Op, size: Sequence[Size], *, dtype: DType | None = None) -> Value:
    """A tensor of ones."""
    return filled(op, size, 1, dtype)


@aten("aten::empty.memory_format", rule=creation(), tests=[OpTest("empty", compare="shape")])
def empty(op: Op, size: Sequence[Size], *, dtype: DType | None = None) -> Value:
    """A tensor of any elements: zeros."""
    return filled(op, size, 0, dtype)


@aten("aten::empty_strided", rule=creation(), tests=[OpTest("empty_strided", compare="shape")])
def empty_strided(
    op: Op, size: Sequence[Size], stride: Sequence[Size], *, dtype: DType | None = None
) -> Value:
    """A tensor of any elements: zeros."""
    return filled(op, size, 0, dtype)


@aten("aten::empty_permuted", rule=creation(), tests=[OpTest("empty_permuted", compare="shape")])
def empty_permuted(
    op: Op, size: Sequence[Size], physical_layout: Sequence[int], *, dtype: DType | None = None
) -> Value:
    """A tensor of any elements: zeros."""
    return filled(op, size, 0, dtype)


@aten("aten::zeros_like", rule=creation(like="self"))
def zeros_like(op: Op, self: Value, *, dtype: DType | None = None) -> Value:
    """Zeros in the shape of another tensor."""
    return filled_like(op, self, 0, dtype)


@aten("aten::ones_like", rule=creation(like="self"))
def ones_like(op: Op, self: Value, *, dtype: DType | None = None) -> Value:
    """Ones in the shape of another tensor."""
    return filled_like(op, self, 1, dtype)


@aten("aten::empty_like", rule=creation(like="self"),
      tests=[OpTest("empty_like", compare="shape")])  # fmt: skip
def empty_like(op: Op, self: Value, *, dtype: DType | None = None) -> Value:
    """Any elements in the shape of another tensor: zeros."""
    return filled_like(op, self, 0, dtype)


@aten("aten::new_zeros", rule=creation(like="self"))
def new_zeros(op: Op, self: Value, size: Sequence[Size], *, dtype: DType | None = None) -> Value:
    """A tensor of zeros, of the type of another."""
    return filled(op, size, 0, dtype)


@aten("aten::_new_zeros_with_same_feature_meta", rule=like("self"),
      untested="OpInfo does not have it: forward derivatives of writes make it")  # fmt: skip
def _new_zeros_with_same_feature_meta(
    op: Op, self: Value, other: Value, *, self_num_batch_dims: int = 0
) -> Value:
    """Zeros of the leading sizes of one tensor and all sizes of another."""
    shape = [*sizes(op, self)[:self_num_batch_dims], *sizes(op, real_part(other))]
    return filled(op, shape, 0, self.onnx_dtype)


@aten("aten::new_ones", rule=creation(like="self"))
def new_ones(op: Op, self: Value, size: Sequence[Size], *, dtype: DType | None = None) -> Value:
    """A tensor of ones, of the type of another."""
    return filled(op, size, 1, dtype)


@aten("aten::new_empty", rule=creation(like="self"), tests=[OpTest("new_empty", compare="shape")])
def new_empty(op: Op, self: Value, size: Sequence[Size], *, dtype: DType | None = None) -> Value:
    """A tensor of any elements, of the type of another: zeros."""
    return filled(op, size, 0, dtype)


@aten("aten::new_empty_strided", rule=creation(like="self"),
      tests=[OpTest("new_empty_strided", compare="shape")])  # fmt: skip
def new_empty_strided(
    op: Op, self: Value, size: Sequence[Size], stride: Sequence[Size], *, dtype: DType | None = None
) -> Value:
    """A tensor of any elements, of the type of another: zeros."""
    return filled(op, size, 0, dtype)


@aten("aten::scalar_tensor", "prims::scalar_tensor", rule=creation(), complex="same")
def scalar_tensor(op: Op, s: Number, *, dtype: DType | None = None) -> Value:
    """A number as a tensor without dimensions."""
    assert dtype is not None  # the rule fills it in
    if dtype.is_complex:
        return as_complex(op, s, real_of(dtype))
    return scalar(op, _as_real(s), dtype)


@aten("aten::fill.Scalar", "aten::fill.Tensor", rule=like())
def fill(op: Op, self: Value, value: Number | Value) -> Value:
    """One number in the shape of a tensor, and of its type."""
    return filled_like(op, self, value, self.onnx_dtype)


@aten("aten::zero", rule=like(), tests=[OpTest("zero_")])
def zero(op: Op, self: Value) -> Value:
    """Zeros in the shape of a tensor, and of its type."""
    return filled_like(op, self, 0, self.onnx_dtype)


for _function in (
    full_like_, new_full, zeros_like, ones_like, empty_like, new_zeros, new_ones, new_empty,
    new_empty_strided, fill, zero,
):  # fmt: skip
    _function.on_complex(_function.body)


@aten("aten::eye", "aten::eye.m", rule=creation())
def eye(op: Op, n: Size, m: Size | None = None, *, dtype: DType | None = None) -> Value:
    """A matrix with ones on its diagonal, of `n` columns if `m` is not given."""
    return _eye(op, n, n if m is None else m, dtype)


def _eye(op: Op, n: Size, m: Any, dtype: DType | None) -> Value:
    assert dtype is not None  # the rule fills it in
    if dtype.is_complex:
        part = real_of(dtype)
        return Complex(_eye(op, n, m, part), full(op, [n, m], 0, part))
    rows = op.Unsqueeze(iota(op, n), [1])
    return cast(op, op.Equal(rows, iota(op, m)), dtype)


@aten(
    "aten::resize",
    "aten::resize_",
    rule=like(),
    complex="parts",
    tests=[OpTest("resize_", compare="shape")],
)
def resize(op: Op, self: Value, size: Sequence[Size]) -> Value:
    """The elements in another shape; too many are dropped, missing ones are zeros."""
    return _resized(op, self, list(size))


@aten("aten::resize_as", rule=like(),
      tests=[OpTest("resize_as_", compare="shape")])  # fmt: skip
def resize_as(op: Op, self: Value, the_template: Value) -> Value:
    """The elements in the shape of another tensor."""
    shape = sizes(op, real_part(the_template))
    return algebra.each(lambda part: _resized(op, part, shape), self)


resize_as.on_complex(resize_as.body)


def _resized(op: Op, x: Value, sizes: list[Any]) -> Value:
    here, there = numel(op, x), product(op, sizes)
    row = flat(op, x)
    both = (here, there) if isinstance(here, int) and isinstance(there, int) else None
    if both is None or both[0] < both[1]:
        missing = arithmetic(op, "Max", arithmetic(op, "Sub", there, here), 0)
        row = op.Concat(row, full(op, [missing], 0, x.onnx_dtype), axis=0)
    if both is None or both[0] > both[1]:
        row = slice_axis(op, row, 0, 0, there)
    return reshape(op, row, sizes)

"""Element type and device conversions, copies."""

from __future__ import annotations

from onnxwright.atenlib.complexes import Complex, as_complex
from onnxwright.atenlib.helpers.constants import cast, scalar
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.optest import OpTest
from onnxwright.atenlib.protocols import Op, Value, is_value
from onnxwright.atenlib.rules import Rule
from onnxwright.types.dtypes import DType
from onnxwright.types.promotion import real_of

SAME = Rule()


def to_dtype(op: Op, x: Value, dtype: DType | None) -> Value:
    """A tensor, real or complex, in an element type, as torch casts.

    Args:
        x: a value or a `Complex`.
        dtype: the wanted type; None leaves it.

    Returns:
        A `Complex` for a complex type, else a value; the imaginary part is lost, as in torch.
    """
    if dtype is None or x.onnx_dtype is dtype:
        return x
    if dtype.is_complex:
        return as_complex(op, x, real_of(dtype))
    if isinstance(x, Complex):
        if dtype.is_bool:
            return op.Or(cast(op, x.real, dtype), cast(op, x.imag, dtype))
        x = x.real
    return cast(op, op.backend.as_weak(x, None), dtype)


@aten(
    "aten::_to_copy",
    rule=SAME,
    untested="torch.export makes it of `to`; the body is that of aten::to.dtype",
)
def to_copy(op: Op, self: Value, dtype: DType | None = None, non_blocking: bool = False) -> Value:
    """The tensor in an element type."""
    return to_dtype(op, self, dtype)


_TO_TYPE = ("bool", "byte", "char", "double", "float", "half", "int", "long", "short", "bfloat16")


@aten(
    "aten::to.dtype",
    "aten::to.dtype_layout",
    rule=SAME,
    tests=[OpTest(name) for name in ("to", *_TO_TYPE, "cfloat", "cdouble")],
)
def to(
    op: Op,
    self: Value,
    dtype: DType | None = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: object = None,
) -> Value:
    """The tensor in an element type."""
    return to_dtype(op, self, dtype)


@aten(
    "aten::to.device",
    rule=SAME,
    untested="the OpInfo `to`, at aten::to.dtype, runs it too",
)
def to_device(
    op: Op,
    self: Value,
    device: object,
    dtype: DType,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: object = None,
) -> Value:
    """The tensor in an element type; devices mean nothing in a model."""
    return to_dtype(op, self, dtype)


@aten("aten::to.other", rule=SAME, untested="no OpInfo runs it")
def to_other(
    op: Op,
    self: Value,
    other: Value,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: object = None,
) -> Value:
    """The tensor in the element type of another."""
    return to_dtype(op, self, other.onnx_dtype)


@aten("aten::type_as", rule=SAME, untested="no OpInfo runs it")
def type_as(op: Op, self: Value, other: Value) -> Value:
    """The tensor in the element type of another."""
    return to_dtype(op, self, other.onnx_dtype)


@aten("prims::convert_element_type", rule=SAME, untested="prims: no OpInfo runs it")
def convert_element_type(op: Op, a: Value, dtype: DType) -> Value:
    """The tensor in an element type."""
    return to_dtype(op, a, dtype)


@aten("prims::device_put", rule=SAME, untested="prims: no OpInfo runs it")
def device_put(op: Op, a: Value, device: object, non_blocking: bool = False) -> Value:
    """The tensor itself; devices mean nothing in a model."""
    return a


@aten("aten::clone", "aten::detach", "aten::contiguous", "prims::clone", rule=SAME)
def clone(op: Op, self: Value) -> Value:
    """The tensor itself: values of a model never change, and have no strides."""
    return self


@aten("prims::view_of", rule=SAME, untested="prims: no OpInfo runs it")
def view_of(op: Op, a: Value) -> Value:
    """The tensor itself."""
    return a


@aten("aten::copy", rule=SAME, untested="no OpInfo runs the form without mutation")
def copy_(op: Op, self: Complex, src: Value, non_blocking: bool = False) -> Value:
    """The elements of `src` in the shape and element type of `self`."""
    converted = to_dtype(op, src, self.onnx_dtype)
    if converted.shape == self.shape and all(d is not None for d in self.shape):
        return converted
    if isinstance(converted, Complex):
        shape = op.Shape(self.real)
        return Complex(op.Expand(converted.real, shape), op.Expand(converted.imag, shape))
    return op.Expand(converted, op.Shape(self))


_KINDS = {"bool": DType.BOOL, "int": DType.INT64, "float": DType.FLOAT}


@aten(
    "aten::tensor.bool",
    "aten::tensor.int",
    "aten::tensor.float",
    rule=SAME,
    untested="numbers are not tensors, OpInfo has none; tests/atenlib/test_pointwise.py",
)
def tensor(op: Op, t: bool | float | Value, dtype: DType | None = None) -> Value:
    """A tensor without dimensions that holds a number, of the type of its kind by default."""
    if dtype is None:
        kind = op.backend.weak_kind(t) if is_value(t) else type(t).__name__
        dtype = _KINDS[kind or ""]
    return scalar(op, t, dtype)


for _function in (
    to_copy, to, to_device, to_other, type_as, convert_element_type, device_put,
    clone, view_of, copy_,
):  # fmt: skip
    _function.on_complex(_function.body)

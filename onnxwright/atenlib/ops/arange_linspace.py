"""Sequences of numbers: arange, linspace, logspace."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from onnxwright.atenlib.complexes import Complex
from onnxwright.atenlib.helpers.constants import cast, iota, number, scalar
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.optest import OpTest, XFail
from onnxwright.atenlib.protocols import Arguments, Number, Op, Value, is_value
from onnxwright.atenlib.rules import custom
from onnxwright.types.dtypes import DType
from onnxwright.types.promotion import real_of

# Sequences up to this length are constants, longer ones are computed by the graph.
_SHORT = 256


def _is_whole(x: Value | Number) -> bool:
    return x.onnx_dtype.is_integer if is_value(x) else isinstance(x, int)


def _arange_type(a: Arguments) -> DType:
    if a["dtype"] is None:
        limits = [a[name] for name in ("start", "end", "step") if name in a]
        a["dtype"] = DType.INT64 if all(map(_is_whole, limits)) else DType.FLOAT
    dtype: DType = a["dtype"]
    return dtype


@aten("aten::arange", rule=custom(_arange_type))
def arange(op: Op, end: Number, *, dtype: DType | None = None) -> Value:
    """The numbers from 0 up to `end`, without it."""
    return counted(op, 0, end, 1, dtype)


@aten("aten::arange.start", rule=custom(_arange_type))
def arange_start(op: Op, start: Number, end: Number, *, dtype: DType | None = None) -> Value:
    """The numbers from `start` up to `end`, without it."""
    return counted(op, start, end, 1, dtype)


@aten("aten::arange.start_step", rule=custom(_arange_type))
def arange_step(
    op: Op, start: Number, end: Number, step: Number = 1, *, dtype: DType | None = None
) -> Value:
    """The numbers from `start` up to `end`, without it, `step` apart."""
    return counted(op, start, end, step, dtype)


def counted(op: Op, start: Any, end: Any, step: Any, dtype: DType | None) -> Value:
    """The numbers from a start up to an end, without it.

    Args:
        start, end, step: numbers, or values of rank 0.
        dtype: the element type; integers are computed as INT64, others as DOUBLE, as torch does.

    Returns:
        A value of rank 1.
    """
    assert dtype is not None  # the rule fills it in
    if dtype is DType.INT64:  # torch counts in the type of the result, but for other integers
        start, end, step = (
            scalar(op, x, dtype) if is_value(x) else int(x) for x in (start, end, step)
        )
    limits = (start, end, step)
    if any(map(is_value, limits)):
        if all(map(_is_whole, limits)):
            return cast(op, op.Range(*(scalar(op, x, DType.INT64) for x in limits)), dtype)
        return _counted_values(op, start, end, step, dtype)
    count = max(0, math.ceil((end - start) / step))
    if dtype.is_integer or (float(start).is_integer() and float(step).is_integer()):
        start, step = int(start), int(step)
    if count <= _SHORT:
        steps = np.arange(count, dtype=np.int64 if isinstance(start, int) else np.float64)
        return op.constant((start + steps * step).astype(dtype.numpy))
    if isinstance(start, int):
        every = op.Range(*(op.constant(np.array(x)) for x in (start, start + count * step, step)))
        return cast(op, every, dtype)
    wide = op.Mul(cast(op, iota(op, count), DType.DOUBLE), float(step))
    return cast(op, op.Add(wide, float(start)), dtype)


def _counted_values(op: Op, start: Any, end: Any, step: Any, dtype: DType | None) -> Value:
    assert dtype is not None  # the rule fills it in
    first, last, apart = (scalar(op, x, DType.DOUBLE) for x in (start, end, step))
    count = cast(op, op.Ceil(op.Div(op.Sub(last, first), apart)), DType.INT64)
    every = cast(op, iota(op, count), DType.DOUBLE)
    return cast(op, op.Add(first, op.Mul(every, apart)), dtype)


@aten("aten::range", "aten::range.step", rule=custom(_arange_type), untested="replaced by arange")
def range_(
    op: Op, start: Number, end: Number, step: Number = 1, *, dtype: DType | None = None
) -> Value:
    """The numbers from `start` to `end`, with it, `step` apart."""
    count = math.floor((end - start) / step) + 1
    return counted(op, start, start + count * step, step, dtype)


def _space_type(a: Arguments) -> DType:
    if a["dtype"] is None:
        limits = (a["start"], a["end"])
        complex_given = any(isinstance(x, (complex, Complex)) for x in limits)
        a["dtype"] = DType.COMPLEX64 if complex_given else DType.FLOAT
    dtype: DType = a["dtype"]
    return dtype


# torch.signal.windows are sums of cosines and exponentials over evenly spaced numbers.
_WINDOWS = tuple(
    OpTest(f"signal.windows.{name}")
    for name in (
        "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine",
        "general_hamming", "hamming", "hann", "kaiser", "nuttall",
    )
)  # fmt: skip

_CHAIN = XFail(
    "ONNX Runtime runs chains of FLOAT16 operators in FLOAT; torch rounds after each operation",
    dtypes=("float16", "bfloat16"),
    modes=("graph", "dynamic"),
    matcher=lambda s: s.args[1] > 2,
    sometimes=True,
)


@aten(
    "aten::linspace",
    "aten::linspace.Tensor_Tensor",
    "aten::linspace.Tensor_Scalar",
    "aten::linspace.Scalar_Tensor",
    rule=custom(_space_type),
    tests=[OpTest("linspace"), OpTest("linspace:tensor_overload", xfail=[_CHAIN]), *_WINDOWS],
    complex="same",
)
def linspace(
    op: Op, start: Number | Value, end: Number | Value, steps: int, *, dtype: DType | None = None
) -> Value:
    """`steps` numbers from `start` to `end`, evenly spaced."""
    return spaced(op, start, end, steps, dtype)


def spaced(op: Op, start: Any, end: Any, steps: int, dtype: DType | None, of: Any = None) -> Value:
    """Numbers evenly spaced, counted from the nearer end as torch does.

    Args:
        start, end: numbers, values of rank 0 or `Complex`.
        dtype: the element type; integers are computed as DOUBLE.
        of: the type in which the ends are rounded first; `dtype` if not given.

    Returns:
        A value of rank 1, or a `Complex`.
    """
    assert dtype is not None  # the rule fills it in
    if dtype.is_complex:
        part = real_of(dtype)
        ends = [(_real(x), _imag(x)) for x in (start, end)]
        return Complex(
            spaced(op, ends[0][0], ends[1][0], steps, part),
            spaced(op, ends[0][1], ends[1][1], steps, part),
        )
    computed = dtype if dtype.is_float else DType.DOUBLE
    limits = [_limit(op, x, of or dtype, computed) for x in (start, end)]
    if steps == 1:
        return cast(op, op.Unsqueeze(limits[0], [0]), dtype)
    first, last = limits
    half = steps // 2
    if dtype.bits == 16 and dtype.is_float and not (is_value(start) or is_value(end)):
        return op.constant(_rounded(start, end, steps, dtype))
    up = counted(op, 0, half, 1, computed)
    down = counted(op, steps - 1 - half, -1, -1, computed)
    step = op.Div(op.Sub(last, first), float(steps - 1))
    rising = op.Add(first, op.Mul(step, up))
    falling = op.Sub(last, op.Mul(step, down))
    return cast(op, op.Concat(rising, falling, axis=0), dtype)


def _rounded(start: Any, end: Any, steps: int, dtype: DType | None) -> np.ndarray[Any, Any]:
    """Evenly spaced numbers of half precision: torch rounds after each operation, as numpy does."""
    assert dtype is not None  # the rule fills it in
    kind = dtype.numpy.type
    up = np.arange(steps // 2).astype(dtype.numpy)
    down = np.arange(steps - 1 - steps // 2, -1, -1).astype(dtype.numpy)
    first, last = kind(start), kind(end)
    step = (last - first) / kind(steps - 1)
    return np.concatenate([first + step * up, last - step * down]).astype(dtype.numpy)


def _limit(op: Op, x: Value | Number, dtype: DType, computed: DType | None) -> Value:
    """An end of a sequence, first in the type of the result, then in the one to compute in."""
    assert computed is not None  # the rule fills it in
    if is_value(x):
        return cast(op, scalar(op, x, dtype), computed)
    return op.constant(np.array(number(x, dtype)).astype(dtype.numpy).astype(computed.numpy))


def _real(x: Complex | complex | Value) -> Any:
    return x.real if isinstance(x, (Complex, complex)) else x


def _imag(x: Complex | complex | Value) -> Any:
    return x.imag if isinstance(x, (Complex, complex)) else 0.0


@aten(
    "aten::logspace",
    "aten::logspace.Tensor_Tensor",
    "aten::logspace.Tensor_Scalar",
    "aten::logspace.Scalar_Tensor",
    rule=custom(_space_type),
    tests=[OpTest("logspace"), OpTest("logspace:tensor_overload")],
    complex="same",
)
def logspace(
    op: Op,
    start: Number | Value,
    end: Number | Value,
    steps: int,
    base: float = 10.0,
    *,
    dtype: DType | None = None,
) -> Value:
    """`steps` powers of `base`, the exponents evenly spaced from `start` to `end`."""
    assert dtype is not None  # the rule fills it in
    if dtype.is_complex:
        exponents = spaced(op, start, end, steps, dtype)
        assert isinstance(exponents, Complex)
        factor = math.log(base)
        size = op.Exp(op.Mul(exponents.real, factor))
        angle = op.Mul(exponents.imag, factor)
        return Complex(op.Mul(size, op.Cos(angle)), op.Mul(size, op.Sin(angle)))
    computed = dtype if dtype in (DType.FLOAT, DType.DOUBLE) else DType.DOUBLE
    exponents = spaced(op, start, end, steps, computed, computed if steps == 1 else dtype)
    return cast(op, op.Pow(op.constant(np.array(base, computed.numpy)), exponents), dtype)

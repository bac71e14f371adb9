"""Differences, gradients and integrals along an axis."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from onnxwright.atenlib.complexes import Complex, as_complex
from onnxwright.atenlib.helpers import complex_math
from onnxwright.atenlib.helpers.complex_math import multiply
from onnxwright.atenlib.helpers.constants import cast, scalar
from onnxwright.atenlib.helpers.reduce import in_working_type, reduce
from onnxwright.atenlib.helpers.shape import slice_axis
from onnxwright.atenlib.helpers.sizes import axis_of
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.optest import OpTest, Tol, XFail
from onnxwright.atenlib.protocols import Arguments, Number, Op, Value, is_value
from onnxwright.atenlib.rules import Rule, custom, like
from onnxwright.types.dtypes import DType
from onnxwright.types.promotion import promote_types, real_of

# Torch rounds each step in half types; here several are taken in FLOAT.
_HALVES = {"float16": Tol(5e-3, 5e-3), "bfloat16": Tol(5e-2, 5e-2)}
_ROUNDED = XFail(
    "of several differences in FLOAT16, ONNX Runtime rounds only the last; torch rounds each",
    dtypes=("float16",),
    modes=("graph", "dynamic"),
    sometimes=True,
)


def _neighbours(op: Op, x: Value, axis: int) -> tuple[Any, Any]:
    """All but the last, and all but the first elements along an axis."""
    return slice_axis(op, x, axis, 0, -1), slice_axis(op, x, axis, 1, None)


@aten(
    "aten::diff",
    rule=like(),
    complex="parts",
    tests=[OpTest("diff", xfail=[_ROUNDED])],
)
def diff(
    op: Op,
    self: Value,
    n: int = 1,
    dim: int = -1,
    prepend: Value | None = None,
    append: Value | None = None,
) -> Value:
    """The differences of neighbours along an axis, taken n times."""
    if n == 0:
        return self
    axis = axis_of(dim, self.rank)
    parts = [x for x in (prepend, self, append) if x is not None]
    x = op.Concat(*parts, axis=axis) if len(parts) > 1 else self
    for _ in range(n):
        before, after = _neighbours(op, x, axis)
        x = op.Xor(after, before) if x.onnx_dtype.is_bool else op.Sub(after, before)
    return x


def _mapped(x: Value, function: Callable[[Any], Any]) -> Any:
    """A linear function of a tensor, complex or not."""
    if isinstance(x, Complex):
        return Complex(function(x.real), function(x.imag))
    return function(x)


def _times(op: Op, a: Value, b: Value) -> Value:
    if isinstance(a, Complex) and isinstance(b, Complex):
        return multiply(op, a, b)
    return op.Mul(a, b)


def _steps_along(op: Op, y: Value, x: Value, axis: int) -> Value:
    """The distances of the places of samples, to go with an axis of `y`."""
    before, after = _neighbours(op, x, 0 if x.rank == 1 else axis - (y.rank - x.rank))
    steps = op.Sub(after, before)
    trailing = y.rank - 1 - axis
    if x.rank == 1 and trailing:
        steps = op.Unsqueeze(steps, list(range(1, trailing + 1)))
    return steps


def _areas(op: Op, y: Value, x: Value | None, axis: int) -> Any:
    """Twice the areas between neighbours; the steps are 1 where there are no places.

    Integers wrap around in their own type, as torch's do, and are INT64 then.
    """
    y = _mapped(y, lambda part: op.Add(*_neighbours(op, in_working_type(op, part), axis)))
    if x is not None:
        steps = _mapped(x, lambda part: _steps_along(op, y, in_working_type(op, part), axis))
        y = _times(op, y, steps)
    return _mapped(y, lambda part: _summable(op, part))


def _summable(op: Op, x: Value) -> Value:
    return x if x.onnx_dtype.is_float else cast(op, x, DType.INT64)


def _float_of(*names: str) -> Rule:
    """The result has the common type of the arguments, FLOAT if that is of integers."""

    def dtype(arguments: Arguments) -> DType:
        common = functools.reduce(promote_types, [arguments[n].onnx_dtype for n in names])
        return common if common.is_float or common.is_complex else DType.FLOAT

    return custom(dtype)


def _alike(op: Op, y: Value, x: Value) -> tuple[Any, Any]:
    """Samples and places in their common type."""
    common = promote_types(y.onnx_dtype, x.onnx_dtype)
    if common.is_complex:
        return as_complex(op, y, real_of(common)), as_complex(op, x, real_of(common))
    return cast(op, y, common), cast(op, x, common)


def _scaled(op: Op, x: Value, factor: complex) -> Any:
    if not isinstance(factor, (int, float)):
        assert isinstance(x, Complex)
        part = x.real.onnx_dtype
        other = Complex(scalar(op, factor.real, part), scalar(op, factor.imag, part))
        return multiply(op, x, other)
    return _mapped(x, lambda part: op.Mul(_float(op, part), float(factor)))


def _float(op: Op, x: Value) -> Value:
    return x if x.onnx_dtype.is_float else op.Cast(x, to=DType.FLOAT)


def _integral(op: Op, y: Value, x: Value | None, dx: Any, dim: int) -> Any:
    axis = axis_of(dim, y.rank)
    if y.shape[axis] == 0:
        return _mapped(y, lambda part: reduce(op, "ReduceSum", part, [axis]))
    if x is None and not isinstance(y, Complex) and not y.onnx_dtype.is_float:
        # Torch takes half of both ends from the sum.
        ends = op.Add(slice_axis(op, y, axis, 0, 1), slice_axis(op, y, axis, -1, None))
        half = op.Mul(_float(op, op.Squeeze(ends, [axis])), 0.5)
        whole = _float(op, reduce(op, "ReduceSum", _summable(op, y), [axis]))
        return op.Mul(op.Sub(whole, half), float(dx))
    areas = _areas(op, y, x, axis)
    total = _mapped(areas, lambda part: reduce(op, "ReduceSum", part, [axis]))
    return _scaled(op, total, dx * 0.5)


def _integrals(op: Op, y: Value, x: Value | None, dx: Any, dim: int) -> Any:
    axis = axis_of(dim, y.rank)
    areas = _areas(op, y, x, axis)
    order = op.constant(np.array(axis))
    return _scaled(op, _mapped(areas, lambda part: op.CumSum(part, order)), dx * 0.5)


@aten(
    "aten::trapezoid.x",
    "aten::trapz.x",
    rule=_float_of("y", "x"),
    tests=[OpTest("trapezoid", tol=_HALVES), OpTest("trapz", tol=_HALVES)],
)
def trapezoid_x(op: Op, y: Value, x: Value, *, dim: int = -1) -> Any:
    """The integral of samples at places along an axis, by the trapezoidal rule."""
    return _integral(op, *_alike(op, y, x), 1, dim)


@aten(
    "aten::trapezoid.dx",
    "aten::trapz.dx",
    rule=_float_of("y"),
    tests=[OpTest("trapezoid", tol=_HALVES), OpTest("trapz", tol=_HALVES)],
)
def trapezoid_dx(op: Op, y: Value, *, dx: Number = 1, dim: int = -1) -> Any:
    """The integral of samples `dx` apart along an axis, by the trapezoidal rule."""
    return _integral(op, y, None, dx, dim)


@aten(
    "aten::cumulative_trapezoid.x",
    rule=_float_of("y", "x"),
    tests=[OpTest("cumulative_trapezoid", tol=_HALVES)],
)
def cumulative_trapezoid_x(op: Op, y: Value, x: Value, *, dim: int = -1) -> Any:
    """The integrals up to each of the samples at places, by the trapezoidal rule."""
    return _integrals(op, *_alike(op, y, x), 1, dim)


@aten(
    "aten::cumulative_trapezoid.dx",
    rule=_float_of("y"),
    tests=[OpTest("cumulative_trapezoid", tol=_HALVES)],
)
def cumulative_trapezoid_dx(op: Op, y: Value, *, dx: Number = 1, dim: int = -1) -> Any:
    """The integrals up to each of the samples `dx` apart, by the trapezoidal rule."""
    return _integrals(op, y, None, dx, dim)


for _entry in (trapezoid_x, trapezoid_dx, cumulative_trapezoid_x, cumulative_trapezoid_dx):
    _entry.on_complex(_entry.body)


def _even_gradient(op: Op, x: Value, spacing: Any, axis: int, edge: int) -> Value:
    """The gradient along an axis whose samples are equally far apart."""
    part = slice_axis
    inner = op.Div(op.Sub(part(op, x, axis, 2, None), part(op, x, axis, 0, -2)), 2)
    first = [part(op, x, axis, n, n + 1) for n in range(edge + 1)]
    last = [part(op, x, axis, -1 - n, None if n == 0 else -n) for n in range(edge + 1)]
    if edge == 1:
        begin, end = op.Sub(first[1], first[0]), op.Sub(last[0], last[1])
    else:
        begin = op.Sub(op.Mul(op.Sub(op.Mul(first[1], 4), first[2]), 0.5), op.Mul(first[0], 1.5))
        end = op.Sub(op.Mul(last[0], 1.5), op.Mul(op.Sub(op.Mul(last[1], 4), last[2]), 0.5))
    whole = op.Concat(begin, inner, end, axis=axis)
    return whole if spacing == 1 else op.Div(whole, float(spacing))


_COMPLEX = {
    "Add": complex_math.add,
    "Sub": complex_math.subtract,
    "Mul": complex_math.multiply,
    "Div": complex_math.divide,
}


def _calc(op: Op, name: str, a: Value, b: Value) -> Any:
    """An operator of two tensors, complex if one of them is."""
    if not isinstance(a, Complex) and not isinstance(b, Complex):
        return getattr(op, name)(a, b)
    part = real_of((a if isinstance(a, Complex) else b).onnx_dtype)
    return _COMPLEX[name](op, as_complex(op, a, part), as_complex(op, b, part))


def _uneven_gradient(op: Op, x: Value, places: Value, axis: int, edge: int) -> Value:
    """The gradient along an axis whose samples are at places."""
    steps = _mapped(places, lambda part: _steps_along(op, x, part, axis))

    def part(v: Value, along: int, start: Any, end: Any) -> Any:
        return _mapped(v, lambda piece: slice_axis(op, piece, along, start, end))

    def calc(name: str, a: Value, b: Value) -> Any:
        return _calc(op, name, a, b)

    def step(start: Any, end: Any) -> Any:
        return part(steps, 0, start, end)

    left, right = step(0, -1), step(1, None)
    both = calc("Add", left, right)
    a = calc("Div", right, calc("Mul", left, both))
    b = calc("Div", calc("Sub", right, left), calc("Mul", left, right))
    c = calc("Div", left, calc("Mul", right, both))
    inner = calc("Mul", b, part(x, axis, 1, -1))
    inner = calc("Sub", inner, calc("Mul", a, part(x, axis, 0, -2)))
    inner = calc("Add", inner, calc("Mul", c, part(x, axis, 2, None)))
    first = [part(x, axis, n, n + 1) for n in range(edge + 1)]
    last = [part(x, axis, -1 - n, -n or None) for n in range(edge + 1)]
    if edge == 1:
        begin = calc("Div", calc("Sub", first[1], first[0]), step(0, 1))
        end = calc("Div", calc("Sub", last[0], last[1]), step(-1, None))
    else:
        begin = _edge(op, first, step(0, 1), step(1, 2))
        end = _mapped(_edge(op, last, step(-1, None), step(-2, -1)), op.Neg)
    if isinstance(inner, Complex):
        return Complex(
            op.Concat(begin.real, inner.real, end.real, axis=axis),
            op.Concat(begin.imag, inner.imag, end.imag, axis=axis),
        )
    return op.Concat(begin, inner, end, axis=axis)


def _edge(op: Op, x: Sequence[Any], near: Any, far: Any) -> Any:
    """The slope at the first of three samples, by the parabola through them."""

    def calc(name: str, a: Value, b: Value) -> Any:
        return _calc(op, name, a, b)

    both = calc("Add", near, far)
    a = calc("Div", calc("Add", both, near), calc("Mul", near, both))
    b = calc("Div", both, calc("Mul", near, far))
    c = calc("Div", near, calc("Mul", far, both))
    slope = calc("Sub", calc("Mul", b, x[1]), calc("Mul", a, x[0]))
    return calc("Sub", slope, calc("Mul", c, x[2]))


def _gradients(op: Op, x: Value, spacings: Any, dims: Any, edge: int) -> list[Any]:
    """The gradient along each axis."""
    if dims is None:
        axes = list(range(x.rank))
    else:
        axes = [axis_of(d, x.rank) for d in ([dims] if isinstance(dims, int) else dims)]
    if not isinstance(spacings, (list, tuple)):
        spacings = [1 if spacings is None else spacings] * len(axes)
    return [_gradient(op, x, s, axis, edge) for s, axis in zip(spacings, axes, strict=True)]


def _gradient(op: Op, x: Value, spacing: Any, axis: int, edge: int) -> Any:
    """The gradient along one axis."""
    if isinstance(x, Complex) or isinstance(spacing, Complex):
        if isinstance(spacing, Complex) or is_value(spacing):
            return _uneven_gradient(op, x, spacing, axis, edge)
        return _mapped(x, lambda part: _even_gradient(op, part, spacing, axis, edge))
    dtype = x.onnx_dtype if x.onnx_dtype.is_float else DType.FLOAT
    y = in_working_type(op, cast(op, x, dtype))
    if is_value(spacing):
        places = cast(op, spacing, y.onnx_dtype)
        return cast(op, _uneven_gradient(op, y, places, axis, edge), dtype)
    return cast(op, _even_gradient(op, y, spacing, axis, edge), dtype)


@aten(
    "aten::gradient.scalarint",
    rule=custom(),
    tests=[OpTest("gradient", tol=_HALVES)],
    complex="same",
)
def gradient(
    op: Op,
    self: Value,
    *,
    spacing: Number | None = None,
    dim: int | None = None,
    edge_order: int = 1,
) -> list[Value]:
    """The gradient along axes, by central differences inside and one-sided ones at the edges."""
    return _gradients(op, self, spacing, dim, edge_order)


@aten(
    "aten::gradient.scalarrayint",
    "aten::gradient.tensorarrayint",
    rule=custom(),
    tests=[OpTest("gradient", tol=_HALVES)],
    complex="same",
)
def gradient_between(
    op: Op,
    self: Value,
    *,
    spacing: Sequence[Number] | Sequence[Value],
    dim: int | None = None,
    edge_order: int = 1,
) -> list[Value]:
    """The gradient along all axes or one, the spacing of each given."""
    return _gradients(op, self, spacing, dim, edge_order)


@aten(
    "aten::gradient.array",
    "aten::gradient.scalararray",
    "aten::gradient.scalarrayarray",
    "aten::gradient.tensorarray",
    rule=custom(),
    tests=[OpTest("gradient", tol=_HALVES)],
    complex="same",
)
def gradient_along(
    op: Op,
    self: Value,
    *,
    spacing: Number | Sequence[Number] | Sequence[Value] | None = None,
    dim: Sequence[int],
    edge_order: int = 1,
) -> list[Value]:
    """The gradient along given axes, as `gradient` takes it."""
    return _gradients(op, self, spacing, dim, edge_order)

"""Variances, standard deviations, and the logarithm of sums of exponentials."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onnxwright.atenlib.complexes import Complex
from onnxwright.atenlib.helpers import complex_math
from onnxwright.atenlib.helpers.constants import cast, scalar
from onnxwright.atenlib.helpers.reduce import in_working_type, reduce, reduced_axes
from onnxwright.atenlib.helpers.sizes import count_along, is_known_zero
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.optest import OpTest
from onnxwright.atenlib.protocols import Arguments, Number, Op, Value, is_value
from onnxwright.atenlib.rules import custom, reduction
from onnxwright.types.dtypes import DType
from onnxwright.types.promotion import real_of


def mean_and_var(
    op: Op, x: Value, dim: int | Sequence[int] | None, correction: Any, keepdim: bool
) -> tuple[Any, Any]:
    """The mean and the variance over axes, in FLOAT for half types."""
    axes = reduced_axes(dim, x.rank)
    if isinstance(x, Complex):
        real_mean, real_var = mean_and_var(op, x.real, dim, correction, keepdim)
        imag_mean, imag_var = mean_and_var(op, x.imag, dim, correction, keepdim)
        return Complex(real_mean, imag_mean), op.Add(real_var, imag_var)
    x = in_working_type(op, x)
    mean = reduce(op, "ReduceMean", x, axes, True)
    total = reduce(op, "ReduceSumSquare", op.Sub(x, mean), axes, keepdim)
    variance = op.Div(total, _freedom(op, x, axes, correction))
    if is_known_zero(count_along(op, x, axes)):
        mean = op.Div(mean, 0)
    if not keepdim and axes:
        mean = op.Squeeze(mean, axes)
    return mean, variance


def _freedom(op: Op, x: Value, axes: list[int], correction: Any) -> Value:
    """How many elements less the correction, at least zero."""
    if correction is None:
        correction = 1
    count = count_along(op, x, axes)
    if isinstance(count, int) and not is_value(correction):
        return scalar(op, max(0, count - correction), x.onnx_dtype)
    left = op.Sub(scalar(op, count, x.onnx_dtype), scalar(op, correction, x.onnx_dtype))
    return op.Max(left, 0)


def _real_type(arguments: Arguments) -> DType:
    return real_of(arguments["self"].onnx_dtype)


@aten("aten::var.correction", rule=custom(_real_type), tests=[OpTest("var")])
def var_correction(
    op: Op,
    self: Value,
    dim: int | Sequence[int] | None = None,
    correction: Number | None = None,
    keepdim: bool = False,
) -> Any:
    """The variance over axes; the sum of squares is divided by the count less `correction`."""
    return mean_and_var(op, self, dim, correction, keepdim)[1]


@aten("aten::var", rule=custom(_real_type), tests=[OpTest("var:unbiased")])
def var(op: Op, self: Value, unbiased: bool = True) -> Any:
    """The variance of all elements."""
    return mean_and_var(op, self, None, int(unbiased), False)[1]


@aten("aten::var.dim", rule=custom(_real_type), tests=[OpTest("var")])
def var_dim(
    op: Op,
    self: Value,
    dim: int | Sequence[int] | None,
    unbiased: bool = True,
    keepdim: bool = False,
) -> Any:
    """The variance over axes."""
    return mean_and_var(op, self, dim, int(unbiased), keepdim)[1]


@aten("aten::std.correction", rule=custom(_real_type), tests=[OpTest("std")])
def std_correction(
    op: Op,
    self: Value,
    dim: int | Sequence[int] | None = None,
    correction: Number | None = None,
    keepdim: bool = False,
) -> Value:
    """The root of the variance over axes."""
    return op.Sqrt(mean_and_var(op, self, dim, correction, keepdim)[1])


@aten("aten::std", rule=custom(_real_type), tests=[OpTest("std:unbiased")])
def std(op: Op, self: Value, unbiased: bool = True) -> Value:
    """The root of the variance of all elements."""
    return op.Sqrt(mean_and_var(op, self, None, int(unbiased), False)[1])


@aten("aten::std.dim", rule=custom(_real_type), tests=[OpTest("std")])
def std_dim(
    op: Op,
    self: Value,
    dim: int | Sequence[int] | None,
    unbiased: bool = True,
    keepdim: bool = False,
) -> Value:
    """The root of the variance over axes."""
    return op.Sqrt(mean_and_var(op, self, dim, int(unbiased), keepdim)[1])


def _both(
    op: Op, x: Value, dim: int | Sequence[int] | None, correction: Any, keepdim: bool, root: bool
) -> tuple[Any, Any]:
    mean, variance = mean_and_var(op, x, dim, correction, keepdim)
    if not isinstance(mean, Complex):
        mean = cast(op, mean, x.onnx_dtype)
    return (op.Sqrt(variance) if root else variance), mean


@aten("aten::var_mean.correction", rule=custom(_real_type), tests=[OpTest("var_mean")])
def var_mean_correction(
    op: Op,
    self: Value,
    dim: int | Sequence[int] | None = None,
    correction: Number | None = None,
    keepdim: bool = False,
) -> tuple[Value, ...]:
    """The variance and the mean over axes."""
    return _both(op, self, dim, correction, keepdim, root=False)


@aten("aten::std_mean.correction", rule=custom(_real_type), tests=[OpTest("std_mean")])
def std_mean_correction(
    op: Op,
    self: Value,
    dim: int | Sequence[int] | None = None,
    correction: Number | None = None,
    keepdim: bool = False,
) -> tuple[Value, ...]:
    """The root of the variance and the mean over axes."""
    return _both(op, self, dim, correction, keepdim, root=True)


@aten("aten::var_mean", rule=custom(_real_type), tests=[OpTest("var_mean:unbiased")])
def var_mean(op: Op, self: Value, unbiased: bool = True) -> tuple[Value, ...]:
    """The variance and the mean of all elements."""
    return _both(op, self, None, int(unbiased), False, root=False)


@aten("aten::var_mean.dim", rule=custom(_real_type), tests=[OpTest("var_mean")])
def var_mean_dim(
    op: Op,
    self: Value,
    dim: int | Sequence[int] | None,
    unbiased: bool = True,
    keepdim: bool = False,
) -> tuple[Value, ...]:
    """The variance and the mean over axes."""
    return _both(op, self, dim, int(unbiased), keepdim, root=False)


@aten("aten::std_mean", rule=custom(_real_type), tests=[OpTest("std_mean:unbiased")])
def std_mean(op: Op, self: Value, unbiased: bool = True) -> tuple[Value, ...]:
    """The root of the variance and the mean of all elements."""
    return _both(op, self, None, int(unbiased), False, root=True)


@aten("aten::std_mean.dim", rule=custom(_real_type), tests=[OpTest("std_mean")])
def std_mean_dim(
    op: Op,
    self: Value,
    dim: int | Sequence[int] | None,
    unbiased: bool = True,
    keepdim: bool = False,
) -> tuple[Value, ...]:
    """The root of the variance and the mean over axes."""
    return _both(op, self, dim, int(unbiased), keepdim, root=True)


for _entry in (
    var_correction,
    var,
    var_dim,
    std_correction,
    std,
    std_dim,
    var_mean_correction,
    std_mean_correction,
    var_mean,
    var_mean_dim,
    std_mean,
    std_mean_dim,
):
    _entry.on_complex(_entry.body)


@aten(
    "aten::logsumexp",
    "aten::special_logsumexp",
    rule=reduction(promote="int_to_float"),
    tests=[OpTest("logsumexp")],
)
def logsumexp(op: Op, self: Value, dim: int | Sequence[int], keepdim: bool = False) -> Value:
    """The logarithm of the sum of exponentials over axes."""
    return reduce(op, "ReduceLogSumExp", self, reduced_axes(dim, self.rank), keepdim)


@logsumexp.on_complex
def _logsumexp_complex(
    op: Op, self: Complex, dim: int | Sequence[int], keepdim: bool = False
) -> Complex:
    axes = reduced_axes(dim, self.rank)
    part = self.real.onnx_dtype
    top = reduce(op, "ReduceMax", self.real, axes, True)
    # What is not finite cannot be taken off.
    top = op.Where(op.IsInf(top), scalar(op, 0, part), top)
    powers = complex_math.exp(op, Complex(op.Sub(self.real, top), self.imag))
    total = Complex(
        reduce(op, "ReduceSum", powers.real, axes, keepdim),
        reduce(op, "ReduceSum", powers.imag, axes, keepdim),
    )
    found = complex_math.log(op, total)
    return Complex(
        op.Add(found.real, top if keepdim or not axes else op.Squeeze(top, axes)), found.imag
    )

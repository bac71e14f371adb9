"""Variances, standard deviations, and the logarithm of sums of exponentials."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


def _var(op: Op, x: Value, dim: Any, correction: Any, keepdim: bool) -> Any:
    return mean_and_var(op, x, dim, correction, keepdim)[1]


def _var_mean(op: Op, x: Value, dim: Any, correction: Any, keepdim: bool) -> tuple[Any, ...]:
    mean, variance = mean_and_var(op, x, dim, correction, keepdim)
    if not isinstance(mean, Complex):
        mean = cast(op, mean, x.onnx_dtype)
    return variance, mean


def _std(op: Op, x: Value, dim: Any, correction: Any, keepdim: bool) -> Any:
    return op.Sqrt(_var(op, x, dim, correction, keepdim))


def _std_mean(op: Op, x: Value, dim: Any, correction: Any, keepdim: bool) -> tuple[Any, ...]:
    variance, mean = _var_mean(op, x, dim, correction, keepdim)
    return op.Sqrt(variance), mean


def _register(name: str, doc: str, compute: Callable[[Op, Value, Any, Any, bool], Any]) -> None:
    """Register the three overloads of one of these functions.

    Args:
        name: what ATen calls it.
        doc: what it computes, without over what.
        compute: computes it over axes (None: all); the sum of squares is divided by the count less
            the correction.
    """

    def with_correction(
        op: Op,
        self: Value,
        dim: int | Sequence[int] | None = None,
        correction: Number | None = None,
        keepdim: bool = False,
    ) -> Any:
        return compute(op, self, dim, correction, keepdim)

    def of_all(op: Op, self: Value, unbiased: bool = True) -> Any:
        return compute(op, self, None, int(unbiased), False)

    def along(
        op: Op,
        self: Value,
        dim: int | Sequence[int] | None,
        unbiased: bool = True,
        keepdim: bool = False,
    ) -> Any:
        return compute(op, self, dim, int(unbiased), keepdim)

    for overload, body, test, over in (
        (".correction", with_correction, name, "over axes"),
        ("", of_all, f"{name}:unbiased", "of all elements"),
        (".dim", along, name, "over axes"),
    ):
        aten(
            f"aten::{name}{overload}", rule=custom(_real_type), tests=[OpTest(test)],
            complex="same", doc=f"{doc} {over}.",
        )(body)  # fmt: skip


_register("var", "The variance", _var)
_register("std", "The root of the variance", _std)
_register("var_mean", "The variance and the mean", _var_mean)
_register("std_mean", "The root of the variance and the mean", _std_mean)


@aten("aten::logsumexp", "aten::special_logsumexp", rule=reduction(promote="int_to_float"))
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
    logarithm = complex_math.log(op, total)
    return Complex(
        op.Add(logarithm.real, top if keepdim or not axes else op.Squeeze(top, axes)),
        logarithm.imag,
    )

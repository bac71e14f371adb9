"""The softmax family."""

from __future__ import annotations

from onnxwright.atenlib.helpers.constants import scalar
from onnxwright.atenlib.helpers.reduce import in_working_type, reduce
from onnxwright.atenlib.helpers.sizes import axis_of
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.optest import OpTest, Tol
from onnxwright.atenlib.protocols import Arguments, Op, Value
from onnxwright.atenlib.rules import custom, like, reduction
from onnxwright.types.dtypes import DType

# Torch rounds between its steps in half types, each time by up to half an ulp of numbers that are
# larger than the result; here they are computed in FLOAT.
_HALVES = {"float16": Tol(3e-3, 1e-3), "bfloat16": Tol(3e-2, 1e-2)}


def softmax_along(op: Op, x: Value, dim: int, logarithm: bool = False) -> Value:
    """Exponentials that add up to one along an axis, or their logarithms.

    Args:
        dim: the axis, may count from the end.

    Returns:
        A value of the type and shape of `x`.
    """
    if x.rank == 0:
        # One element alone: 1, or NaN where it is not finite.
        rest = op.Sub(x, x)
        return rest if logarithm else op.Exp(rest)
    return (op.LogSoftmax if logarithm else op.Softmax)(x, axis=axis_of(dim, x.rank))


@aten(
    "aten::softmax.int",
    "aten::special_softmax",
    rule=reduction(),
    tests=[
        OpTest("softmax"),
        OpTest("softmax:with_dtype"),
        OpTest("nn.functional.softmin"),
        OpTest("nn.functional.softmin:with_dtype"),
    ],
)
def softmax(op: Op, self: Value, dim: int, dtype: DType | None = None) -> Value:
    """Exponentials that add up to one along an axis."""
    return softmax_along(op, self, dim)


@aten(
    "aten::log_softmax.int",
    "aten::special_log_softmax",
    rule=reduction(),
    tests=[OpTest("log_softmax", tol=_HALVES), OpTest("log_softmax:with_dtype")],
)
def log_softmax(op: Op, self: Value, dim: int, dtype: DType | None = None) -> Value:
    """Logarithms of exponentials that add up to one along an axis."""
    return softmax_along(op, self, dim, logarithm=True)


def _half_to_float(arguments: Arguments) -> DType:
    dtype: DType = arguments["self"].onnx_dtype
    return DType.FLOAT if arguments["half_to_float"] else dtype


@aten(
    "aten::_softmax",
    rule=custom(_half_to_float),
    untested="torch.softmax is recorded as softmax.int",
)
def softmax_core(op: Op, self: Value, dim: int, half_to_float: bool) -> Value:
    """Exponentials that add up to one along an axis; of half types in FLOAT if asked."""
    return softmax_along(op, in_working_type(op, self) if half_to_float else self, dim)


@aten(
    "aten::_log_softmax",
    rule=custom(_half_to_float),
    untested="torch.log_softmax is recorded as log_softmax.int",
)
def log_softmax_core(op: Op, self: Value, dim: int, half_to_float: bool) -> Value:
    """Logarithms of exponentials that add up to one; of half types in FLOAT if asked."""
    x = in_working_type(op, self) if half_to_float else self
    return softmax_along(op, x, dim, logarithm=True)


@aten(
    "aten::_safe_softmax",
    rule=reduction(),
    tests=[OpTest("torch.ops.aten._safe_softmax.default")],
)
def safe_softmax(op: Op, self: Value, dim: int, dtype: DType | None = None) -> Value:
    """As softmax, but zeros where all elements along the axis are minus infinity."""
    axes = [axis_of(dim, self.rank)] if self.rank else []
    top = reduce(op, "ReduceMax", self, axes, True)
    nothing = op.Equal(top, scalar(op, -float("inf"), self.onnx_dtype))
    return op.Where(nothing, scalar(op, 0, self.onnx_dtype), softmax_along(op, self, dim))


@aten(
    "aten::_masked_softmax",
    rule=like("self"),
    untested="torch has no OpInfo of it: tests/atenlib/test_attention.py",
)
def masked_softmax(
    op: Op, self: Value, mask: Value, dim: int | None = None, mask_type: int | None = None
) -> Value:
    """Softmax of the elements where the mask is false, and zeros elsewhere.

    A mask of type 0 is a matrix for all heads, one of type 1 has a row for each example.
    """
    if mask_type == 1:
        mask = op.Unsqueeze(mask, [1, 2])
    left_out = scalar(op, -float("inf"), self.onnx_dtype)
    return softmax_along(op, op.Where(mask, left_out, self), -1 if dim is None else dim)


@aten("aten::_softmax_backward_data", rule=custom(lambda a: a["input_dtype"]))
def softmax_backward_data(
    op: Op, grad_output: Value, output: Value, dim: int, input_dtype: DType
) -> Value:
    """The gradient of softmax: `(grad - sum(grad * output)) * output`."""
    grad, out = in_working_type(op, grad_output), in_working_type(op, output)
    weighted = op.Mul(grad, out)
    axes = [axis_of(dim, out.rank)] if out.rank else []
    return op.Sub(weighted, op.Mul(out, reduce(op, "ReduceSum", weighted, axes, True)))

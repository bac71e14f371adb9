"""Loss functions of two tensors of one shape, and of pairs and triples of vectors."""

from __future__ import annotations

import functools
import math
from typing import Any

from onnxwright.atenlib.complexes import Complex, as_complex
from onnxwright.atenlib.helpers.constants import cast, scalar
from onnxwright.atenlib.helpers.reduce import HALVES, in_working_type, reduce
from onnxwright.atenlib.helpers.sizes import count_along, is_known_zero
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.optest import OpTest, Tol, XFail
from onnxwright.atenlib.protocols import Arguments, Op, Value
from onnxwright.atenlib.rules import Rule, custom, elementwise
from onnxwright.types.dtypes import DType
from onnxwright.types.promotion import promote_types, real_of

NONE, MEAN, SUM = 0, 1, 2

# Torch rounds each step of a composite loss in half types; here they are taken in FLOAT.
HALF_STEPS = {"float16": Tol(5e-3, 5e-3), "bfloat16": Tol(5e-2, 5e-2)}
_MORE_STEPS = {"float16": Tol(2e-2, 2e-2), "bfloat16": Tol(1e-1, 1e-1)}
_OVERFLOW = XFail(
    "torch's exponential overflows in half precision, here the loss is finite",
    dtypes=("float16",),
    sometimes=True,
)


def reduced(op: Op, x: Value, reduction: int) -> Value:
    """The losses themselves, their mean, or their sum.

    Args:
        reduction: 0, 1 or 2.

    Returns:
        A value of the type of `x`.
    """
    axes = list(range(x.rank))
    if reduction == NONE or (not axes):
        return x
    if reduction == SUM:
        return reduce(op, "ReduceSum", x, axes)
    if is_known_zero(count_along(op, x, axes)):
        return op.Div(reduce(op, "ReduceSum", x, axes), 0)
    return reduce(op, "ReduceMean", x, axes)


def _pair() -> Rule:
    return elementwise(("self", "target"))


def _floats(*names: str) -> Rule:
    return elementwise(names, promote="int_to_float")


def _real_floats(*names: str) -> Rule:
    """The result is real and a float, whatever the arguments are; the body casts them."""

    def dtype(arguments: Arguments) -> DType:
        return _common_float([arguments[name] for name in names])

    return custom(dtype)


def _common_float(values: list[Any]) -> DType:
    common = functools.reduce(promote_types, [real_of(v.onnx_dtype) for v in values])
    return common if common.is_float else DType.FLOAT


def _difference(op: Op, self: Value, target: Value) -> Value:
    return op.Sub(in_working_type(op, self), in_working_type(op, target))


def _halves(op: Op, *xs: Any) -> list[Any]:
    """Values in the type to compute in."""
    return [in_working_type(op, x) for x in xs]


@aten("aten::mse_loss", rule=_pair(), tests=[OpTest("nn.functional.mse_loss", tol=HALF_STEPS)])
def mse_loss(op: Op, self: Value, target: Value, reduction: int = 1) -> Value:
    """The squared differences."""
    away = _difference(op, self, target)
    return reduced(op, op.Mul(away, away), reduction)


@aten(
    "aten::l1_loss",
    rule=elementwise(("self", "target"), promote="complex_to_float"),
    tests=[OpTest("nn.functional.l1_loss", tol=HALF_STEPS)],
)
def l1_loss(op: Op, self: Value, target: Value, reduction: int = 1) -> Value:
    """The absolute differences."""
    return reduced(op, op.Abs(op.Sub(self, target)), reduction)


@l1_loss.on_complex
def _l1_loss_complex(op: Op, self: Complex, target: Complex, reduction: int = 1) -> Value:
    real, imag = op.Sub(self.real, target.real), op.Sub(self.imag, target.imag)
    return reduced(op, op.Sqrt(op.Add(op.Mul(real, real), op.Mul(imag, imag))), reduction)


def _square_near_zero(op: Op, away: Any, edge: float, slope: float) -> Value:
    """`slope * away^2 / (2 edge)` below the edge, `slope * (away - edge / 2)` beyond."""
    size = op.Abs(away)
    inner = op.Mul(op.Mul(size, size), 0.5 * slope / edge)
    outer = op.Mul(op.Sub(size, 0.5 * edge), slope) if slope != 1 else op.Sub(size, 0.5 * edge)
    return op.Where(op.Less(size, edge), inner, outer)


@aten(
    "aten::smooth_l1_loss",
    rule=_pair(),
    tests=[OpTest("nn.functional.smooth_l1_loss", tol=HALF_STEPS)],
)
def smooth_l1_loss(
    op: Op, self: Value, target: Value, reduction: int = 1, beta: float = 1.0
) -> Value:
    """Squared differences below `beta`, absolute ones beyond."""
    away = _difference(op, self, target)
    losses = op.Abs(away) if beta == 0 else _square_near_zero(op, away, beta, 1.0)
    return reduced(op, losses, reduction)


@aten("aten::huber_loss", rule=_pair(), tests=[OpTest("nn.functional.huber_loss", tol=HALF_STEPS)])
def huber_loss(op: Op, self: Value, target: Value, reduction: int = 1, delta: float = 1.0) -> Value:
    """Half the squared differences below `delta`, absolute ones of the same slope beyond."""
    away = _difference(op, self, target)
    return reduced(op, _square_near_zero(op, away, delta, delta), reduction)


@aten(
    "aten::binary_cross_entropy",
    rule=elementwise(("self", "target", "weight")),
    tests=[OpTest("nn.functional.binary_cross_entropy", tol=HALF_STEPS)],
)
def binary_cross_entropy(
    op: Op, self: Value, target: Value, weight: Value | None = None, reduction: int = 1
) -> Value:
    """The cross entropy of probabilities; logarithms are kept above -100."""
    x, y = _halves(op, self, target)
    sure = op.Max(op.Log(x), -100)
    not_sure = op.Max(op.Log(op.Sub(1, x)), -100)
    losses = op.Sub(op.Mul(op.Sub(y, 1), not_sure), op.Mul(y, sure))
    if weight is not None:
        losses = op.Mul(losses, in_working_type(op, weight))
    return reduced(op, losses, reduction)


@aten(
    "aten::binary_cross_entropy_with_logits",
    rule=elementwise(("self", "target", "weight", "pos_weight")),
    tests=[OpTest("nn.functional.binary_cross_entropy_with_logits", tol=_MORE_STEPS)],
)
def binary_cross_entropy_with_logits(
    op: Op,
    self: Value,
    target: Value,
    weight: Value | None = None,
    pos_weight: Value | None = None,
    reduction: int = 1,
) -> Value:
    """The cross entropy of the sigmoid: `(1 - y) x - w log(sigmoid(x))`."""
    x, y = _halves(op, self, target)
    log_sigmoid = op.Sub(op.Min(x, 0), op.Log(op.Add(op.Exp(op.Neg(op.Abs(x))), 1)))
    if pos_weight is not None:
        more = op.Sub(in_working_type(op, pos_weight), 1)
        log_sigmoid = op.Mul(op.Add(op.Mul(more, y), 1), log_sigmoid)
    losses = op.Sub(op.Mul(op.Sub(1, y), x), log_sigmoid)
    if weight is not None:
        losses = op.Mul(losses, in_working_type(op, weight))
    return reduced(op, losses, reduction)


@aten("aten::kl_div", rule=_pair(), tests=[OpTest("nn.functional.kl_div", tol=HALF_STEPS)])
def kl_div(
    op: Op, self: Value, target: Value, reduction: int = 1, *, log_target: bool = False
) -> Value:
    """The divergence `y (log(y) - x)` of log-probabilities from probabilities."""
    x, y = _halves(op, self, target)
    if log_target:
        return reduced(op, op.Mul(op.Exp(y), op.Sub(y, x)), reduction)
    zero = scalar(op, 0, y.onnx_dtype)
    itself = op.Where(op.Equal(y, zero), zero, op.Mul(y, op.Log(y)))
    return reduced(op, op.Sub(itself, op.Mul(y, x)), reduction)


@aten(
    "aten::hinge_embedding_loss",
    rule=_pair(),
    tests=[OpTest("nn.functional.hinge_embedding_loss", tol=HALF_STEPS)],
)
def hinge_embedding_loss(
    op: Op, self: Value, target: Value, margin: float = 1.0, reduction: int = 1
) -> Value:
    """The distance where the target is 1, what it lacks of the margin where it is -1."""
    x, y = _halves(op, self, target)
    zero = scalar(op, 0, x.onnx_dtype)
    lacking = op.Where(op.Equal(y, 1), zero, op.Max(op.Sub(margin, x), 0))
    near = op.Where(op.Equal(y, -1), zero, x)
    return reduced(op, op.Add(lacking, near), reduction)


@aten(
    "aten::margin_ranking_loss",
    rule=_real_floats("input1", "input2", "target"),
    tests=[OpTest("nn.functional.margin_ranking_loss", tol=HALF_STEPS)],
)
def margin_ranking_loss(
    op: Op, input1: Value, input2: Value, target: Value, margin: float = 0.0, reduction: int = 1
) -> Value:
    """`max(0, -y (a - b) + margin)`."""
    every = [input1.onnx_dtype, input2.onnx_dtype, target.onnx_dtype]
    common = functools.reduce(promote_types, every)
    input1, input2, target = (cast(op, x, common) for x in (input1, input2, target))
    if common.is_integer:
        # Torch wraps around until the margin, a float, is added.
        losses = op.Mul(op.Sub(0, target), op.Sub(input1, input2))
        losses = op.Cast(losses, to=DType.FLOAT)
    else:
        a, b, y = _halves(op, input1, input2, target)
        losses = op.Mul(op.Neg(y), op.Sub(a, b))
    losses = op.Add(losses, margin) if margin else losses
    return reduced(op, op.Max(losses, 0), reduction)


@aten(
    "aten::soft_margin_loss",
    rule=_pair(),
    tests=[OpTest("nn.functional.soft_margin_loss", tol=HALF_STEPS, xfail=[_OVERFLOW])],
)
def soft_margin_loss(op: Op, self: Value, target: Value, reduction: int = 1) -> Value:
    """`log(1 + exp(-y x))`."""
    x, y = _halves(op, self, target)
    return reduced(op, op.Log(op.Add(op.Exp(op.Neg(op.Mul(y, x))), 1)), reduction)


@aten(
    "aten::poisson_nll_loss",
    rule=_floats("input", "target"),
    tests=[OpTest("nn.functional.poisson_nll_loss", tol=_MORE_STEPS)],
)
def poisson_nll_loss(
    op: Op, input: Value, target: Value, log_input: bool, full: bool, eps: float, reduction: int
) -> Value:
    """The negative log likelihood of counts; with Stirling's term where `full`."""
    x, y = _halves(op, input, target)
    if log_input:
        losses = op.Sub(op.Exp(x), op.Mul(y, x))
    else:
        losses = op.Sub(x, op.Mul(y, op.Log(op.Add(x, eps))))
    if full:
        zero = scalar(op, 0, y.onnx_dtype)
        log_pi = op.Mul(op.Log(op.Mul(y, 2 * math.pi)), 0.5)
        stirling = op.Add(op.Sub(op.Mul(y, op.Log(y)), y), log_pi)
        losses = op.Add(losses, op.Where(op.LessOrEqual(y, 1), zero, stirling))
    return reduced(op, losses, reduction)


def _along_last(op: Op, x: Value) -> Value:
    return reduce(op, "ReduceSum", x, [x.rank - 1])


@aten(
    "aten::cosine_embedding_loss",
    rule=_floats("input1", "input2"),
    tests=[OpTest("nn.functional.cosine_embedding_loss", tol=HALF_STEPS)],
)
def cosine_embedding_loss(
    op: Op, input1: Value, input2: Value, target: Value, margin: float = 0.0, reduction: int = 1
) -> Value:
    """`1 - cos` where the target is 1, what `cos` exceeds the margin by where it is -1."""
    a, b = _halves(op, input1, input2)
    small = 1e-12
    product = _along_last(op, op.Mul(a, b))
    size_a = op.Add(_along_last(op, op.Mul(a, a)), small)
    size_b = op.Add(_along_last(op, op.Mul(b, b)), small)
    cosine = op.Div(product, op.Sqrt(op.Mul(size_a, size_b)))
    zero = scalar(op, 0, cosine.onnx_dtype)
    if not target.onnx_dtype.is_float:
        target = op.Cast(target, to=DType.FLOAT)
    same = op.Where(op.Equal(target, 1), op.Sub(1, cosine), zero)
    other = op.Where(op.Equal(target, -1), op.Max(op.Sub(cosine, margin), 0), zero)
    return reduced(op, op.Add(same, other), reduction)


def p_norm_of_rows(op: Op, x: Value, p: float, keepdim: bool = False) -> Value:
    """The norm of order p along the last axis.

    Args:
        p: any order; 0 counts, infinity is the largest.

    Returns:
        A value of the type of `x`.
    """
    axes = [x.rank - 1]
    if p in (1, 2):
        return reduce(op, f"ReduceL{int(p)}", x, axes, keepdim)
    size = op.Abs(x)
    if p == 0:
        there = op.Cast(op.Cast(x, to=DType.BOOL), to=x.onnx_dtype)
        return reduce(op, "ReduceSum", there, axes, keepdim)
    if math.isinf(p):
        return reduce(op, "ReduceMax" if p > 0 else "ReduceMin", size, axes, keepdim)
    total = reduce(op, "ReduceSum", op.Pow(size, scalar(op, p, x.onnx_dtype)), axes, keepdim)
    return op.Pow(total, scalar(op, 1 / p, x.onnx_dtype))


def difference(op: Op, x: Value, y: Value, eps: float, dtype: DType) -> Value:
    """`x - y + eps` in a type of floats; the modulus of that for complex tensors.

    Args:
        x, y: values, or complex tensors.
    """
    if isinstance(x, Complex) or isinstance(y, Complex):
        a, b = as_complex(op, x, dtype), as_complex(op, y, dtype)
        real, imag = op.Add(op.Sub(a.real, b.real), eps), op.Sub(a.imag, b.imag)
        return op.Sqrt(op.Add(op.Mul(real, real), op.Mul(imag, imag)))
    if x.onnx_dtype.is_integer and x.onnx_dtype is y.onnx_dtype:
        # Torch wraps around until `eps`, a float, is added.
        return op.Add(cast(op, op.Sub(x, y), dtype), eps)
    return op.Add(op.Sub(cast(op, x, dtype), cast(op, y, dtype)), eps)


@aten(
    "aten::triplet_margin_loss",
    rule=_real_floats("anchor", "positive", "negative"),
    tests=[
        OpTest("nn.functional.triplet_margin_loss", tol=HALF_STEPS),
    ],
    complex="same",
)
def triplet_margin_loss(
    op: Op,
    anchor: Value,
    positive: Value,
    negative: Value,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-06,
    swap: bool = False,
    reduction: int = 1,
) -> Value:
    """How much nearer than the margin the negative is compared with the positive."""
    work = _common_float([anchor, positive, negative])
    work = DType.FLOAT if work in HALVES else work

    def distance(x: Value, y: Value) -> Value:
        return p_norm_of_rows(op, difference(op, x, y, eps, work), p)

    away = distance(anchor, negative)
    if swap:
        away = op.Min(away, distance(positive, negative))
    losses = op.Max(op.Add(op.Sub(distance(anchor, positive), away), margin), 0)
    return reduced(op, losses, reduction)

"""Loss functions of classes: negative log likelihood, cross entropy, margins."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxwright.atenlib.helpers.constants import cast, full, iota, scalar
from onnxwright.atenlib.helpers.reduce import in_working_type, reduce
from onnxwright.atenlib.helpers.sizes import size
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.ops.loss import HALF_STEPS, MEAN, NONE, SUM, reduced
from onnxwright.atenlib.ops.softmax import softmax_along
from onnxwright.atenlib.optest import OpTest
from onnxwright.atenlib.protocols import Number, Op, Size, Value
from onnxwright.atenlib.rules import like
from onnxwright.types.dtypes import DType


def _picked(op: Op, x: Value, target: Value, axis: int) -> Value:
    """The element of its class for each sample."""
    index = op.Unsqueeze(target, [axis])
    return op.Squeeze(op.GatherElements(x, index, axis=axis), [axis])


def _class_weights(op: Op, x: Value, target: Value, weight: Value | None, ignored: Any) -> Value:
    """The weight of each sample, zero where its class is ignored."""
    dtype = x.onnx_dtype
    zero = scalar(op, 0, dtype)
    if weight is None:
        each = scalar(op, 1, dtype)
    else:
        each = op.Gather(cast(op, weight, dtype), target)
    return op.Where(ignored, zero, each)


def _likelihood(
    op: Op, x: Value, target: Value, weight: Value | None, reduction: int, ignore_index: Any
) -> tuple[Any, Any]:
    """The negative log likelihood and the sum of the weights, in the working type."""
    x = in_working_type(op, x)
    axis = 0 if x.rank == 1 else 1
    target = cast(op, target, DType.INT64)
    ignored = op.Equal(target, scalar(op, ignore_index, DType.INT64))
    # Any class will do where it is ignored.
    classes = op.Where(ignored, scalar(op, 0, DType.INT64), target)
    weights = _class_weights(op, x, classes, weight, ignored)
    zero = scalar(op, 0, x.onnx_dtype)
    # What is ignored must not bring in an infinity.
    chosen = op.Where(ignored, zero, _picked(op, x, classes, axis))
    losses = op.Neg(op.Mul(chosen, weights))
    axes = list(range(losses.rank))
    total = reduce(op, "ReduceSum", weights, axes)
    if reduction == NONE:
        return losses, total
    summed = reduce(op, "ReduceSum", losses, axes)
    return (op.Div(summed, total) if reduction == MEAN else summed), total


@aten(
    "aten::nll_loss_nd",
    "aten::nll_loss",
    "aten::nll_loss2d",
    rule=like(),
    tests=[OpTest("nn.functional.nll_loss", tol=HALF_STEPS)],
)
def nll_loss(
    op: Op,
    self: Value,
    target: Value,
    weight: Value | None = None,
    reduction: int = 1,
    ignore_index: Size = -100,
) -> Any:
    """The negative log-probability of the right class, `[N, C, ...]` and `[N, ...]`."""
    return _likelihood(op, self, target, weight, reduction, ignore_index)[0]


@aten(
    "aten::nll_loss_forward",
    "aten::nll_loss2d_forward",
    rule=like(),
    untested="torch.nn.functional.nll_loss is recorded as nll_loss_nd",
)
def nll_loss_forward(
    op: Op, self: Value, target: Value, weight: Value | None, reduction: int, ignore_index: Size
) -> tuple[Value, ...]:
    """The negative log-probability of the right class, and the sum of the weights."""
    loss, total = _likelihood(op, self, target, weight, reduction, ignore_index)
    if reduction == NONE:
        total = scalar(op, 0, total.onnx_dtype)
    return loss, cast(op, total, self.onnx_dtype)


@aten(
    "aten::cross_entropy_loss",
    rule=like(),
    tests=[OpTest("nn.functional.cross_entropy", tol=HALF_STEPS)],
)
def cross_entropy_loss(
    op: Op,
    self: Value,
    target: Value,
    weight: Value | None = None,
    reduction: int = 1,
    ignore_index: Size = -100,
    label_smoothing: float = 0.0,
) -> Any:
    """The cross entropy of the softmax, against classes or probabilities of classes."""
    x = in_working_type(op, self)
    axis = 0 if x.rank == 1 else 1
    logs = softmax_along(op, x, axis, logarithm=True)
    if target.onnx_dtype.is_float:
        return _soft_entropy(op, logs, target, weight, reduction, label_smoothing, axis)
    likelihood, total = _likelihood(op, logs, target, weight, reduction, ignore_index)
    if not label_smoothing:
        return likelihood
    smooth = _weighted(op, logs, weight, axis)
    smooth = op.Neg(reduce(op, "ReduceSum", smooth, [axis]))
    ignored = op.Equal(cast(op, target, DType.INT64), scalar(op, ignore_index, DType.INT64))
    smooth = op.Where(ignored, scalar(op, 0, x.onnx_dtype), smooth)
    if reduction != NONE:
        smooth = reduce(op, "ReduceSum", smooth, list(range(smooth.rank)))
    if reduction == MEAN:
        smooth = op.Div(smooth, total)
    share = op.Div(scalar(op, label_smoothing, x.onnx_dtype), _classes(op, x, axis))
    return op.Add(op.Mul(likelihood, 1 - label_smoothing), op.Mul(smooth, share))


@aten(
    "torch_nn::_linear_cross_entropy_batch_chunked",
    rule=like("input"),
    tests=[OpTest("nn.functional.linear_cross_entropy:chunked", tol=HALF_STEPS)],
)
def linear_cross_entropy(
    op: Op,
    input: Value,
    linear_weight: Value,
    target: Value,
    linear_bias: Value | None,
    weight: Value,
    reduction: str,
    ignore_index: Any,
    label_smoothing: float,
    batch_chunk_size: Any,
    acc_policy: str,
    acc_dtype: Any,
    allow_retain_graph: bool,
    compute_input_grad: bool,
    compute_linear_weight_grad: bool,
    compute_linear_bias_grad: bool,
) -> Any:
    """The cross entropy of a linear layer, `[N, F]` and `[C, F]`; gradients are not computed.

    Torch takes the rows in pieces to spare memory, and has gradients at hand after it.
    """
    how = {"none": NONE, "mean": MEAN}.get(reduction, SUM)
    logits = _linear(op, input, linear_weight, linear_bias)
    loss = cross_entropy_loss.body(op, logits, target, weight, how, ignore_index, label_smoothing)
    asked = (compute_input_grad, compute_linear_weight_grad, compute_linear_bias_grad)
    empty = [full(op, [0] * rank, 0, input.onnx_dtype) for rank in (2, 2, 1)]
    return loss, *(None if a else e for a, e in zip(asked, empty, strict=True))


@aten(
    "torch_nn::_linear_cross_entropy_batch_chunked_no_reduction",
    rule=like("input"),
    tests=[OpTest("nn.functional.linear_cross_entropy:chunked_none", tol=HALF_STEPS)],
)
def linear_cross_entropies(
    op: Op,
    input: Value,
    linear_weight: Value,
    target: Value,
    linear_bias: Value | None,
    weight: Value,
    ignore_index: Any,
    batch_chunk_size: Any,
    acc_policy: str,
    acc_dtype: Any,
) -> Any:
    """As `linear_cross_entropy`, a loss for each row."""
    logits = _linear(op, input, linear_weight, linear_bias)
    return cross_entropy_loss.body(op, logits, target, weight, NONE, ignore_index)


def _linear(op: Op, x: Value, weight: Value, bias: Value | None) -> Value:
    x, weight = in_working_type(op, x), in_working_type(op, weight)
    product = op.MatMul(x, op.Transpose(weight, perm=[1, 0]))
    return product if bias is None else op.Add(product, cast(op, bias, product.onnx_dtype))


def _classes(op: Op, x: Value, axis: int) -> Value:
    return scalar(op, size(op, x, axis), x.onnx_dtype)


def _weighted(op: Op, x: Value, weight: Value | None, axis: int) -> Value:
    """Each class times its weight."""
    if weight is None:
        return x
    after = x.rank - 1 - axis
    weight = cast(op, weight, x.onnx_dtype)
    return op.Mul(x, op.Unsqueeze(weight, list(range(1, after + 1))) if after else weight)


def _soft_entropy(
    op: Op,
    logs: Any,
    target: Value,
    weight: Value | None,
    reduction: int,
    smoothing: float,
    axis: int,
) -> Value:
    """The cross entropy against probabilities."""
    y = cast(op, target, logs.onnx_dtype)
    if smoothing:
        share = op.Div(scalar(op, smoothing, y.onnx_dtype), _classes(op, logs, axis))
        y = op.Add(op.Mul(y, 1 - smoothing), share)
    losses = op.Neg(reduce(op, "ReduceSum", _weighted(op, op.Mul(logs, y), weight, axis), [axis]))
    # The mean is over the samples, whatever the weights are.
    return reduced(op, losses, reduction)


@aten(
    "aten::multi_margin_loss",
    rule=like(),
    tests=[OpTest("nn.functional.multi_margin_loss", tol=HALF_STEPS)],
)
def multi_margin_loss(
    op: Op,
    self: Value,
    target: Value,
    p: Number = 1,
    margin: Number = 1,
    weight: Value | None = None,
    reduction: int = 1,
) -> Value:
    """The mean over other classes of `max(0, margin - x[y] + x[i])^p`."""
    x = in_working_type(op, self)
    rows = op.Unsqueeze(x, [0]) if x.rank < 2 else x
    if x.rank == 0:
        rows = op.Unsqueeze(rows, [1])
    y = target if target.rank else op.Unsqueeze(target, [0])
    index = op.Unsqueeze(y, [1])
    right = op.GatherElements(rows, index, axis=1)
    lacking = op.Max(op.Add(op.Sub(rows, right), float(margin)), 0)
    if p == 2:
        lacking = op.Mul(lacking, lacking)
    if weight is not None:
        lacking = op.Mul(lacking, op.Gather(cast(op, weight, x.onnx_dtype), index))
    own = op.Equal(iota(op, size(op, rows, 1)), index)
    lacking = op.Where(own, scalar(op, 0, x.onnx_dtype), lacking)
    losses = op.Div(reduce(op, "ReduceSum", lacking, [1]), _classes(op, rows, 1))
    if x.rank < 2 and reduction == NONE:
        return op.Squeeze(losses, [0]) if target.rank == 0 else losses
    return reduced(op, losses, reduction)


def _multilabel(op: Op, x: Value, target: Value, reduction: int) -> tuple[Any, Any]:
    """The losses, and which classes are targets; targets end at the first negative one."""
    rows = x
    while rows.rank < 2:
        rows, target = op.Unsqueeze(rows, [0]), op.Unsqueeze(target, [0])
    target = cast(op, target, DType.INT64)
    ended = op.CumSum(op.Cast(op.Less(target, 0), to=DType.INT64), op.constant(np.array(1)))
    valid = op.Equal(ended, 0)
    targets = op.Where(valid, target, scalar(op, 0, DType.INT64))
    classes = iota(op, size(op, rows, 1))
    hits = op.And(op.Equal(op.Unsqueeze(targets, [2]), classes), op.Unsqueeze(valid, [2]))
    is_target = reduce(op, "ReduceMax", hits, [1])
    right = op.Unsqueeze(op.GatherElements(rows, targets, axis=1), [2])
    lacking = op.Max(op.Sub(op.Add(op.Unsqueeze(rows, [1]), 1), right), 0)
    counts = op.And(op.Unsqueeze(valid, [2]), op.Not(op.Unsqueeze(is_target, [1])))
    lacking = op.Where(counts, lacking, scalar(op, 0, x.onnx_dtype))
    losses = op.Div(reduce(op, "ReduceSum", lacking, [1, 2]), _classes(op, rows, 1))
    if x.rank < 2 and reduction == NONE:
        losses = op.Squeeze(losses, [0])
    return reduced(op, losses, reduction), is_target


@aten(
    "aten::multilabel_margin_loss",
    rule=like(),
    tests=[OpTest("nn.functional.multilabel_margin_loss", tol=HALF_STEPS)],
)
def multilabel_margin_loss(op: Op, self: Value, target: Value, reduction: int = 1) -> Any:
    """The mean over other classes of what each target class exceeds them by less than 1."""
    return _multilabel(op, in_working_type(op, self), target, reduction)[0]


@aten(
    "aten::multilabel_margin_loss_forward",
    rule=like(),
    untested="torch.nn.functional calls multilabel_margin_loss",
)
def multilabel_margin_loss_forward(
    op: Op, self: Value, target: Value, reduction: int
) -> tuple[Value, ...]:
    """The loss of `multilabel_margin_loss`, and which classes are targets."""
    loss, hits = _multilabel(op, in_working_type(op, self), target, reduction)
    hits = op.Reshape(hits, op.Shape(target)) if target.rank != 2 else hits
    return loss, cast(op, hits, self.onnx_dtype)

"""The loss of sequences without alignment (CTC)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from onnxwright.atenlib.helpers.constants import cast, full, iota, scalar, vector
from onnxwright.atenlib.helpers.reduce import reduce
from onnxwright.atenlib.helpers.shape import slice_axis
from onnxwright.atenlib.helpers.sizes import size
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.ops.loss import MEAN, SUM
from onnxwright.atenlib.optest import OpTest
from onnxwright.atenlib.protocols import Op, Size, Value, is_value
from onnxwright.atenlib.rules import like
from onnxwright.types.dtypes import DType


def _lengths(op: Op, lengths: Sequence[Size] | Value) -> Value:
    """Lengths, a list or a tensor, as INT64 `[N]`."""
    if is_value(lengths):
        lengths64 = cast(op, lengths, DType.INT64)
        return lengths64 if lengths64.rank else op.Unsqueeze(lengths64, [0])
    return vector(op, list(lengths))


def _padded_targets(op: Op, targets: Any, lengths: Value) -> Any:
    """Targets `[N, S]`; those that come one after another are cut apart."""
    targets = cast(op, targets, DType.INT64)
    if targets.rank == 2:
        return targets
    longest = op.Max(reduce(op, "ReduceMax", lengths, [0]), 1)
    starts = op.CumSum(lengths, op.constant(np.array(0)), exclusive=1)
    places = op.Add(op.Unsqueeze(starts, [1]), iota(op, longest))
    # Beyond its length a target has any class; one more keeps the last within.
    more = op.Concat(targets, full(op, [1], 0, DType.INT64), axis=0)
    last = op.Sub(op.Size(more), 1)
    return op.Gather(more, op.Min(places, last), axis=0)


def _with_blanks(op: Op, targets: Any, blank: int) -> Value:
    """A blank before, between and after the classes: `[N, S]` to `[N, 2 S + 1]`."""
    pairs = op.Unsqueeze(targets, [2])
    blanks = op.Expand(scalar(op, blank, DType.INT64), op.Shape(pairs))
    both = op.Concat(blanks, pairs, axis=2)
    rows = op.Reshape(both, vector(op, [0, -1]))
    # A target of no classes is one blank.
    one = op.Expand(
        scalar(op, blank, DType.INT64), op.Concat(op.Shape(rows, end=1), vector(op, [1]), axis=0)
    )
    return op.Concat(rows, one, axis=1)


def _log_sum(op: Op, terms: list[Any]) -> Value:
    """The logarithm of the sum of exponentials of tensors; minus infinity is zero's."""
    top = op.Max(*terms)
    none = scalar(op, -math.inf, top.onnx_dtype)
    safe = op.Where(op.Equal(top, none), scalar(op, 0, top.onnx_dtype), top)
    parts = [op.Exp(op.Sub(t, safe)) for t in terms]
    total = parts[0]
    for part in parts[1:]:
        total = op.Add(total, part)
    return op.Add(op.Log(total), safe)


def _shifted(op: Op, x: Value, by: int) -> Value:
    """Columns moved to the right, minus infinity where there was none."""
    none = scalar(op, -math.inf, x.onnx_dtype)
    wide = op.Pad(x, op.constant(np.array([0, by, 0, 0], np.int64)), none)
    return op.Slice(wide, [0], op.Shape(x, start=1, end=2), [1])


def _likelihoods(
    op: Op, log_probs: Any, targets: Any, inputs: Any, lengths: Value, blank: int
) -> tuple[Value, Value]:
    """The negative log likelihood of each sequence, `[N]`, and forward variables `[N, T, 2 S + 1]`.

    Source: Graves et al., Connectionist Temporal Classification.
    """
    dtype = log_probs.onnx_dtype
    none = scalar(op, -math.inf, dtype)
    labels = _with_blanks(op, targets, blank)
    time = op.Shape(log_probs, end=1)
    wide = op.Concat(time, op.Shape(labels), axis=0)
    chosen = op.GatherElements(log_probs, op.Expand(op.Unsqueeze(labels, [0]), wide), axis=2)
    columns = iota(op, size(op, labels, 1))
    # A class may follow another directly if they differ.
    earlier = op.Pad(
        labels, op.constant(np.array([0, 2, 0, 0], np.int64)), op.constant(np.array(-1))
    )
    earlier = op.Slice(earlier, [0], op.Shape(labels, start=1, end=2), [1])
    blanks = op.Equal(labels, scalar(op, blank, DType.INT64))
    leap = op.And(op.Not(blanks), op.Not(op.Equal(labels, earlier)))
    first = op.Gather(chosen, 0, axis=0)
    alpha = begun = op.Where(op.Less(columns, 2), first, none)

    def body(alpha: Value, step: Any, now: Any) -> tuple[Value, Value]:
        over = op.Where(leap, _shifted(op, alpha, 2), none)
        moved = op.Add(_log_sum(op, [alpha, _shifted(op, alpha, 1), over]), now)
        running = op.Less(step, op.Unsqueeze(inputs, [1]))
        new = op.Where(running, moved, alpha)
        return new, new

    steps = op.Range(op.constant(np.array(1)), op.Squeeze(time, [0]), op.constant(np.array(1)))
    later = slice_axis(op, chosen, 0, 1, None)
    alpha, rest = op.Scan(alpha, steps, later, body=body, num_scan_inputs=2)
    last = op.Mul(op.Unsqueeze(lengths, [1]), 2)
    at_blank = op.GatherElements(alpha, last, axis=1)
    at_class = op.GatherElements(alpha, op.Max(op.Sub(last, 1), 0), axis=1)
    at_class = op.Where(op.Greater(last, 0), at_class, none)
    losses = op.Neg(op.Squeeze(_log_sum(op, [at_blank, at_class]), [1]))
    every = op.Concat(op.Unsqueeze(begun, [0]), rest, axis=0)
    return losses, op.Transpose(every, perm=[1, 0, 2])


def _losses(
    op: Op, x: Value, targets: Any, inputs: Any, lengths: Value, blank: int
) -> tuple[Value, Value]:
    """A loss for each sequence, and the forward variables; one sequence is a batch of one."""
    if x.rank == 2:
        x = op.Unsqueeze(x, [1])
        targets = op.Unsqueeze(targets, [0]) if targets.rank == 1 else targets
    return _likelihoods(op, x, _padded_targets(op, targets, lengths), inputs, lengths, blank)


@aten(
    "aten::ctc_loss.IntList",
    "aten::ctc_loss.Tensor",
    rule=like("log_probs"),
    tests=[OpTest("nn.functional.ctc_loss")],
)
def ctc_loss(
    op: Op,
    log_probs: Value,
    targets: Value,
    input_lengths: Value | Sequence[int],
    target_lengths: Value | Sequence[int],
    blank: int = 0,
    reduction: int = 1,
    zero_infinity: bool = False,
) -> Value:
    """The negative log likelihood of target sequences over all alignments, `[T, N, C]`."""
    lengths = _lengths(op, target_lengths)
    losses, _ = _losses(op, log_probs, targets, _lengths(op, input_lengths), lengths, blank)
    dtype = losses.onnx_dtype
    if zero_infinity:
        endless = op.Equal(losses, scalar(op, math.inf, dtype))
        losses = op.Where(endless, scalar(op, 0, dtype), losses)
    if reduction == MEAN:
        shares = op.Div(losses, op.Max(op.Cast(lengths, to=dtype), 1))
        return reduce(op, "ReduceMean", shares, [0])
    if reduction == SUM:
        return reduce(op, "ReduceSum", losses, [0])
    return losses if log_probs.rank == 3 else op.Squeeze(losses, [0])


@aten(
    "aten::_ctc_loss",
    "aten::_ctc_loss.Tensor",
    rule=like("log_probs"),
    untested="torch.nn.functional.ctc_loss is recorded as ctc_loss",
)
def _ctc_loss(
    op: Op,
    log_probs: Value,
    targets: Value,
    input_lengths: Value | Sequence[int],
    target_lengths: Value | Sequence[int],
    blank: int = 0,
    zero_infinity: bool = False,
) -> tuple[Value, ...]:
    """The negative log likelihoods, and the forward variables they are made of."""
    del zero_infinity  # it is about gradients
    lengths = _lengths(op, target_lengths)
    losses, alphas = _losses(op, log_probs, targets, _lengths(op, input_lengths), lengths, blank)
    # As wide as the longest target asks.
    longest = op.Add(op.Mul(reduce(op, "ReduceMax", lengths, [0]), 2), 1)
    alphas = op.Slice(alphas, [0], op.Unsqueeze(longest, [0]), [2])
    if log_probs.rank == 3:
        return losses, alphas
    return op.Squeeze(losses, [0]), op.Squeeze(alphas, [0])

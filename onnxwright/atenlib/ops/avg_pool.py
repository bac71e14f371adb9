"""Averages over windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from onnxwright.atenlib.helpers.constants import cast, scalar
from onnxwright.atenlib.helpers.conv_matmul import pad
from onnxwright.atenlib.helpers.shape import on_axis
from onnxwright.atenlib.helpers.sizes import arithmetic, size
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.ops.max_pool import Windows, ends, gather_windows, windows, with_batch
from onnxwright.atenlib.optest import OpTest, Tol
from onnxwright.atenlib.protocols import Op, Value
from onnxwright.atenlib.rules import like
from onnxwright.types.dtypes import DType

_TOL = {"float16": Tol(3e-3, 3e-3), "bfloat16": Tol(3e-2, 3e-2), "float32": Tol(1e-5, 1e-5)}
_HAVE_POOL = (DType.FLOAT, DType.FLOAT16, DType.BFLOAT16)


def average(op: Op, x: Value, w: Windows, include_pad: bool, divisor: int | None) -> Value:
    """Averages over windows.

    Args:
        x: `[N, C, *axes]` or `[C, *axes]`.
        include_pad: whether padding counts among the elements.
        divisor: what the sums are divided by, instead.
    """
    x, single = with_batch(op, x, len(w.kernel))
    result = _pooled(op, x, w, include_pad, divisor)
    return op.Squeeze(result, [0]) if single else result


def _pooled(op: Op, x: Value, w: Windows, include_pad: bool, divisor: int | None) -> Value:
    simple = (
        not w.ceil
        and divisor is None
        and all(p < k for p, k in zip(w.padding, w.kernel, strict=True))
    )
    if simple and x.onnx_dtype in _HAVE_POOL and 0 not in x.shape:
        options: dict[str, Any] = {"kernel_shape": w.kernel}
        if any(s != 1 for s in w.stride):
            options["strides"] = w.stride
        if any(w.padding):
            options["pads"] = w.padding * 2
            options["count_include_pad"] = int(include_pad)
        return op.AveragePool(x, **options)
    dtype = x.onnx_dtype
    x = cast(op, x, DType.FLOAT) if dtype.is_float and dtype.bits < 32 else x
    last = ends(op, x, w)
    sums = _sums(op, pad(op, x, [*w.padding, *last]), w)
    if divisor is not None:
        count: Any = op.constant(np.array(divisor, x.onnx_dtype.numpy))
    else:
        count = _counts(op, x, w, last, include_pad)
    return cast(op, op.Div(sums, count), dtype)


def _sums(op: Op, x: Value, w: Windows) -> Value:
    gathered = gather_windows(op, x, w)
    return op.ReduceSum(gathered, [gathered.rank - 1], keepdims=0)


def _counts(op: Op, x: Value, w: Windows, last: list[Any], include_pad: bool) -> Value:
    """How many elements each window counts, `[*out]`; what `ceil` adds never does."""
    rank = len(w.kernel)
    elements: Any = None
    for n in range(rank):
        length, padding = size(op, x, x.rank - rank + n), w.padding[n]
        end = arithmetic(op, "Add", length, arithmetic(op, "Sub", last[n], w.kernel[n] - 1))
        begins = op.Range(*(scalar(op, k, DType.INT64) for k in (-padding, end, w.stride[n])))
        over = arithmetic(op, "Add", length, padding if include_pad else 0)
        stops = op.Min(op.Add(begins, w.kernel[n]), scalar(op, over, DType.INT64))
        if padding and not include_pad:
            begins = op.Max(begins, 0)
        counts = on_axis(op, op.Sub(stops, begins), n, rank)
        elements = counts if elements is None else op.Mul(elements, counts)
    return cast(op, elements, x.onnx_dtype)


@aten("aten::avg_pool1d", rule=like("self"), tests=[OpTest("nn.functional.avg_pool1d", tol=_TOL)])
def avg_pool1d(
    op: Op,
    self: Value,
    kernel_size: int | Sequence[int],
    stride: int | Sequence[int] = (),
    padding: int | Sequence[int] = (0,),
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Value:
    """Averages over windows of one axis."""
    w = windows(1, kernel_size, stride, padding, 1, ceil_mode)
    return average(op, self, w, count_include_pad, None)


def _register(rank: int, tests: Sequence[str], doc: str) -> None:
    """Register the averages over windows of two or three axes."""

    def body(
        op: Op,
        self: Value,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = (),
        padding: int | Sequence[int] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Value:
        w = windows(rank, kernel_size, stride, padding, 1, ceil_mode)
        return average(op, self, w, count_include_pad, divisor_override)

    held = [OpTest(f"nn.functional.{test}", tol=_TOL) for test in tests]
    aten(f"aten::avg_pool{rank}d", rule=like("self"), tests=held, doc=doc)(body)


_register(2, ["avg_pool2d", "local_response_norm"], "Averages over windows of two axes.")
_register(3, ["avg_pool3d"], "Averages over windows of three axes.")

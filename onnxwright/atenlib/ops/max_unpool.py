"""Putting maxima back to their places."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from onnxwright.atenlib.helpers.constants import vector
from onnxwright.atenlib.helpers.sizes import product, sizes
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.optest import OpTest
from onnxwright.atenlib.protocols import Op, Size, Value
from onnxwright.atenlib.rules import like


def _unpool(op: Op, x: Value, indices: Any, output_size: Any) -> Value:
    """Zeros with each element at its place within its channel."""
    rank = len(output_size)
    front = sizes(op, x)[: x.rank - rank]
    area = product(op, output_size)
    flat = vector(op, [*front, product(op, sizes(op, x)[x.rank - rank :])])
    zeros = op.Expand(op.constant(np.zeros((), x.onnx_dtype.numpy)), vector(op, [*front, area]))
    updates, places = (op.Reshape(v, flat, allowzero=1) for v in (x, indices))
    filled = op.ScatterElements(zeros, places, updates, axis=len(front))
    return op.Reshape(filled, vector(op, [*front, *output_size]), allowzero=1)


@aten(
    "aten::max_unpool2d",
    rule=like("self"),
    tests=[
        OpTest("nn.functional.max_unpool1d"),
        OpTest("nn.functional.max_unpool1d:grad"),
        OpTest("nn.functional.max_unpool2d"),
        OpTest("nn.functional.max_unpool2d:grad"),
    ],
)
def max_unpool2d(op: Op, self: Value, indices: Value, output_size: int | Sequence[Size]) -> Value:
    """The inverse of `max_pool2d` as far as there is one: zeros between the maxima."""
    return _unpool(op, self, indices, output_size)


@aten(
    "aten::max_unpool3d",
    rule=like("self"),
    tests=[OpTest("nn.functional.max_unpool3d"), OpTest("nn.functional.max_unpool3d:grad")],
)
def max_unpool3d(
    op: Op,
    self: Value,
    indices: Value,
    output_size: int | Sequence[Size],
    stride: Sequence[int],
    padding: Sequence[int],
) -> Value:
    """The inverse of `max_pool3d` as far as there is one: zeros between the maxima."""
    del stride, padding
    return _unpool(op, self, indices, output_size)

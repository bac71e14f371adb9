"""Calls: operators, scripts, helpers, attributes."""

from collections.abc import Sequence

import numpy as np

from onnxwright import FLOAT, INT64, script
from onnxwright import opset18 as op

WEIGHTS = np.array([1.0, 2.0, 3.0], np.float32)


class config:
    axis = 0
    names = ("a", "b")


def helper(x, k=2, *, bias=0.5):
    if k > 1:
        return x * k + bias
    return x


def sizes(n):
    return [k * k for k in range(n)]


@script()
def callee(x: FLOAT["N"], alpha: float, mode: str = "up", axes: Sequence[int] = (0,)):
    if mode == "up":
        x = x + alpha * 2
    elif mode in ("down", "under"):
        return op.Neg(x), op.ReduceSum(x, axes, keepdims=0)
    return x, op.ReduceSum(x, axes, keepdims=0)


def optional(x, low: float | None = None, k: int = 1):
    y = x if low is None else op.Max(x, low)
    return y * k


@script()
def main(x: FLOAT["N"], n: INT64["K"]) -> tuple[FLOAT, FLOAT, FLOAT["K"], INT64["K"]]:
    y, total = callee(x, alpha=0.5)
    z, _ = callee(x, 1.5, mode="down")
    values, indices = op.TopK(x, [1], axis=-1, largest=1)
    parts = [y, z, *[x * k for k in range(2)]]
    joined = op.Concat(*parts, axis=config.axis)
    y = helper(optional(x, low=0.0), bias=1.0) + WEIGHTS[0] + sizes(3)[2]
    (a, b), c = (y, z), joined[n]
    if (m := op.ReduceMax(a, keepdims=0)) > 3:
        c = c + m
    return a[0] + b[-1], total, c, n // 2 % 3 - -n

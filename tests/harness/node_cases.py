"""The backend node tests of the installed onnx, made in a second."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any
from unittest import mock

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from onnx.reference.ops import op_pool_common

from onnxwright.testing.node_cases import node_cases as cases_of_onnx

_pool = op_pool_common.pool


def pool(
    padded: np.ndarray[Any, Any],
    x_shape: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    out_shape: Sequence[int],
    pooling_type: str,
    *pads: Any,
    **options: Any,
) -> Any:
    """As onnx's own, which computes window by window, but all windows at once where none is cut."""
    cut = pads or options.keys() - {"p"} or set(strides or [1]) != {1}
    if cut or np.isnan(padded).any():
        return _pool(padded, x_shape, kernel, strides, out_shape, pooling_type, *pads, **options)
    windows = sliding_window_view(padded, kernel, axis=tuple(range(2, padded.ndim)))
    values = np.ascontiguousarray(windows).reshape(*windows.shape[: padded.ndim], -1)
    if pooling_type == "MAX":
        return values.max(-1)
    if pooling_type == "AVG":
        return np.average(values, axis=-1).astype(padded.dtype)
    p = options.get("p", 1)
    return (np.sum(np.abs(values) ** p, axis=-1) ** (1.0 / p)).astype(padded.dtype)


@cache
def node_cases() -> tuple[Any, ...]:
    """As `onnxwright.testing.node_cases.node_cases`; pools take two thirds of its time."""
    with mock.patch.object(op_pool_common, "pool", pool):
        return cases_of_onnx()


__all__ = ["node_cases", "pool"]

"""Window functions.

The length is a number of the program, so that a window is one constant.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from onnxwright.atenlib.op import aten
from onnxwright.atenlib.protocols import Op, Value
from onnxwright.atenlib.rules import creation
from onnxwright.types.dtypes import DType

_Array = np.ndarray[Any, Any]
_UNTESTED = "torch has OpInfos only for torch.signal.windows, which do not call it"


def _window(op: Op, length: int, periodic: bool, dtype: DType | None, function: Any) -> Value:
    """A window; `function` takes the angle of each point, from 0 to 2 pi.

    A periodic window is a symmetric one that is one longer, without its last point.
    """
    assert dtype is not None  # the rule fills it in
    if length <= 1:
        values: _Array = np.ones(length)
    else:
        points = length if periodic else length - 1
        values = function(2 * np.pi * np.arange(length) / points)
    return op.constant(np.asarray(values).astype(dtype.numpy))


def _bartlett(angle: _Array) -> _Array:
    return 1 - np.abs(angle / np.pi - 1)


def _blackman(angle: _Array) -> _Array:
    window: _Array = 0.42 - 0.5 * np.cos(angle) + 0.08 * np.cos(2 * angle)
    return window


def _hann(angle: _Array) -> _Array:
    window: _Array = 0.5 - 0.5 * np.cos(angle)
    return window


def _register(name: str, function: Callable[[_Array], _Array], doc: str) -> None:
    """Register a window that has no parameters of its own."""

    def body(
        op: Op, window_length: int, periodic: bool = True, *, dtype: DType | None = None
    ) -> Value:
        return _window(op, window_length, periodic, dtype, function)

    names = (f"aten::{name}", f"aten::{name}.periodic")
    aten(*names, rule=creation(), untested=_UNTESTED, doc=doc)(body)


_register("bartlett_window", _bartlett, "A triangle.")
_register(
    "blackman_window", _blackman,
    "A sum of three cosines, 0.42 - 0.5 cos + 0.08 cos of twice the angle.",
)  # fmt: skip
_register("hann_window", _hann, "A raised cosine that is zero at its ends.")


@aten(
    "aten::hamming_window",
    "aten::hamming_window.periodic",
    "aten::hamming_window.periodic_alpha",
    "aten::hamming_window.periodic_alpha_beta",
    rule=creation(),
    untested=_UNTESTED,
)
def hamming_window(
    op: Op,
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: DType | None = None,
) -> Value:
    """A raised cosine, `alpha - beta cos`."""
    return _window(op, window_length, periodic, dtype, lambda a: alpha - beta * np.cos(a))


@aten(
    "aten::kaiser_window",
    "aten::kaiser_window.periodic",
    "aten::kaiser_window.beta",
    rule=creation(),
    untested=_UNTESTED,
)
def kaiser_window(
    op: Op,
    window_length: int,
    periodic: bool = True,
    beta: float = 12.0,
    *,
    dtype: DType | None = None,
) -> Value:
    """A Bessel function of the distance from the middle."""

    def value(angle: _Array) -> _Array:
        inside = np.maximum(0.0, 1 - (angle / np.pi - 1) ** 2)
        return np.i0(beta * np.sqrt(inside)) / np.i0(beta)

    return _window(op, window_length, periodic, dtype, value)

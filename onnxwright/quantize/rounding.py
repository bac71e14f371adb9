"""Weights as integers with scales: rounding to the nearest, and what a user's method returns.

A matrix has the shape (K, N), where K is summed over.  Blocks lie along K: `scale[i, n]` belongs to
the rows from `i * block` on of column n, and the last block of a column may be shorter, as
DequantizeLinear of opset 21 allows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

import ml_dtypes
import numpy as np

from onnxwright.diagnostics.catalogue import quantize as messages
from onnxwright.diagnostics.diagnostic import fail

Array: TypeAlias = "np.ndarray[Any, Any]"
Method: TypeAlias = Callable[[Array], "tuple[Array, Array, Array | None]"]
_PIECE = 1 << 22  # elements that are rounded at once


@dataclass(frozen=True)
class Rounded:
    """A matrix as integers with scales.

    Fields:
        values: (K, N), INT8 or UINT8, in the range of the bits.
        scale: (blocks, N), in the element type of the weight.
        zero: (blocks, N), of the type of `values`; None for 0.
        bits: bits of each element, 4 or 8.
        block: rows that share a scale; 0 where all of a column do.
        error: the norm of the difference divided by the norm of the weight.
        fault: why its type of scales does not fit the weight; empty where it does.
    """

    values: Array
    scale: Array
    zero: Array | None
    bits: int
    block: int
    error: float
    fault: str = ""

    @property
    def nbytes(self) -> int:
        """The bytes of integers, scales and zero points, packed."""
        zeros = 0 if self.zero is None else self.zero.size
        packed = [-(-count * self.bits // 8) for count in (self.values.size, zeros)]
        return sum(packed) + int(self.scale.nbytes)

    @property
    def signed(self) -> bool:
        """Whether the integers are of a signed type."""
        return bool(self.values.dtype == np.int8)

    def unsigned(self) -> tuple[Array, Array | None]:
        """Values and zero points as UINT8; the zero points are None where all are the middle."""
        if not self.signed:
            return self.values, self.zero
        middle = 1 << (self.bits - 1)
        values = (self.values.view(np.uint8) + np.uint8(middle)).astype(np.uint8)
        if self.bits < 8:
            values &= np.uint8((1 << self.bits) - 1)
        if self.zero is None:
            return values, None
        return values, (self.zero.astype(np.int16) + middle).astype(np.uint8)


def round_to_nearest(
    weight: Array, bits: int = 4, block: int = 32, *, symmetric: bool = True, dtype: Any = None
) -> Rounded:
    """A matrix rounded to the nearest integers, block by block.

    Symmetric: the element of a block that is farthest from 0 becomes the lowest integer, so that
    the whole range is used, and zero points are 0.  Asymmetric: the range of a block, 0 included,
    becomes the range of the integers.

    Args:
        weight: (K, N), of floats.
        bits: 4 or 8.
        block: rows that share a scale; 0 for all of a column.
        symmetric: whether zero points are 0.
        dtype: the type of scales; that of the weight if not given.

    Returns:
        The integers, scales and zero points.

    Source:
        ONNX DequantizeLinear 21; the rounding of ONNX Runtime's MatMulNBits quantizer.

    Example:
        >>> weight = np.array([[-8.0], [3.0], [7.0], [0.0]], np.float32)
        >>> rounded = round_to_nearest(weight, 4, 4)
        >>> rounded.values.ravel().tolist(), rounded.scale.tolist(), rounded.error
        ([-8, 3, 7, 0], [[1.0]], 0.0)
    """
    rows, columns = weight.shape
    step = min(block, rows) if block else rows
    blocks = -(-rows // step)
    kind = np.dtype(weight.dtype if dtype is None else dtype)
    values = np.empty((rows, columns), np.int8 if symmetric else np.uint8)
    scale = np.empty((blocks, columns), kind)
    zero = None if symmetric else np.empty((blocks, columns), np.uint8)
    norms = np.zeros(2)
    finfo: Any = ml_dtypes.finfo  # it has no annotations
    limits = finfo(kind)
    exact, small, large = 0.0, False, False
    width = max(1, _PIECE // max(rows, 1))
    for start in range(0, columns, width):
        part = slice(start, min(start + width, columns))
        whole = np.zeros((blocks * step, part.stop - start), np.float32)
        whole[:rows] = weight[:, part]
        cut = whole.reshape(blocks, step, -1)
        round_blocks = _symmetric if symmetric else _asymmetric
        integers, steps, zeros = round_blocks(cut, bits, kind)
        if zero is not None:
            zero[:, part] = zeros
        values[:, part] = integers.reshape(whole.shape)[:rows]
        scale[:, part] = steps
        again = _again((integers, steps, zeros))
        lost = _squares(again - cut)
        norms += (lost, _squares(cut))
        tiny = (np.abs(steps) < limits.smallest_normal) & cut.any(1)
        small = small or bool(tiny.any())
        exact += _squares(_again(round_blocks(cut, bits, np.float64)) - cut) if tiny.any() else lost
        large = large or bool((np.abs(again) > float(limits.max)).any())
    fault = ""
    if large:
        fault = f"it has elements that are beyond the range of {kind.name} when they are rounded"
    elif small and norms[0] > 4 * exact:
        fault = f"scales in {kind.name} are not precise enough for elements that are so small"
    return Rounded(values, scale, zero, bits, block, _relative(norms), fault)


def _again(rounded: tuple[Array, Array, Array]) -> Array:
    """The numbers that integers, scales and zero points of blocks represent."""
    integers, steps, zeros = rounded
    again: Array = (integers - zeros[:, None, :]) * steps.astype(np.float32)[:, None, :]
    return again


def _symmetric(cut: Array, bits: int, kind: Any) -> tuple[Array, Array, Array]:
    low = -(1 << (bits - 1))
    high, least = cut.max(1), cut.min(1)
    steps = (np.where(-least >= high, least, high) / low).astype(kind)
    integers = np.floor(cut * _inverse(steps)[:, None, :] + np.float32(0.5))
    return np.clip(integers, low, -low - 1), steps, np.zeros(steps.shape, np.float32)


def _asymmetric(cut: Array, bits: int, kind: Any) -> tuple[Array, Array, Array]:
    top = (1 << bits) - 1
    high, least = np.maximum(cut.max(1), 0), np.minimum(cut.min(1), 0)
    # Divided first: the difference of two large numbers may be beyond the range of FLOAT.
    steps = (high / np.float32(top) - least / np.float32(top)).astype(kind)
    inverse = _inverse(steps)
    zeros = np.clip(np.floor(-least * inverse + np.float32(0.5)), 0, top)
    integers = np.floor(cut * inverse[:, None, :] + zeros[:, None, :] + np.float32(0.5))
    return np.clip(integers, 0, top), steps, zeros


def _inverse(steps: Array) -> Array:
    """The inverse of scales; those that are 0, of blocks of zeros, get the inverse 0."""
    wide = steps.astype(np.float32)
    with np.errstate(over="ignore", divide="ignore"):
        inverse = np.where(wide == 0, np.float32(0), 1 / wide)
    # A scale that is so small that its inverse is infinite belongs to a block of tiny numbers.
    return np.where(np.isfinite(inverse), inverse, np.float32(0)).astype(np.float32)


def _squares(numbers: Array) -> float:
    """The sum of the squares; in float64, which holds those of all numbers of FLOAT."""
    return float(np.sum(np.square(numbers, dtype=np.float64)))


def _relative(norms: Array) -> float:
    return float(np.sqrt(norms[0] / norms[1])) if norms[1] else 0.0


def rounded_by(
    method: Method, weight: Array, bits: int, block: int, dtype: Any, name: str
) -> Rounded:
    """What a user's method makes of a matrix, checked.

    Args:
        method: takes the matrix as FLOAT; returns integers of its shape, scales (blocks, N), or
            (N,) for one block, and zero points of the shape of the scales or None.
        weight: (K, N), of floats.
        bits: 4 or 8.
        block: rows that share a scale; 0 for all of a column.
        dtype: the element type of the weight in the model.

    Returns:
        The integers, scales and zero points.

    Raises:
        ScriptValueError: what the method returned does not fit (OW921).
    """
    rows, columns = weight.shape
    matrix = np.array(weight, np.float32)
    result = method(matrix)
    if not isinstance(result, tuple) or len(result) != 3:  # type: ignore[redundant-expr]  # a user's function may return anything
        _refuse(name, "a tuple of three: integers, scales, zero points or None", _kind(result))
    blocks = -(-rows // block) if block else 1
    values = _integers(name, "the integers", result[0], (rows, columns))
    scale = np.asarray(result[1])
    if blocks == 1 and scale.shape == (columns,):
        scale = scale.reshape(1, columns)
    if scale.dtype.kind != "f" or scale.shape != (blocks, columns):
        _refuse(name, f"the scales as floats of the shape {(blocks, columns)}", _kind(result[1]))
    with np.errstate(over="ignore"):
        scale = scale.astype(dtype)
    if not np.isfinite(scale.astype(np.float32)).all():
        _refuse(name, f"finite scales in {np.dtype(dtype).name}", "scales that are not finite")
    zero = result[2]
    if zero is not None:
        zero = np.asarray(zero)
        shape = (columns,) if blocks == 1 and zero.shape == (columns,) else (blocks, columns)
        zero = _integers(name, "the zero points", zero, shape).reshape(blocks, columns)
    lowest = min(int(part.min()) for part in (values, zero) if part is not None)
    highest = max(int(part.max()) for part in (values, zero) if part is not None)
    signed = zero is None or lowest < 0
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    if lowest < low or highest > high:
        expected = f"the integers as numbers from {low} to {high}, for {bits} bits"
        if zero is None:
            expected += " without zero points"
        _refuse(name, expected, f"integers from {lowest} to {highest}")
    kind = np.int8 if signed else np.uint8
    values = values.astype(kind)
    zero = None if zero is None else zero.astype(kind)
    rounded = Rounded(values, scale, zero, bits, block, 0.0)
    norms = np.zeros(2)
    matrix = np.array(weight, np.float32)  # the method may have changed what it was given
    again = dequantized(rounded)
    norms += (_squares(again - matrix), _squares(matrix))
    return Rounded(values, scale, zero, bits, block, _relative(norms))


def dequantized(rounded: Rounded) -> Array:
    """The matrix that integers and scales represent, as FLOAT."""
    rows = rounded.values.shape[0]
    step = rounded.block or rows
    scale = np.repeat(rounded.scale.astype(np.float32), step, axis=0)[:rows]
    values = rounded.values.astype(np.float32)
    if rounded.zero is not None:
        values -= np.repeat(rounded.zero.astype(np.float32), step, axis=0)[:rows]
    result: Array = values * scale
    return result


def packed(values: Array) -> Array:
    """Four bits each, two in a byte, the first in the low half, as ONNX stores INT4 and UINT4.

    Args:
        values: INT8 or UINT8, of any shape.

    Returns:
        A vector of UINT8.

    Example:
        >>> packed(np.array([1, -1, 7], np.int8)).tolist()
        [241, 7]
    """
    flat = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
    low, high = flat[0::2] & np.uint8(15), flat[1::2] << np.uint8(4)
    low[: high.size] |= high
    result: Array = low
    return result


def packed_rows(values: Array) -> Array:
    """As `packed`, where each row of the last axis starts a byte of its own.

    Args:
        values: UINT8 (..., n).

    Returns:
        UINT8 (..., n / 2 rounded up).
    """
    width = values.shape[-1]
    if width % 2:
        values = np.concatenate([values, np.zeros_like(values[..., :1])], axis=-1)
    packed: Array = values[..., 0::2] | (values[..., 1::2] << np.uint8(4))
    return packed


def _integers(name: str, what: str, integers: Any, shape: tuple[int, ...]) -> Array:
    array = np.asarray(integers)
    if array.dtype.kind not in "iu" or array.shape != shape:
        _refuse(name, f"{what} as integers of the shape {shape}", _kind(integers))
    return array


def _kind(value: Any) -> str:
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return f"{value.dtype} of the shape {tuple(value.shape)}"
    if isinstance(value, tuple):
        return f"a tuple of {len(value)}"
    return f"an object of type {type(value).__name__}"


def _refuse(name: str, expected: str, got: str) -> NoReturn:
    fail(messages.BadQuantization(name=name, expected=expected, got=got))

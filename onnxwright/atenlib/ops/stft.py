"""Short-time Fourier transforms."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxwright.atenlib.complexes import Complex, as_complex, unpack
from onnxwright.atenlib.helpers import algebra
from onnxwright.atenlib.helpers.constants import cast, iota, is_small, scalar, vector
from onnxwright.atenlib.helpers.sizes import arithmetic, size
from onnxwright.atenlib.op import aten, unsupported
from onnxwright.atenlib.ops.fft import c2c, c2r
from onnxwright.atenlib.optest import OpTest, Tol
from onnxwright.atenlib.protocols import Op, Size, Value
from onnxwright.atenlib.rules import custom
from onnxwright.types.dtypes import DType

_TOL = {"float32": Tol(1e-4, 5e-4), "complex64": Tol(1e-4, 5e-4)}


def _window(op: Op, window: Any, width: int, length: int, dtype: DType) -> Any:
    """A window of `width` in the middle of `length`."""
    if window is None:
        samples = np.zeros(length, dtype.numpy)
        left = (length - width) // 2
        samples[left : left + width] = 1
        return op.constant(samples)
    if isinstance(window, Complex):
        return Complex(*(_window(op, v, width, length, dtype) for v in (window.real, window.imag)))
    window = cast(op, window, dtype)
    left = (length - width) // 2
    if width == length:
        return window
    return op.Pad(window, op.constant(np.array([left, length - width - left])))


@aten("aten::stft", rule=custom(), tests=[OpTest("stft", tol=_TOL)], complex="same")
def stft(
    op: Op,
    self: Value,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Value | None = None,
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Value:
    """Transforms of overlapping pieces of a signal, `[batch, frequencies, pieces]`."""
    return _stft(
        op,
        self,
        n_fft,
        hop_length or n_fft // 4,
        _window(op, window, win_length or n_fft, n_fft, algebra.part_type(self)),
        normalized,
        onesided,
        return_complex,
        align_to_window,
    )


def _stft(
    op: Op,
    x: Value,
    n_fft: int,
    hop: int,
    window: Any,
    normalized: bool,
    onesided: bool | None,
    return_complex: bool | None,
    align: bool | None,
) -> Value:
    if align:
        unsupported("`align_to_window` is not supported")
    real = not isinstance(x, Complex)
    half = (real and not isinstance(window, Complex)) if onesided is None else onesided
    single = x.rank == 1
    if single:
        x = algebra.unsqueeze(op, x, [0])
    signal = _last_axis(op, x) if isinstance(x, Complex) else op.Unsqueeze(x, [2])
    step, length = (scalar(op, n, DType.INT64) for n in (hop, n_fft))
    if isinstance(window, Complex):
        first, second = (
            op.STFT(signal, step, w, length, onesided=0) for w in (window.real, window.imag)
        )
        # The transform is linear in the window; i * (a + bi) == -b + ai.
        turned = op.Mul(op.Gather(second, [1, 0], axis=3), op.constant(_turn(window)))
        packed = op.Add(first, turned)
    else:
        packed = op.STFT(signal, step, window, length, onesided=int(half))
    packed = op.Transpose(packed, perm=[0, 2, 1, 3])
    if normalized:
        packed = op.Mul(packed, n_fft**-0.5)
    if single:
        packed = op.Squeeze(packed, [0])
    if return_complex is None:
        return_complex = not real or isinstance(window, Complex)
    return unpack(op, packed) if return_complex else packed


def _turn(window: Complex) -> np.ndarray[Any, Any]:
    return np.array([-1, 1], window.real.onnx_dtype.numpy)


def _last_axis(op: Op, x: Complex) -> Value:
    return op.Concat(op.Unsqueeze(x.real, [2]), op.Unsqueeze(x.imag, [2]), axis=2)


@aten("aten::istft", rule=custom(), tests=[OpTest("istft", tol=_TOL)], complex="same")
def istft(
    op: Op,
    self: Complex,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Value | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Value:
    """The signal of overlapping transforms: pieces added up, divided by the windows' squares."""
    del onesided
    hop = hop_length or n_fft // 4
    dtype = self.real.onnx_dtype
    window = _window(op, window, win_length or n_fft, n_fft, dtype)
    single = self.rank == 2
    parts = [self.real, self.imag]
    parts = [op.Unsqueeze(v, [0]) if single else v for v in parts]
    frames = Complex(*(op.Transpose(v, perm=[0, 2, 1]) for v in parts))
    power = -0.5 if normalized else -1.0
    if return_complex:
        pieces: Any = c2c(op, frames, [2], forward=False, power=power)
        if not isinstance(window, Complex):
            window = as_complex(op, window, dtype)
    else:
        # Where the whole spectrum is given, torch looks at its first half only, too.
        pieces = c2r(op, frames, [2], n_fft, power=power)
    count = size(op, frames.real, 1)
    table, total = _overlaps(op, count, n_fft, hop)
    shape = vector(op, [1, count, n_fft])
    ends = _ends(op, total, n_fft, length, center)

    def joined(v: Value) -> Value:
        return _cut(op, _added_up(op, v, table, total), ends)

    squares = algebra.each(lambda v: op.Expand(v, shape), algebra.mul(op, window, window))
    divisor = algebra.each(joined, squares)
    summed = algebra.each(joined, algebra.mul(op, pieces, window))
    result = algebra.div(op, summed, divisor)
    signals = [result.real, result.imag] if return_complex else [result]
    if length is not None:
        signals = [_filled(op, v, length) for v in signals]
    if single:
        signals = [op.Squeeze(v, [0]) for v in signals]
    return Complex(*signals) if return_complex else signals[0]


def _overlaps(op: Op, count: Size, n_fft: int, hop: int) -> tuple[Any, Any]:
    """Where the elements of all pieces go, `[pieces * n_fft]`, and how long the signal is."""
    if isinstance(count, int) and is_small(count, n_fft):
        places = np.arange(count)[:, None] * hop + np.arange(n_fft)
        return op.constant(places.ravel()), n_fft + hop * (count - 1)
    table = op.Add(op.Unsqueeze(op.Mul(iota(op, count), hop), [1]), iota(op, n_fft))
    pieces = arithmetic(op, "Mul", arithmetic(op, "Sub", count, 1), hop)
    total = arithmetic(op, "Add", pieces, n_fft)
    return op.Reshape(table, [-1]), total


def _added_up(op: Op, pieces: Any, table: Any, total: Size) -> Value:
    batch = size(op, pieces, 0)
    flat = op.Reshape(pieces, vector(op, [batch, -1]))
    zeros = op.Expand(
        op.constant(np.zeros((1, 1), pieces.onnx_dtype.numpy)), vector(op, [batch, total])
    )
    places = op.Expand(table, op.Shape(flat))
    return op.ScatterElements(zeros, places, flat, axis=1, reduction="add")


def _ends(op: Op, total: Size, n_fft: int, length: Size | None, center: bool) -> tuple[Any, Any]:
    begin = n_fft // 2 if center else 0
    if length is not None:
        end = begin + length if isinstance(length, int) else op.Add(length, begin)
    elif center:
        end = total - n_fft // 2 if isinstance(total, int) else op.Sub(total, n_fft // 2)
    else:
        end = total
    return begin, end


def _cut(op: Op, x: Value, ends: tuple[Any, Any]) -> Value:
    return op.Slice(x, [ends[0]], vector(op, [ends[1]]), [1])


def _filled(op: Op, x: Value, length: Size) -> Value:
    """A signal that is too short, with zeros after it."""
    have = size(op, x, 1)
    if isinstance(have, int) and isinstance(length, int):
        if have == length:
            return x
        return op.Pad(x, op.constant(np.array([0, 0, 0, length - have])))
    more = op.Sub(scalar(op, length, DType.INT64), scalar(op, have, DType.INT64))
    return op.Pad(x, vector(op, [0, 0, 0, more]))

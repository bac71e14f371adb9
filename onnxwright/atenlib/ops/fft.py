"""Fourier transforms by DFT nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from onnxwright.atenlib.complexes import Complex, as_complex, pack, unpack
from onnxwright.atenlib.helpers import algebra
from onnxwright.atenlib.helpers.constants import cast, scalar, vector
from onnxwright.atenlib.helpers.sizes import arithmetic, axis_of, product, size
from onnxwright.atenlib.op import aten
from onnxwright.atenlib.optest import OpTest, Tol
from onnxwright.atenlib.protocols import Op, Size, Value
from onnxwright.atenlib.rules import creation, custom, like
from onnxwright.types.dtypes import DType

# Sums of many products, up to a few hundred, in the order of another algorithm.
_SINGLE = ("float32", "complex64", "int8", "uint8", "int16", "int32", "int64", "bool")
_TOL = {name: Tol(1e-4, 5e-4) for name in _SINGLE}


def dft(op: Op, packed: Any, axis: int, *, inverse: bool, onesided: bool = False) -> Value:
    """One DFT node, without scaling.

    Args:
        packed: `[..., 1]` of real or `[..., 2]` of complex numbers.
        axis: the axis, counted from the front.
        inverse: the sign of the exponent; a node divides by the length then.
        onesided: of real numbers, only the half that is not redundant.

    Returns:
        `[..., 2]`.
    """
    options = {"inverse": int(inverse), "onesided": int(onesided)}
    options = {name: 1 for name, is_set in options.items() if is_set}
    if op.version >= 20:
        return op.DFT(packed, None, op.constant(np.array(axis)), **options)
    return op.DFT(packed, axis=axis, **options)


def _scaled(op: Op, x: Value, count: Size, power: float) -> Value:
    """Times `count ** power`."""
    if power == 0:
        return x
    dtype = x.onnx_dtype
    if isinstance(count, int):
        return op.Mul(x, float(count) ** power)
    number = scalar(op, count, dtype)
    number = op.Sqrt(number) if abs(power) == 0.5 else number
    return op.Mul(x, number) if power > 0 else op.Div(x, number)


def _count(op: Op, x: Value, axes: Sequence[int]) -> Size:
    return product(op, [size(op, x, a) for a in axes])


def c2c(op: Op, x: Complex, axes: Sequence[int], *, forward: bool, power: float) -> Complex:
    """Complex numbers to complex ones, times `count ** power`.

    Args:
        axes: the axes, counted from the front.
        forward: the sign of the exponent.
        power: -1, -0.5 or 0: what the sums are multiplied with, a power of their length.
    """
    if not axes:
        return x
    packed = pack(op, x)
    count = _count(op, x.real, axes)
    for axis in axes:
        packed = dft(op, packed, axis, inverse=not forward)
    # The nodes of an inverse have divided already.
    return unpack(op, _scaled(op, packed, count, power if forward else power + 1))


def r2c(op: Op, x: Value, axes: Sequence[int], *, onesided: bool, power: float) -> Complex:
    """Real numbers to complex ones; the last axis is halved where `onesided`."""
    count = _count(op, x, axes)
    packed = op.Unsqueeze(x, [x.rank])
    packed = dft(op, packed, axes[-1], inverse=False, onesided=onesided)
    for axis in axes[:-1]:
        packed = dft(op, packed, axis, inverse=False)
    return unpack(op, _scaled(op, packed, count, power))


def c2r(op: Op, x: Complex, axes: Sequence[int], last: Any, *, power: float) -> Value:
    """Half of a Hermitian spectrum to the real numbers it is of (an inverse transform)."""
    *others, axis = axes
    spectrum = c2c(op, x, others, forward=False, power=-1)
    whole = _mirrored(op, spectrum, axis, last)
    packed = dft(op, pack(op, whole), axis, inverse=True)
    result = op.Gather(packed, 0, axis=-1)
    count = product(op, [*(size(op, x.real, a) for a in others), last])
    return _scaled(op, result, count, power + 1)


def _mirrored(op: Op, x: Complex, axis: int, length: Size) -> Complex:
    """The whole spectrum: what follows the half is its conjugate, backwards."""
    half = _plus(op, _half(op, length), 1)
    x = Complex(*(_resized(op, v, axis, half) for v in (x.real, x.imag)))
    # The imaginary parts of the first and of a middle element have no meaning; they drop out.
    many = arithmetic(op, "Sub", length, half)

    def back(v: Value) -> Value:
        tail = op.Slice(v, [1], op.Unsqueeze(_plus(op, many, 1, value=True), [0]), [axis])
        return op.Slice(tail, [-1], [np.iinfo(np.int64).min], [axis], [-1])

    return Complex(
        op.Concat(x.real, back(x.real), axis=axis),
        op.Concat(x.imag, op.Neg(back(x.imag)), axis=axis),
    )


def _half(op: Op, n: Size) -> Size:
    return n // 2 if isinstance(n, int) else op.Div(n, 2)


def _plus(op: Op, n: Size, more: int, *, value: bool = False) -> Value | int:
    if isinstance(n, int):
        return scalar(op, n + more, DType.INT64) if value else n + more
    return op.Add(n, more)


def _resized(op: Op, x: Value, axis: int, length: Size) -> Value:
    """An axis cut or filled up with zeros at its end."""
    have = size(op, x, axis)
    if isinstance(have, int) and isinstance(length, int):
        if length == have:
            return x
        if length < have:
            return op.Slice(x, [0], [length], [axis])
    x = op.Slice(x, [0], vector(op, [length]), [axis])
    more = arithmetic(op, "Sub", length, size(op, x, axis))
    before = op.constant(np.zeros(x.rank + axis, np.int64))
    after = op.constant(np.zeros(x.rank - axis - 1, np.int64))
    return op.Pad(x, op.Concat(before, vector(op, [more]), after, axis=0))


def floating(op: Op, x: Value) -> Value:
    """Integers as FLOAT; floats and complex tensors as they are."""
    if isinstance(x, Complex) or x.onnx_dtype.is_float:
        return x
    return cast(op, x, DType.FLOAT)


_POWERS = {"backward": (0.0, -1.0), "ortho": (-0.5, -0.5), "forward": (-1.0, 0.0)}


def power_of(norm: str | None, *, forward: bool) -> float:
    """What torch's `norm` multiplies with, as a power of the length.

    Example:
        >>> power_of(None, forward=False), power_of("ortho", forward=True)
        (-1.0, -0.5)
    """
    return _POWERS[norm or "backward"][0 if forward else 1]


def axes_and_sizes(
    rank: int, s: Sequence[Any] | None, dim: Sequence[int] | int | None
) -> tuple[list[int], list[Any]]:
    """The axes to transform, and the sizes asked for (None: as they are)."""
    if dim is None:
        count = rank if s is None else len(s)
        axes = list(range(rank - count, rank))
    else:
        axes = [axis_of(d, rank) for d in ([dim] if isinstance(dim, int) else dim)]
    lengths: list[Any] = [None] * len(axes) if s is None else list(s)
    return axes, [None if isinstance(n, int) and n == -1 else n for n in lengths]


def fitted(op: Op, x: algebra.T, axes: Sequence[int], lengths: Sequence[Size | None]) -> algebra.T:
    """A tensor cut or filled up to the sizes asked for."""
    for axis, n in zip(axes, lengths, strict=True):
        if n is not None:
            x = algebra.each(lambda v, a=axis, n=n: _resized(op, v, a, n), x)
    return x


def transform(
    op: Op, x: Value, axes: list[int], lengths: list[Any], norm: str | None, *, forward: bool
) -> Value:
    """The transform of real or complex numbers to complex ones."""
    x = fitted(op, floating(op, x), axes, lengths)
    power = power_of(norm, forward=forward)
    if not axes:
        return as_complex(op, x, algebra.part_type(x))
    if isinstance(x, Complex):
        return c2c(op, x, axes, forward=forward, power=power)
    spectrum = r2c(op, x, axes, onesided=False, power=power)
    return spectrum if forward else algebra.conj(op, spectrum)


def half_transform(
    op: Op, x: Value, axes: list[int], lengths: list[Any], norm: str | None, *, forward: bool
) -> Value:
    """The half transform of real numbers; its conjugate where it is an inverse."""
    x = fitted(op, floating(op, x), axes, lengths)
    spectrum = r2c(op, x, axes, onesided=True, power=power_of(norm, forward=forward))
    return spectrum if forward else algebra.conj(op, spectrum)


def real_transform(
    op: Op, x: Value, axes: list[int], lengths: list[Any], norm: str | None, *, forward: bool
) -> Value:
    """The transform of half a Hermitian spectrum to real numbers."""
    real_input = floating(op, x)
    half = as_complex(op, real_input, algebra.part_type(real_input))
    last = lengths[-1]
    if last is None:
        have = size(op, half.real, axes[-1])
        last = 2 * (have - 1) if isinstance(have, int) else op.Mul(op.Sub(have, 1), 2)
    half = fitted(op, half, axes, [*lengths[:-1], _plus(op, _half(op, last), 1)])
    half = algebra.conj(op, half) if forward else half
    return c2r(op, half, axes, last, power=power_of(norm, forward=forward))


_UNTESTED = "OpInfos call the composite operators"
_NORMALIZATION = (0.0, -0.5, -1.0)


@aten("aten::_fft_r2c", rule=custom(), untested=_UNTESTED)
def fft_r2c(op: Op, self: Value, dim: Sequence[int], normalization: int, onesided: bool) -> Value:
    """Real numbers to complex ones."""
    axes = [axis_of(d, self.rank) for d in dim]
    return r2c(op, self, axes, onesided=onesided, power=_NORMALIZATION[normalization])


@aten("aten::_fft_c2c", rule=custom(), untested=_UNTESTED, complex="same")
def fft_c2c(op: Op, self: Complex, dim: Sequence[int], normalization: int, forward: bool) -> Value:
    """Complex numbers to complex ones."""
    axes = [axis_of(d, self.rank) for d in dim]
    return c2c(op, self, axes, forward=forward, power=_NORMALIZATION[normalization])


@aten("aten::_fft_c2r", rule=custom(), untested=_UNTESTED, complex="same")
def fft_c2r(
    op: Op, self: Complex, dim: Sequence[int], normalization: int, last_dim_size: Size
) -> Value:
    """Half a Hermitian spectrum to real numbers."""
    axes = [axis_of(d, self.rank) for d in dim]
    return c2r(op, self, axes, last_dim_size, power=_NORMALIZATION[normalization])


def _register(name: str, run: Any, *, forward: bool) -> None:
    """The transforms of one, two and any number of axes that share one meaning."""

    def tests(suffix: str) -> list[OpTest]:
        return [OpTest(f"fft.{name}{suffix}", tol=_TOL)]

    @aten(f"aten::fft_{name}", rule=custom(), tests=tests(""))
    def one(
        op: Op, self: Value, n: Size | None = None, dim: int = -1, norm: str | None = None
    ) -> Any:
        """Along one axis."""
        axes, lengths = axes_and_sizes(self.rank, None, [dim])
        return run(op, self, axes, lengths if n is None else [n], norm, forward=forward)

    @aten(f"aten::fft_{name}2", rule=custom(), tests=tests("2"))
    def two(
        op: Op, self: Value, s: Any = None, dim: Sequence[int] = (-2, -1), norm: str | None = None
    ) -> Any:
        """Along two axes."""
        axes, lengths = axes_and_sizes(self.rank, s, dim)
        return run(op, self, axes, lengths, norm, forward=forward)

    @aten(f"aten::fft_{name}n", rule=custom(), tests=tests("n"))
    def many(
        op: Op, self: Value, s: Any = None, dim: int | None = None, norm: str | None = None
    ) -> Any:
        """Along several axes."""
        axes, lengths = axes_and_sizes(self.rank, s, dim)
        return run(op, self, axes, lengths, norm, forward=forward)

    for function in (one, two, many):
        function.on_complex(function.body)


for _name, _run, _forward in (
    ("fft", transform, True),
    ("ifft", transform, False),
    ("rfft", half_transform, True),
    ("ihfft", half_transform, False),
    ("irfft", real_transform, False),
    ("hfft", real_transform, True),
):
    _register(_name, _run, forward=_forward)


def _shifted(op: Op, x: Value, dim: int | Sequence[int] | None, *, up: bool) -> Value:
    dims = [dim] if isinstance(dim, int) else dim
    axes = range(x.rank) if dims is None else [axis_of(d, x.rank) for d in dims]
    for axis in axes:
        length = size(op, x, axis)
        # How many elements go from the front to the back.
        cut = arithmetic(op, "Sub", length, _half(op, length)) if up else _half(op, length)
        where = vector(op, [cut])
        front = op.Slice(x, [0], where, [axis])
        back = op.Slice(x, where, [np.iinfo(np.int64).max], [axis])
        x = op.Concat(back, front, axis=axis)
    return x


@aten("aten::fft_fftshift", rule=like("self"), tests=[OpTest("fft.fftshift")], complex="parts")
def fft_fftshift(op: Op, self: Value, dim: int | Sequence[int] | None = None) -> Value:
    """The zero frequency in the middle."""
    return _shifted(op, self, dim, up=True)


@aten("aten::fft_ifftshift", rule=like("self"), tests=[OpTest("fft.ifftshift")], complex="parts")
def fft_ifftshift(op: Op, self: Value, dim: int | Sequence[int] | None = None) -> Value:
    """The zero frequency in the front again."""
    return _shifted(op, self, dim, up=False)


@aten("aten::fft_fftfreq", rule=creation(), untested="torch has no OpInfo for it")
def fft_fftfreq(op: Op, n: int, d: float = 1.0, *, dtype: DType | None = None) -> Value:
    """The frequencies of a transform."""
    place = _range(op, n)
    many = scalar(op, n, DType.INT64)
    later = op.GreaterOrEqual(op.Mul(place, 2), many)
    return _frequencies(op, op.Where(later, op.Sub(place, many), place), many, d, dtype)


@aten("aten::fft_rfftfreq", rule=creation(), untested="torch has no OpInfo for it")
def fft_rfftfreq(op: Op, n: int, d: float = 1.0, *, dtype: DType | None = None) -> Value:
    """The frequencies of the half transform of real numbers."""
    place = _range(op, _plus(op, _half(op, n), 1))
    return _frequencies(op, place, scalar(op, n, DType.INT64), d, dtype)


def _range(op: Op, n: Size) -> Value:
    return op.Range(*(scalar(op, v, DType.INT64) for v in (0, n, 1)))


def _frequencies(op: Op, place: Value, many: Any, d: float, dtype: DType | None) -> Value:
    assert dtype is not None  # the rule fills it in
    wide = DType.DOUBLE
    frequencies = op.Div(cast(op, place, wide), op.Mul(cast(op, many, wide), float(d)))
    return cast(op, frequencies, dtype)

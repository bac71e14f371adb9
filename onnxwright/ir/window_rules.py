"""Output shapes of convolutions, poolings and resizings, with names."""

from __future__ import annotations

import math
from collections.abc import Sequence

from onnxwright.ir.moving_rules import Rule
from onnxwright.operators.op_call import OpCall, UnknownError, axis_in, same
from onnxwright.types import dims
from onnxwright.types.dtypes import DType
from onnxwright.types.kinds import OnnxType, TensorType
from onnxwright.types.shapes import Dim, Shape


class _Windows:
    """The windows of a convolution or pooling over the spatial axes."""

    def __init__(self, call: OpCall, kernel: Sequence[Dim]) -> None:
        count = len(kernel)
        self.kernel = kernel
        self.strides = _list(call, "strides", 1, count)
        self.dilations = _list(call, "dilations", 1, count)
        self.pads = _list(call, "pads", 0, 2 * count)
        self.auto = call.attr("auto_pad", "NOTSET") or "NOTSET"
        self.auto = self.auto.decode() if isinstance(self.auto, bytes) else self.auto
        self.up = bool(call.attr("ceil_mode", 0))

    def length(self, n: int, dim: Dim) -> Dim:
        """How many windows there are along spatial axis `n`."""
        kernel, stride = self.kernel[n], self.strides[n]
        if self.auto in ("SAME_UPPER", "SAME_LOWER"):
            return dims.ceildiv(dim, stride)
        extent = dims.add(dims.mul(dims.sub(kernel, 1), self.dilations[n]), 1)
        before, after = (0, 0)
        if self.auto == "NOTSET":
            before, after = self.pads[n], self.pads[n + len(self.kernel)]
        room = dims.sub(dims.add(dim, before + after), extent)
        if type(room) is int and room < 0:
            raise UnknownError
        if not self.up or stride == 1:
            return dims.add(dims.floordiv(room, stride), 1)
        # A last window that starts in the padding counts in some versions and not in others.
        if type(extent) is int and stride <= extent - after:
            return dims.add(dims.ceildiv(room, stride), 1)
        raise UnknownError


def _list(call: OpCall, name: str, default: int, count: int) -> list[int]:
    given = call.attr(name, None)
    if not given:
        return [default] * count
    if len(given) != count:
        raise UnknownError
    return list(given)


def _conv(call: OpCall) -> Shape:
    x, w = call.shape(0), call.shape(1)
    if len(x) != len(w) or len(x) < 3:
        raise UnknownError
    kernel = tuple(call.attr("kernel_shape", None) or w[2:])
    if len(kernel) != len(x) - 2:
        raise UnknownError
    group = call.attr("group")
    same(x[1], dims.mul(w[1], group))
    windows = _Windows(call, kernel)
    return (x[0], w[0], *(windows.length(n, d) for n, d in enumerate(x[2:])))


def _conv_transpose(call: OpCall) -> Shape:
    x, w = call.shape(0), call.shape(1)
    if len(x) != len(w) or len(x) < 3:
        raise UnknownError
    count = len(x) - 2
    same(x[1], w[0])
    channels = dims.mul(w[1], call.attr("group"))
    given = call.attr("output_shape", None)
    if given:
        return (x[0], channels, *given[-count:])
    windows = _Windows(call, tuple(call.attr("kernel_shape", None) or w[2:]))
    if len(windows.kernel) != count:
        raise UnknownError
    extra = _list(call, "output_padding", 0, count)
    spatial = []
    for n, d in enumerate(x[2:]):
        stride = windows.strides[n]
        if windows.auto in ("SAME_UPPER", "SAME_LOWER"):
            spatial.append(dims.mul(d, stride))
            continue
        extent = dims.add(dims.mul(dims.sub(windows.kernel[n], 1), windows.dilations[n]), 1)
        cut = windows.pads[n] + windows.pads[n + count] if windows.auto == "NOTSET" else 0
        grown = dims.add(dims.mul(dims.sub(d, 1), stride), extra[n])
        spatial.append(dims.sub(dims.add(grown, extent), cut))
    return (x[0], channels, *spatial)


def _pool(call: OpCall) -> list[OnnxType | None]:
    kind, x = call.tensor(0), call.shape(0)
    kernel = call.attr("kernel_shape")
    if len(x) < 3 or len(kernel) != len(x) - 2:
        raise UnknownError
    windows = _Windows(call, kernel)
    shape = (*x[:2], *(windows.length(n, d) for n, d in enumerate(x[2:])))
    types: list[OnnxType | None] = [TensorType(kind.dtype, shape), TensorType(DType.INT64, shape)]
    return types[: call.count]


def _global_pool(call: OpCall) -> Shape:
    x = call.shape(0)
    if len(x) < 2:
        raise UnknownError
    return (*x[:2], *(1,) * (len(x) - 2))


def _batch_norm(call: OpCall) -> Shape:
    x = call.shape(0)
    if call.count != 1 or len(x) < 2:
        raise UnknownError
    for n in range(1, len(call.types)):
        shape = call.shape(n)
        if len(shape) != 1:
            raise UnknownError
        same(x[1], shape[0])
    return x


def _depth_to_space(call: OpCall) -> Shape:
    n, c, h, w = _images(call)
    size = call.attr("blocksize")
    if size <= 0 or (type(c) is int and c % (size * size)):
        raise UnknownError
    return (n, dims.floordiv(c, size * size), dims.mul(h, size), dims.mul(w, size))


def _space_to_depth(call: OpCall) -> Shape:
    n, c, h, w = _images(call)
    size = call.attr("blocksize")
    if size <= 0 or any(type(d) is int and d % size for d in (h, w)):
        raise UnknownError
    return (n, dims.mul(c, size * size), dims.floordiv(h, size), dims.floordiv(w, size))


def _images(call: OpCall) -> tuple[Dim, Dim, Dim, Dim]:
    shape = call.shape(0)
    if len(shape) != 4:
        raise UnknownError
    return shape


def _resize(call: OpCall) -> Shape:
    shape = call.shape(0)
    if call.since < 11:
        raise UnknownError
    if call.attr("keep_aspect_ratio_policy", "stretch") not in ("stretch", b"stretch"):
        raise UnknownError
    given = call.attr("axes", None)
    axes = [axis_in(a, len(shape)) for a in given] if given else list(range(len(shape)))
    result = list(shape)
    if call.has(3):
        sizes = call.dims(3)
        if len(sizes) != len(axes):
            raise UnknownError
        for axis, size in zip(axes, sizes):
            result[axis] = size if dims.at_least(size, 0) else None
        return tuple(result)
    scales = call.known[2] if call.has(2) else None
    if scales is None or scales.size != len(axes):
        raise UnknownError
    for axis, scale in zip(axes, scales.tolist()):
        result[axis] = _scaled(result[axis], scale)
    return tuple(result)


def _scaled(dim: Dim, scale: float) -> Dim:
    if type(dim) is int:
        return math.floor(dim * scale)
    if scale <= 0 or not math.isfinite(scale):
        raise UnknownError
    if scale == int(scale):
        return dims.mul(dim, int(scale))
    numerator, denominator = scale.as_integer_ratio()
    # Exact for powers of two; other factors are rounded in ways that runtimes differ in.
    return dims.floordiv(dims.mul(dim, numerator), denominator) if denominator <= 1024 else None


def _stft(call: OpCall) -> Shape:
    """Source: ONNX STFT, version 17: frames that fit wholly, half of the bins if one-sided."""
    signal, step = call.shape(0), call.dims(1)
    if call.has(3):
        length = call.dims(3)[0]
    elif call.has(2):
        (length,) = call.shape(2)
    else:
        raise UnknownError
    frames = dims.add(dims.floordiv(dims.sub(signal[1], length), step[0]), 1)
    bins = dims.add(dims.floordiv(length, 2), 1) if call.attr("onesided") else length
    return (signal[0], frames, bins, 2)


RULES: dict[str, Rule] = {
    "AveragePool": _pool,
    "BatchNormalization": _batch_norm,
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "DepthToSpace": _depth_to_space,
    "GlobalAveragePool": _global_pool,
    "GlobalMaxPool": _global_pool,
    "LpPool": _pool,
    "MaxPool": _pool,
    "Resize": _resize,
    "STFT": _stft,
    "SpaceToDepth": _space_to_depth,
}

__all__ = ["RULES"]

"""Convolutions."""

from __future__ import annotations

import math

from onnxwright.operators.attribute_faults import axes_fault
from onnxwright.operators.flops import Cost, Sized
from onnxwright.operators.op_call import (
    ContradictionError,
    OpCall,
    listed,
    same,
    same_shape,
)
from onnxwright.operators.record import OperatorFacts
from onnxwright.operators.windows import Windows, attribute_list
from onnxwright.types import dims
from onnxwright.types.shapes import Shape


def _conv_shape(call: OpCall) -> Shape:
    return _convolved(call, weight=1, bias=2)


def _integer_conv_shape(call: OpCall) -> Shape:
    return _convolved(call, weight=1, bias=None)


def _quantized_conv_shape(call: OpCall) -> Shape:
    """Source: ONNX QLinearConv: image and weights are followed by their scales and zero points."""
    return _convolved(call, weight=3, bias=8)


def _convolved(call: OpCall, weight: int, bias: int | None) -> Shape:
    """The result of a convolution whose weights and bias are these inputs."""
    x, w = call.shape(0), call.shape(weight)
    _check_ranks(x, w)
    kernel = _kernel(call, w)
    group = call.attr("group")
    channels = dims.mul(w[1], group)
    same(x[1], channels, "weights for {} channels" + (f" ({group} groups)" if group != 1 else ""))
    if type(w[0]) is int and group > 0 and w[0] % group:
        raise ContradictionError(f"output channels in {group} equal groups", w[0])
    if bias is not None and call.has(bias):
        same_shape((w[0],), call.shape(bias), call.signature.inputs[bias].name)
    windows = Windows(call, kernel)
    return (x[0], w[0], *(windows.length(n, d) for n, d in enumerate(x[2:])))


def _conv_transpose_shape(call: OpCall) -> Shape:
    x, w = call.shape(0), call.shape(1)
    _check_ranks(x, w)
    count = len(x) - 2
    same(x[1], w[0], "weights for {} channels")
    channels = dims.mul(w[1], call.attr("group"))
    if call.has(2):
        same_shape((channels,), call.shape(2), "B")
    output_shape = call.attr("output_shape", None)
    if output_shape:
        return (x[0], channels, *output_shape[-count:])
    windows = Windows(call, _kernel(call, w))
    extra = attribute_list(call, "output_padding", 0, count)
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


def _check_ranks(x: Shape, w: Shape) -> None:
    if len(x) < 3:
        raise ContradictionError("at least 3 axes (batch, channels, spatial axes)", listed(x))
    if len(x) != len(w):
        raise ContradictionError(f"weights with {len(x)} axes", listed(w))


def _kernel(call: OpCall, w: Shape) -> Shape:
    """The sizes of the window, which the weights and `kernel_shape` both say."""
    sizes = call.attr("kernel_shape", None)
    if not sizes:
        return w[2:]
    same_shape((*w[:2], *sizes), w, "W")
    return tuple(sizes)


def _conv_flops(weight: int, bias: int | None = None) -> Cost:
    """2 * (elements of the result) * (channels of a group * kernel), and one for the bias."""

    def cost(n: Sized) -> int:
        result = math.prod(n.output())
        added = result if bias is not None and n.has(bias) else 0
        return 2 * result * math.prod(n.input(weight)[1:]) + added

    return cost


def _conv_transpose_flops(n: Sized) -> int:
    """2 * (elements of the input) * (output channels of a group * kernel), one for the bias."""
    bias = math.prod(n.output()) if n.has(2) else 0
    return 2 * math.prod(n.input(0)) * math.prod(n.input(1)[1:]) + bias


FACTS = (
    OperatorFacts("CausalConvWithState", heavy=True),
    OperatorFacts("Col2Im"),
    OperatorFacts(
        "Conv",
        attribute_fault=axes_fault,
        heavy=True,
        least_ranks=(0, 2),
        infer=_conv_shape,
        flops=_conv_flops(weight=1, bias=2),
    ),
    OperatorFacts(
        "ConvInteger",
        heavy=True,
        least_ranks=(0, 2),
        infer=_integer_conv_shape,
        flops=_conv_flops(weight=1),
    ),
    OperatorFacts(
        "ConvTranspose",
        attribute_fault=axes_fault,
        heavy=True,
        infer=_conv_transpose_shape,
        flops=_conv_transpose_flops,
    ),
    OperatorFacts("DeformConv", heavy=True),
    OperatorFacts(
        "QLinearConv",
        heavy=True,
        least_ranks=(2, 0, 0, 2),
        infer=_quantized_conv_shape,
        flops=_conv_flops(weight=3, bias=8),
    ),
)

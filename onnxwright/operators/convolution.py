"""Convolutions."""

from __future__ import annotations

import math

from onnxwright.operators.flops import Cost, Sized
from onnxwright.operators.op_call import OpCall, UnknownError, same
from onnxwright.operators.record import OperatorFacts
from onnxwright.operators.windows import Windows, attribute_list
from onnxwright.types import dims
from onnxwright.types.shapes import Shape


def _conv_shape(call: OpCall) -> Shape:
    x, w = call.shape(0), call.shape(1)
    if len(x) != len(w) or len(x) < 3:
        raise UnknownError
    kernel = tuple(call.attr("kernel_shape", None) or w[2:])
    if len(kernel) != len(x) - 2:
        raise UnknownError
    group = call.attr("group")
    same(x[1], dims.mul(w[1], group))
    windows = Windows(call, kernel)
    return (x[0], w[0], *(windows.length(n, d) for n, d in enumerate(x[2:])))


def _conv_transpose_shape(call: OpCall) -> Shape:
    x, w = call.shape(0), call.shape(1)
    if len(x) != len(w) or len(x) < 3:
        raise UnknownError
    count = len(x) - 2
    same(x[1], w[0])
    channels = dims.mul(w[1], call.attr("group"))
    given = call.attr("output_shape", None)
    if given:
        return (x[0], channels, *given[-count:])
    windows = Windows(call, tuple(call.attr("kernel_shape", None) or w[2:]))
    if len(windows.kernel) != count:
        raise UnknownError
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
        heavy=True,
        least_ranks=(0, 2),
        infer=_conv_shape,
        flops=_conv_flops(weight=1, bias=2),
    ),
    OperatorFacts("ConvInteger", heavy=True, least_ranks=(0, 2), flops=_conv_flops(weight=1)),
    OperatorFacts(
        "ConvTranspose",
        heavy=True,
        infer=_conv_transpose_shape,
        flops=_conv_transpose_flops,
    ),
    OperatorFacts("DeformConv", heavy=True),
    OperatorFacts(
        "QLinearConv", heavy=True, least_ranks=(2, 0, 0, 2), flops=_conv_flops(weight=3, bias=8)
    ),
)

__all__ = ["FACTS"]

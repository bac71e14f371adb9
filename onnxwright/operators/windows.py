"""The windows of convolutions and poolings: how many there are along an axis."""

from __future__ import annotations

from collections.abc import Sequence

from onnxwright.operators.op_call import ContradictionError, OpCall, UnknownError
from onnxwright.types import dims
from onnxwright.types.shapes import Dim


class Windows:
    """The windows of a convolution or pooling over the spatial axes."""

    def __init__(self, call: OpCall, kernel: Sequence[Dim]) -> None:
        count = len(kernel)
        self.kernel = kernel
        self.strides = attribute_list(call, "strides", 1, count)
        self.dilations = attribute_list(call, "dilations", 1, count)
        self.pads = attribute_list(call, "pads", 0, 2 * count)
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
        padded = dims.add(dim, before + after)
        space = dims.sub(padded, extent)
        if type(space) is int and space < 0:
            if space + stride < 0:
                raise ContradictionError(f"a window of at most {padded}", extent)
            raise UnknownError
        if not self.up or stride == 1:
            return dims.add(dims.floordiv(space, stride), 1)
        # A last window that starts in the padding counts in some versions and not in others.
        if type(extent) is int and stride <= extent - after:
            return dims.add(dims.ceildiv(space, stride), 1)
        raise UnknownError


def attribute_list(call: OpCall, name: str, default: int, count: int) -> list[int]:
    """An attribute of one number for each axis, or its default."""
    numbers = call.attr(name, None)
    if not numbers:
        return [default] * count
    if len(numbers) != count:
        raise ContradictionError(f"{count} numbers in `{name}`", list(numbers))
    return list(numbers)

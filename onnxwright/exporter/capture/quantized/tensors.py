"""What stands for a quantized tensor of torch in a capture: its numbers, scale and zero point.

`torch.export` has no fake tensors of quantized types.  A `Quantized` holds the numbers that the
integers stand for, as floats, and how they are quantized; the captured program has QuantizeLinear
and DequantizeLinear where torch makes integers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

# Registers `torch.ops.quantized_decomposed`.
from torch.ao.quantization.fx import _decomposed  # noqa: F401 - for its side effect

_PLAIN = {
    torch.quint8: (torch.uint8, 0, 255),
    torch.qint8: (torch.int8, -128, 127),
    torch.qint32: (torch.int32, -(2**31), 2**31 - 1),
}
QUANTIZED_TYPES = frozenset({*_PLAIN, torch.quint4x2, torch.quint2x4})
"""Torch's types of quantized tensors."""
DISPATCH: list[Callable[..., Any]] = []
"""Where calls of torch's functions on a `Quantized` go; set by `operators`."""


@dataclass(frozen=True)
class Scheme:
    """How numbers are quantized: one scale and one zero point.

    Fields:
        scale: the step.
        zero_point: the integer of 0.0.
        dtype: torch.quint8, torch.qint8 or torch.qint32.
    """

    scale: Any
    zero_point: Any
    dtype: torch.dtype


class Quantized:
    """Stands for a quantized tensor.

    Args:
        values: the numbers, each on the grid of the scheme.
        scheme: how they are quantized.
        whole: the integers, where they are known already.
    """

    def __init__(self, values: torch.Tensor, scheme: Scheme, whole: Any = None) -> None:
        self.values = values
        self.scheme = scheme
        self.whole = whole

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Any function of torch that is called with one."""
        return DISPATCH[0](func, args, kwargs or {})

    @property
    def dtype(self) -> torch.dtype:
        """The quantized type."""
        return self.scheme.dtype

    @property
    def is_quantized(self) -> bool:
        """True, as of a quantized tensor."""
        return True

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        member = getattr(torch.Tensor, name)
        if not callable(member):
            return getattr(self.values, name)

        def method(*args: Any, **kwargs: Any) -> Any:
            return DISPATCH[0](member, (self, *args), kwargs)

        return method

    def __getitem__(self, index: Any) -> Quantized:
        return Quantized(self.values[index], self.scheme)

    def __len__(self) -> int:
        return len(self.values)


def quantize(x: torch.Tensor, scheme: Scheme) -> Quantized:
    """Numbers rounded to the grid of a scheme."""
    plain, low, high = _PLAIN[scheme.dtype]
    ops = torch.ops.quantized_decomposed
    overload = "tensor" if isinstance(scheme.scale, torch.Tensor) else "default"
    zero = scheme.zero_point
    if overload == "tensor" and not isinstance(zero, torch.Tensor):
        zero = torch.tensor(zero)
    args = (scheme.scale, zero, low, high, plain)
    whole = getattr(ops.quantize_per_tensor, overload)(x, *args)
    values = getattr(ops.dequantize_per_tensor, overload)(whole, *args)
    return Quantized(values, scheme, whole)


def integers(x: Quantized) -> torch.Tensor:
    """The integers of a quantized tensor, as `int_repr` gives them."""
    if x.whole is None:
        x.whole = quantize(x.values, x.scheme).whole
    whole: torch.Tensor = x.whole
    return whole

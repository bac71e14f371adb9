"""Functions of torch that take a number as an integer only, for numbers that follow from sizes.

`torch.linspace(0.5, h - 0.5, h)` makes torch take the sizes of the example inputs.  Here are the
same functions by operators that take dynamic numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols, statically_known_true

from onnxwright.exporter.capture.session.number_forms import as_tensor, is_dynamic
from onnxwright.exporter.torch_internals import refs_tensor


def with_size_computed(own: Callable[..., Any]) -> Callable[..., Any]:
    """`x.reshape(h, w, -1)` where `h` or `w` is known at run time: torch asks whether it is 0.

    Args:
        own: the function, or the method of tensors.
    """

    def reshape(self: Any, *shape: Any, **kwargs: Any) -> Any:
        sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
        is_open = any(isinstance(n, torch.SymInt) and free_unbacked_symbols(n) for n in sizes)
        if kwargs or not is_open or [n for n in sizes if isinstance(n, int)].count(-1) != 1:
            return own(self, *shape, **kwargs)
        others = [n for n in sizes if not isinstance(n, int) or n != -1]
        size = self.numel() // math.prod(others)
        return own(self, [size if isinstance(n, int) and n == -1 else n for n in sizes])

    return reshape


def one_hot(tensor: Any, num_classes: Any = -1) -> Any:
    """`one_hot` with a dynamic number of classes."""
    if not isinstance(num_classes, torch.SymInt):
        return torch.nn.functional.one_hot(tensor, num_classes)
    classes = torch.arange(num_classes, device=tensor.device)
    return (tensor[..., None] == classes).to(torch.int64)


def istft(*args: Any, **kwargs: Any) -> Any:
    """`istft` of a dynamic length."""
    if isinstance(kwargs.get("length"), torch.SymInt):
        return _inverse_of_length(*args, **kwargs)
    return torch.istft(*args, **kwargs)


def _inverse_of_length(
    frames: Any,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Any = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: Any = None,
    return_complex: bool = False,
) -> Any:
    whole = torch.istft(
        frames, n_fft, hop_length, win_length, window, False, normalized, onesided, None,
        return_complex,
    )  # fmt: skip
    signal = whole[..., n_fft // 2 if center else 0 :]
    return torch.nn.functional.pad(signal, [0, length - signal.shape[-1]])


def linspace(*args: Any, **kwargs: Any) -> Any:
    """`linspace` with a dynamic number of steps, or between dynamic numbers."""
    if not is_dynamic(args, kwargs) or kwargs.get("out") is not None:
        return torch.linspace(*args, **kwargs)
    return _evenly_spaced(*args, **kwargs)


def _evenly_spaced(
    start: Any,
    end: Any,
    steps: Any,
    *,
    dtype: torch.dtype | None = None,
    device: Any = None,
    out: None = None,
    layout: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Any:
    """Counted from the nearer end, as torch does it."""
    if any(isinstance(x, complex) or _is_complex(x) for x in (start, end)):
        return torch.linspace(start, end, steps, dtype=dtype, device=device)
    dtype = dtype or torch.get_default_dtype()
    if dtype.is_complex:
        return torch.linspace(start, end, steps, dtype=dtype, device=device)
    wide = torch.float64 if dtype in (torch.float64, *_INTEGERS) else torch.float32
    first, last = (as_tensor(x, wide).to(device) for x in (start, end))
    places = torch.arange(steps, device=device)
    # Not by `sym_max`: the layout of `places` lets torch take `steps` for 2 or more.
    apart = (last - first) / as_tensor(steps - 1, wide).to(device).clamp(min=1)
    before = first + apart * places.to(wide)
    after = last - apart * (steps - 1 - places).to(wide)
    return torch.where(2 * places < steps, before, after).to(dtype)


def _is_complex(number: Any) -> bool:
    return isinstance(number, torch.Tensor) and number.is_complex()


_INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


def of_list(own: Callable[..., Any]) -> Callable[..., Any]:
    """A function that makes a tensor of a list, for one with dynamic numbers, too."""

    def make(*args: Any, **kwargs: Any) -> Any:
        if not isinstance(args[0] if args else None, (list, tuple)) or not is_dynamic(args[0]):
            return own(*args, **kwargs)
        arguments = dict(zip(("dtype", "device"), args[1:], strict=False)) | kwargs
        # Torch itself follows the numbers of lists in `torch.tensor` only, by this function.
        return refs_tensor(args[0], dtype=arguments.get("dtype"), device=arguments.get("device"))

    return make


def places(own: Callable[..., Any]) -> Callable[..., Any]:
    """`tril_indices` or `triu_indices` of dynamic numbers of rows and columns."""
    triangle = torch.tril if own is torch.tril_indices else torch.triu

    def make(row: Any, col: Any, offset: Any = 0, **kwargs: Any) -> Any:
        if not is_dynamic(row, col, offset):
            return own(row, col, offset, **kwargs)
        inside = triangle(torch.ones(row, col, device=kwargs.get("device")), offset)
        return inside.nonzero().t().to(kwargs.get("dtype") or torch.int64)

    return make


def pooling(own: Callable[..., Any], axes: int) -> Callable[..., Any]:
    """A function for pooling; a window as long as a dynamic axis is a mean or a maximum of it."""
    reduced = torch.Tensor.mean if own.__name__.startswith("avg") else torch.Tensor.amax

    def each(value: Any) -> list[Any]:
        return list(value) if isinstance(value, (tuple, list)) else [value] * axes

    def pool(
        input: Any,  # noqa: A002 - the name of torch
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        kernel, pads = each(kernel_size), each(padding)
        whole = [
            n - axes
            for n, (size, length, pad) in enumerate(zip(kernel, input.shape[-axes:], pads))
            if is_dynamic(size) and not pad and statically_known_true(size == length)
        ]
        if not whole or _OTHER_RESULTS & {name for name, value in kwargs.items() if value}:
            return own(input, kernel_size, stride, padding, *args, **kwargs)
        input = reduced(input, whole, keepdim=True)  # noqa: A001 - as above
        if len(whole) == axes:
            return input
        steps = each(stride) if stride else kernel
        for n in whole:
            kernel[n] = steps[n] = 1
        return own(input, kernel, steps, padding, *args, **kwargs)

    return pool


# Options of a pooling function that make other results of it.
_OTHER_RESULTS = {"return_indices", "divisor_override"}

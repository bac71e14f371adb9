"""Numbers of run time in their three forms: of Python, symbolic, and as tensors without axes.

A length is an `int`, a `torch.SymInt` or a tensor, by where it comes from.  Here is what turns the
first two into the third; `intrinsics` has `int`, `float` and `bool`, which turn it back.
"""

from __future__ import annotations

from typing import Any

import torch

from onnxwright.exporter.torch_internals import pytree

SIZES = (torch.SymInt, torch.SymFloat)
SYMBOLS = (*SIZES, torch.SymBool)
NUMBERS = (bool, int, float, *SYMBOLS)


def dtype_of(number: Any) -> torch.dtype:
    """The element type of a number as a tensor: floats of Python are doubles.

    Example:
        >>> [dtype_of(n) for n in (True, 2, 0.5, torch.ones(1, dtype=torch.int8))]
        [torch.bool, torch.int64, torch.float64, torch.int8]
    """
    if isinstance(number, torch.Tensor):
        return number.dtype
    if isinstance(number, (bool, torch.SymBool)):
        return torch.bool
    whole = isinstance(number, (int, torch.SymInt))
    return torch.int64 if whole else torch.float64


def as_tensor(number: Any, dtype: torch.dtype | None = None) -> torch.Tensor:
    """A number as a tensor: exact, since whole numbers never pass a float.

    Args:
        number: a tensor, a number of Python or a symbolic one.
        dtype: the element type; by default that of the number.

    Returns:
        A tensor without axes; of a tensor, one of its shape.

    Example:
        >>> as_tensor(2**24 + 1), as_tensor(True, torch.float32)
        (tensor(16777217), tensor(1.))
    """
    if isinstance(number, torch.Tensor):
        return number if dtype is None else number.to(dtype)
    return torch.scalar_tensor(number, dtype=dtype or dtype_of(number))


def is_dynamic(*values: Any) -> bool:
    """Whether there is a dynamic number among values, or in lists and tuples of them."""
    return any(isinstance(x, SIZES) for x in pytree.tree_leaves(values))

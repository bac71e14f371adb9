"""What torch does not trace as it is: shapes of some results, and functions that read values.

`fakes` gives torch shapes of results that it does not tell while it captures.  `substitutes` puts
other functions in the place of some of torch's: they compute the same, without a decision in Python
that is made of the values of tensors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch._C import DispatchKey
from torch.nn import functional
from torch.overrides import TorchFunctionMode

aten = torch.ops.aten


def _covariances(x: Any, **_: Any) -> Any:
    """One number for each pair of rows."""
    kind = x.dtype if x.dtype.is_floating_point or x.dtype.is_complex else torch.get_default_dtype()
    return x.new_empty([x.shape[0]] * 2 if x.ndim == 2 else [], dtype=kind)


def _coefficients(x: Any) -> Any:
    return _covariances(x)


def _narrow(x: Any, dim: int, start: Any, length: Any) -> Any:
    """A part whose length is known and whose start is not."""
    return x.new_empty([length if d == dim % x.ndim else n for d, n in enumerate(x.shape)])


def _ctc_loss(
    log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any,
    blank: int = 0, reduction: int = 1, zero_infinity: bool = False,
) -> Any:  # fmt: skip
    """A loss for each sequence, or one."""
    one = reduction != 0 or log_probs.ndim == 2
    return log_probs.new_empty([] if one else [log_probs.shape[1]])


FAKES: dict[Any, Callable[..., Any]] = {
    aten.cov.default: _covariances,
    aten.corrcoef.default: _coefficients,
    aten.narrow.Tensor: _narrow,
    aten.ctc_loss.IntList: _ctc_loss,
    aten.ctc_loss.Tensor: _ctc_loss,
}
"""Operators that torch runs by others -> what gives a result of the same type and shape."""


@contextmanager
def fakes() -> Iterator[None]:
    """While it lasts, torch takes the operators of `FAKES` as they are."""
    key = DispatchKey.CompositeImplicitAutograd
    added = [op for op in FAKES if key not in op.py_kernels]
    for op in added:
        op.py_kernels[key] = FAKES[op]
        op._dispatch_cache.clear()
    try:
        yield
    finally:
        for op in added:
            del op.py_kernels[key]
            op._dispatch_cache.clear()


def _equal(input: Any, other: Any) -> Any:  # noqa: A002 - torch's name
    if input.shape != other.shape:
        return False
    return torch.eq(input, other).all().item()


def _allclose(input: Any, other: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: A002 - as above
    return torch.isclose(input, other, *args, **kwargs).all().item()


def _gaussian_nll_loss(
    input: Any,  # noqa: A002 - as above
    target: Any,
    var: Any,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Any:
    """Without a look at the signs of `var`."""
    if not isinstance(var, torch.Tensor):
        var = var * torch.ones_like(input)
    if var.shape != input.shape and var.shape == input.shape[:-1]:
        var = var.unsqueeze(-1)
    var = var.clamp(min=eps)
    loss = 0.5 * (torch.log(var) + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return {"mean": torch.mean, "sum": torch.sum, "none": torch.clone}[reduction](loss)


SUBSTITUTES: dict[Any, Callable[..., Any]] = {
    torch.equal: _equal,
    torch.Tensor.equal: _equal,
    torch.allclose: _allclose,
    torch.Tensor.allclose: _allclose,
    functional.gaussian_nll_loss: _gaussian_nll_loss,
}
"""Functions that decide in Python -> what computes the same without a decision."""


class Substitutes(TorchFunctionMode):  # type: ignore[misc]
    """While it lasts, `SUBSTITUTES` are called in the place of torch's functions."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call the function, or what stands for it."""
        return SUBSTITUTES.get(func, func)(*args, **(kwargs or {}))

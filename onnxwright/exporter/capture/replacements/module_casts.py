"""Casts of modules, checks of distributions and a flag of attention, as torch can trace them."""

from __future__ import annotations

import functools
from typing import Any

import torch

from onnxwright.exporter.capture.replacements.changes import Changes


def distribution_checks_disabled(changes: Changes, model: Any) -> None:
    """Distributions do not look at the values of their parameters and samples.

    Such a look is a decision by values in Python; a model computes and does not check.
    """
    changes.attribute(torch.distributions.Distribution, "_validate_args", False)


def kept_where_there(own: Any) -> Any:
    """`module.to(...)` that changes nothing does nothing."""

    def to(self: Any, *args: Any, **kwargs: Any) -> Any:
        device, dtype, _, layout = torch._C._nn._parse_to(*args, **kwargs)
        if layout is None and _is_there(self, device, dtype):
            return self
        return own(self, *args, **kwargs)

    return to


def kept_where_of_type(own: Any) -> Any:
    """`module.float()` and the like that change nothing do nothing."""
    dtype = FLOATS[own.__name__]

    def convert(self: Any) -> Any:
        return self if _is_there(self, None, dtype) else own(self)

    return convert


def with_causal_flag(own: Any) -> Any:
    """`scaled_dot_product_attention` for `is_causal` that depends on sizes.

    `n > 1 and mask is None` is a symbolic truth value where `n > 1` does not hold.
    """

    @functools.wraps(own)
    def _followed_attention(*args: Any, **kwargs: Any) -> Any:  # the caller decides by sizes
        for name, value in kwargs.items():
            if isinstance(value, torch.SymBool):
                kwargs[name] = _is_of_several_rows(value, *args[:2]) or bool(value)
        return own(*args, **kwargs)

    return _followed_attention


def _is_of_several_rows(causal: Any, *tensors: Any) -> bool:
    """Whether a flag says that there is more than one row, of queries and of keys.

    One row attends to itself with a causal mask, too: the flag may be set for it.
    """
    if len(tensors) < 2:
        return False
    rows, keys = (x.shape[-2] for x in tensors)
    if not isinstance(rows, torch.SymInt) or not isinstance(keys, torch.SymInt):
        return False
    if rows.node.expr != keys.node.expr:
        return False
    return causal.node.expr in ((rows > 1).node.expr, (rows != 1).node.expr)


FLOATS = {
    "float": torch.float32,
    "double": torch.float64,
    "half": torch.float16,
    "bfloat16": torch.bfloat16,
}


def _is_there(module: Any, device: Any, dtype: Any) -> bool:
    """Whether all tensors of a module are on a device, and those of floats of a type."""
    tensors = [*module.parameters(), *module.buffers()]
    floats = [x for x in tensors if x.is_floating_point() or x.is_complex()]
    here = device is None or all(x.device == device for x in tensors)
    return here and (dtype is None or all(x.dtype == dtype for x in floats))

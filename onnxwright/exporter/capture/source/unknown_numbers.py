"""Numbers that are known at run time only."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from onnxwright.exporter.capture.source.regions import tracer


def is_unknown(number: Any) -> bool:
    """Whether a number is known at run time only."""
    if not isinstance(number, torch.Tensor):
        return bool(free_unbacked_symbols(number))
    t = tracer()
    proxy = t.tensor_tracker.get(number) if t is not None and has_one_element(number) else None
    return proxy is not None and proxy.constant is None


def has_one_element(x: torch.Tensor) -> bool:
    """Whether a tensor has one element at all sizes; sizes that are not known are not asked."""
    return all(type(n) is int and n == 1 for n in x.shape)

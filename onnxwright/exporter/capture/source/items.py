"""`items[n]` of rewritten code, where `n` is known at run time only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from onnxwright.exporter.capture.source.conditional import conditional
from onnxwright.exporter.capture.source.one_of import picked, tensor_of
from onnxwright.exporter.capture.source.regions import SYMBOLS
from onnxwright.exporter.capture.source.session import current
from onnxwright.exporter.capture.source.truth import is_unknown

_LISTS = (list, tuple, torch.nn.ModuleList, torch.nn.Sequential, torch.nn.ParameterList)


def item(value: Any, index: Any) -> Any:
    """`value[index]`: the item of a list may be known at run time only."""
    if isinstance(value, _LISTS) and isinstance(index, (torch.Tensor, *SYMBOLS)) and value:
        if current() is not None and is_unknown(index):
            return picked(index, list(value), conditional)
    if type(value) is dict and isinstance(index, (torch.Tensor, *SYMBOLS)) and value:
        if current() is not None and is_unknown(index) and {type(k) for k in value} == {int}:
            return picked(_place_of(index, list(value)), list(value.values()), conditional)
    return value[index]


def _place_of(key: Any, keys: Sequence[int]) -> Any:
    """The place of a key, a tensor.

    Args:
        key: the key, a tensor of one integer or a symbolic number; one of `keys`.
        keys: all keys.
    """
    wanted = tensor_of(key)
    place = torch.zeros_like(wanted, dtype=torch.int64)
    for n, one in enumerate(keys):
        place = torch.where(wanted == one, n, place)
    return place

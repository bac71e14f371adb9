"""`isinstance` and `type` of what stands for numbers, lists and one of several values of Python."""

from __future__ import annotations

from typing import Any

import torch

from onnxwright.exporter.capture.control.number_kinds import KINDS
from onnxwright.exporter.capture.source.rows import Rows
from onnxwright.exporter.capture.source.session import current
from onnxwright.exporter.capture.values.one_of import each


def is_of_type(value: Any, kinds: Any) -> Any:
    """`isinstance(value, kinds)`."""
    return each(_is_instance, value, kinds)


def is_tensor(function: Any, *args: Any, **options: Any) -> Any:
    """`torch.is_tensor(value)`: what stands for a number of Python is none."""
    if function is not torch.is_tensor or len(args) != 1 or options:
        return function(*args, **options)
    return is_of_type(args[0], torch.Tensor)


def type_(*args: Any, **options: Any) -> Any:
    """`type(value)`; of three arguments, a new class."""
    return each(_class_of, *args) if len(args) == 1 and not options else type(*args, **options)


def _class_of(value: Any) -> type:
    """The class of Python that a value has where the model runs."""
    session = current()
    if isinstance(value, torch.Tensor) and session is not None and value in session.numbers:
        if value.dtype == torch.bool:
            return bool
        return float if value.dtype.is_floating_point else int
    if isinstance(value, Rows):
        return list
    return KINDS.get(type(value), type(value))


def _is_instance(value: Any, kinds: Any) -> bool:
    found = _class_of(value)
    if found is type(value):
        return isinstance(value, kinds)
    # Programs that are written for a capture ask for `torch.SymInt`.
    return issubclass(found, kinds) or (type(value) in KINDS and isinstance(value, kinds))

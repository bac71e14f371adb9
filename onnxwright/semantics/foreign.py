"""Tensors of other libraries as arrays of numpy, without a copy where the library allows that."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from onnxwright.types.dtypes import DType

Array = np.ndarray[Any, Any]


def foreign_array(value: Any) -> Array | None:
    """The array of another library's tensor.

    Args:
        value: an object with `__array__`, `__array_interface__` or `__dlpack__`; one that tracks
            gradients is detached.

    Returns:
        The array; None where it has none of these.

    Example:
        >>> foreign_array(np.arange(2)), foreign_array("text")
        (array([0, 1]), None)
    """
    if isinstance(value, np.ndarray):
        return np.asarray(value)
    if hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
        return np.from_dlpack(value)
    if not hasattr(value, "__array__") and not hasattr(value, "__array_interface__"):
        return None
    detached = value.detach() if callable(getattr(value, "detach", None)) else value
    try:
        return np.asarray(detached)
    except (TypeError, RuntimeError):
        pass
    try:
        return np.from_dlpack(detached)
    except (TypeError, RuntimeError, BufferError, AttributeError):
        return _reinterpreted(detached)


def _reinterpreted(value: Any) -> Array | None:
    """A tensor of a type that numpy has not, read as integers of its width."""
    name = str(getattr(value, "dtype", "")).rpartition(".")[2]
    narrow_floats = {d.numpy.name: d for d in DType if d.bits in (8, 16) and d.is_float}
    target = narrow_floats.get(name)
    view = getattr(value, "view", None)
    if target is None or view is None:
        return None
    library = sys.modules.get(type(value).__module__.partition(".")[0])
    whole = getattr(library, f"int{target.bits}", None)
    return None if whole is None else np.asarray(view(whole)).view(target.numpy)

"""Tensors of other libraries as arrays of numpy, without a copy where the library allows that."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from onnxwright.types.dtypes import DType

Array = np.ndarray[Any, Any]


def foreign_array(given: Any) -> Array | None:
    """The array of another library's tensor.

    Args:
        given: an object with `__array__`, `__array_interface__` or `__dlpack__`; one that tracks
            gradients is detached.

    Returns:
        The array; None where it has none of these.

    Example:
        >>> foreign_array(np.arange(2)), foreign_array("text")
        (array([0, 1]), None)
    """
    if isinstance(given, np.ndarray):
        return np.asarray(given)
    if hasattr(given, "__dlpack__") and not hasattr(given, "__array__"):
        return np.from_dlpack(given)
    if not hasattr(given, "__array__") and not hasattr(given, "__array_interface__"):
        return None
    detached = given.detach() if callable(getattr(given, "detach", None)) else given
    try:
        return np.asarray(detached)
    except (TypeError, RuntimeError):
        pass
    try:
        return np.from_dlpack(detached)
    except (TypeError, RuntimeError, BufferError, AttributeError):
        return _reinterpreted(detached)


def _reinterpreted(given: Any) -> Array | None:
    """A tensor of a type that numpy has not, read as integers of its width."""
    name = str(getattr(given, "dtype", "")).rpartition(".")[2]
    known = {d.numpy.name: d for d in DType if d.bits in (8, 16) and d.is_float}
    target = known.get(name)
    view = getattr(given, "view", None)
    if target is None or view is None:
        return None
    library = sys.modules.get(type(given).__module__.partition(".")[0])
    whole = getattr(library, f"int{target.bits}", None)
    return None if whole is None else np.asarray(view(whole)).view(target.numpy)

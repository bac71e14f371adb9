"""Constants in a finished graph, fixed initializers and Constant nodes, and what they hold."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx_ir as ir

from onnxwright.tracing.constants import array_of_constant

# Patterns compare numbers of arrays up to this size.
MOST_NUMBERS = 64

# How far a number of each type may be from the one that is meant.
_TOLERANCE = {
    ir.DataType.FLOAT16: 2e-3,
    ir.DataType.BFLOAT16: 1.6e-2,
    ir.DataType.FLOAT: 1e-5,
    ir.DataType.DOUBLE: 1e-7,
}


def tensor_of(value: ir.Value | None) -> Any:
    """The tensor of onnx_ir that a value always holds; None if it may differ.

    Args:
        value: a value of a finished graph.

    Returns:
        The tensor; it is not read.
    """
    if value is None:
        return None
    node = value.producer()
    if node is None:
        return None if value.is_graph_input() else value.const_value
    if node.op_type == "Constant" and not node.domain:
        attr = node.attributes.get("value")
        if attr is not None:
            return None if attr.is_ref() else attr.value
        array = array_of_constant(node)
        return None if array is None else ir.tensor(array)
    return None


def is_constant(value: ir.Value | None) -> bool:
    """Whether a value holds the same numbers in every run."""
    return tensor_of(value) is not None


def has_readers(value: ir.Value, least: int = 1) -> bool:
    """Whether a value is read at least `least` times by inputs of nodes.

    `uses()` copies all of them, which takes long for a constant that a whole model reads.
    """
    return len(value._uses) >= least


def readers(value: ir.Value) -> Iterator[ir.Node]:
    """The nodes that read a value, without a copy of them all."""
    return (use.node for use in value._uses)


def small_array(value: ir.Value | None) -> np.ndarray[Any, Any] | None:
    """The numbers of a small constant; None for anything else."""
    tensor = tensor_of(value)
    if tensor is None or tensor.size > MOST_NUMBERS or tensor.dtype == ir.DataType.STRING:
        return None
    array: np.ndarray[Any, Any] = tensor.numpy()
    return array


def holds(value: ir.Value | None, expected: Any, rtol: float | None = None) -> bool:
    """Whether a value is a constant of given numbers, within the rounding of its type.

    Args:
        value: a value of a finished graph.
        expected: a number, or a list of numbers.
        rtol: how far a number may be off, as a part of it; by default the rounding of its type.

    Returns:
        True where it is; a single number matches an array of one element.
    """
    tensor = tensor_of(value)
    if tensor is None:
        return False
    one = isinstance(expected, (int, float))
    if one and any(d != 1 for d in tensor.shape):  # most constants are settled here, unread
        return False
    array = small_array(value)
    if array is None:
        return False
    if one:
        return _is_number(array, expected, _tolerance(tensor, rtol))
    target = np.asarray(expected)
    if target.ndim == 0:
        if array.size != 1:
            return False
        array = array.reshape(())
    elif array.shape != target.shape:
        return False
    if array.dtype.kind in "iub":
        return bool(np.array_equal(array, target))
    numbers = array.astype(np.float64)
    close = np.allclose(numbers, target.astype(np.float64), rtol=_tolerance(tensor, rtol), atol=0.0)
    return bool(close)


def _tolerance(tensor: Any, rtol: float | None) -> float:
    return _TOLERANCE.get(tensor.dtype, 1e-5) if rtol is None else rtol


def _is_number(array: np.ndarray[Any, Any], expected: float, tolerance: float) -> bool:
    """Whether an array of one element is close to a number, as in `np.isclose`."""
    if array.dtype.kind in "iub":
        return bool(array.item() == expected)
    number = float(array.astype(np.float64).item())
    near = abs(number - expected) <= tolerance * abs(expected)
    return number == expected or (near and math.isfinite(expected))


def number(value: Any) -> float | None:
    """The number that a constant of one element holds.

    Args:
        value: a value of the graph being built, or None.

    Returns:
        The number; None where it is not known, or there are several.
    """
    array = None if value is None else value.constant
    return None if array is None or array.size != 1 else float(array.reshape(()).item())


def numbers(value: Any) -> list[int] | None:
    """The integers that a constant vector holds, None where they are not known."""
    array = None if value is None else value.constant
    if array is None or array.dtype.kind not in "iu":
        return None
    return [int(n) for n in array.reshape(-1)]

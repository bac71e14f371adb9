"""Attribute values that no runtime can work with: some end the process instead of refusing them.

Each function takes the attributes that a call gives, as numbers and texts, and returns what is
wrong with them, None where nothing is.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

_EQUATION = re.compile(r"[a-zA-Z.,> -]*")
_MOST_AXES = 64
_LARGEST_WINDOW = (1 << 31) - 1
_LARGEST_BLOCK = (1 << 31) - 1  # its square fits into 64 bits


def uniform_fault(attributes: Mapping[str, Any]) -> str | None:
    """Why numbers cannot be drawn between `low` and `high`.

    Args:
        attributes: the attributes of a RandomUniform or RandomUniformLike.

    Returns:
        The reason, None where they can.

    Source:
        ONNX RandomUniform: the range starts at `low` and ends at `high`.

    Example:
        >>> uniform_fault({"low": 2.0})
        'its `low` is 2.0 and its `high` is 1.0, which is not a range'
    """
    low, high = attributes.get("low", 0.0), attributes.get("high", 1.0)
    if low <= high:
        return None
    return f"its `low` is {low} and its `high` is {high}, which is not a range"


def normal_fault(attributes: Mapping[str, Any]) -> str | None:
    """Why numbers cannot be drawn with a standard deviation of `scale`.

    Args:
        attributes: the attributes of a RandomNormal or RandomNormalLike.

    Returns:
        The reason, None where they can.

    Source:
        ONNX RandomNormal; C++ `std::normal_distribution` takes positive numbers only.

    Example:
        >>> normal_fault({"scale": 0.0})
        'its `scale`, the standard deviation, is 0.0, which is not above 0'
    """
    scale = attributes.get("scale", 1.0)
    if scale > 0:
        return None
    return f"its `scale`, the standard deviation, is {scale}, which is not above 0"


def block_fault(attributes: Mapping[str, Any]) -> str | None:
    """Why blocks cannot have the size `blocksize`.

    Args:
        attributes: the attributes of a DepthToSpace or SpaceToDepth.

    Returns:
        The reason, None where they can.

    Source:
        ONNX DepthToSpace: blocks of [blocksize, blocksize] are moved.

    Example:
        >>> block_fault({"blocksize": 0})
        'its `blocksize` is 0, which is not the length of a block'
    """
    size = attributes.get("blocksize", 1)
    if 1 <= size <= _LARGEST_BLOCK:
        return None
    return f"its `blocksize` is {size}, which is not the length of a block"


def axes_fault(attributes: Mapping[str, Any]) -> str | None:
    """Why lists cannot have numbers for that many axes.

    Args:
        attributes: the attributes of a Transpose or a convolution.

    Returns:
        The reason, None where they can.

    Source:
        ONNX Transpose, Conv: a number, or two, for each axis; ONNX Runtime compares each number of
        `perm` with all the others.

    Example:
        >>> axes_fault({"perm": list(range(1000))})
        'its `perm` has 1,000 numbers, more than two for each of 64 axes'
    """
    for name, value in attributes.items():
        if not isinstance(value, (str, bytes)) and hasattr(value, "__len__"):
            if len(value) > 2 * _MOST_AXES:
                what = f"more than two for each of {_MOST_AXES} axes"
                return f"its `{name}` has {len(value):,} numbers, {what}"
    return None


def batch_fault(attributes: Mapping[str, Any]) -> str | None:
    """Why a tensor cannot have `batch_dims` batch dimensions.

    Args:
        attributes: the attributes of a GatherND.

    Returns:
        The reason, None where it can.

    Source:
        ONNX GatherND: `batch_dims` is below the ranks of both inputs.

    Example:
        >>> batch_fault({"batch_dims": -1})
        'its `batch_dims` is -1, which is not a number of dimensions'
    """
    count = attributes.get("batch_dims", 0)
    if 0 <= count < _MOST_AXES:
        return None
    return f"its `batch_dims` is {count}, which is not a number of dimensions"


def window_fault(attributes: Mapping[str, Any]) -> str | None:
    """Why a window cannot be as large as `kernel_shape` says.

    Returns:
        The reason, None where it can.

    Source:
        ONNX LpPool and others; ONNX Runtime visits each element of a window, also of the padding.

    Example:
        >>> window_fault({"kernel_shape": [2, 1 << 40]})
        'its `kernel_shape` is [2, 1099511627776], more elements than a tensor can have'
    """
    shape = list(attributes.get("kernel_shape", ()))
    if math.prod(shape) <= _LARGEST_WINDOW:
        return None
    return f"its `kernel_shape` is {shape}, more elements than a tensor can have"


def equation_fault(attributes: Mapping[str, Any]) -> str | None:
    """Why an equation cannot be read.

    Returns:
        The reason, None where it can.

    Source:
        ONNX Einsum: letters, commas, an ellipsis, an arrow and spaces.

    Example:
        >>> equation_fault({"equation": "ij,jk->ik"}) is None, equation_fault({"equation": "i;j"})
        (True, "its `equation` has the character ';', which equations do not have")
    """
    equation = attributes.get("equation", "")
    text = equation.decode("utf-8", "replace") if isinstance(equation, bytes) else str(equation)
    match = _EQUATION.match(text)
    if match is None or match.end() == len(text):
        return None
    return f"its `equation` has the character {text[match.end()]!r}, which equations do not have"


def equation_ranks(attributes: Mapping[str, Any]) -> tuple[int, ...]:
    """The fewest axes of each input of an equation: one for each of its letters.

    Returns:
        A number for each input.

    Source:
        ONNX Einsum: each letter of a term is an axis of its input.

    Example:
        >>> equation_ranks({"equation": "ij, ...k -> ik"})
        (2, 1)
    """
    equation = attributes.get("equation", "")
    text = equation.decode("utf-8", "replace") if isinstance(equation, bytes) else str(equation)
    terms = text.split("->")[0].split(",")
    return tuple(sum(c.isalpha() for c in term) for term in terms)

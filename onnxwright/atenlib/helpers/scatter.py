"""Scattering with a reduction, in types and with NaNs that ONNX Runtime's kernels do not know."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from onnxwright.atenlib.complexes import Complex, as_complex
from onnxwright.atenlib.helpers.constants import cast, full_like, shape_vector
from onnxwright.atenlib.helpers.index_positions import as_index
from onnxwright.atenlib.protocols import Arguments, Op, Value, is_value
from onnxwright.atenlib.rules import Rule
from onnxwright.types.dtypes import DType
from onnxwright.types.promotion import real_of

# The kernels reduce in these types only where the wider one holds every value.
_COMPUTED = {
    DType.FLOAT16: DType.FLOAT,
    DType.BFLOAT16: DType.FLOAT,
    DType.BOOL: DType.INT32,
}


@dataclass(frozen=True)
class Into(Rule):
    """What is written is cast to the type of what it is written into, which the result has."""

    source: str
    target: str

    def prepare(self, op: Op, arguments: Arguments) -> DType | None:
        """Cast the source."""
        dtype: DType = arguments[self.target].onnx_dtype
        source = arguments[self.source]
        if dtype.is_complex:
            arguments[self.source] = as_complex(op, source, real_of(dtype))
        elif isinstance(source, Complex):
            arguments[self.source] = cast(op, source.real, dtype)
        elif is_value(source):
            arguments[self.source] = cast(op, source, dtype)
        return dtype


def into(source: str, target: str = "self") -> Rule:
    """The argument `source` takes the element type of `target`, which the result has too.

    Args:
        source: the tensor (or number) that is written.
        target: the tensor that is written into.

    Example:
        >>> into("src").target
        'self'
    """
    return Into(source, target)


def scatter_elements(
    op: Op, x: Value, index: Value, updates: Any, axis: int, reduction: str = "none"
) -> Any:
    """ScatterElements in any element type.

    Args:
        x: a value of rank one or more.
        index, updates: values of one shape and of the rank of `x`.
        axis: the axis that `index` counts along.
        reduction: `"none"`, `"add"`, `"mul"`, `"max"`, `"min"`; the last two give NaN where one
            of the numbers is NaN.

    Returns:
        A value like `x`.
    """
    index = as_index(op, index)
    return _reduced(
        op,
        x,
        updates,
        reduction,
        lambda a, u, how: op.ScatterElements(a, index, u, axis=axis, reduction=how),
    )


def scatter_nd(op: Op, x: Value, index: Value, updates: Any, reduction: str = "none") -> Any:
    """ScatterND in any element type, with the reductions of `scatter_elements`.

    Args:
        x: a value of rank one or more.
        index: positions, of shape `[..., k]`.
        reduction: how several numbers for one place become one.

    Returns:
        A value like `x`.
    """
    index = cast(op, index, DType.INT64)
    return _reduced(
        op,
        x,
        updates,
        reduction,
        lambda a, u, how: op.ScatterND(a, index, u, reduction=how),
    )


def _reduced(
    op: Op, x: Value, updates: Any, reduction: str, scatter: Callable[[Any, Any, str], Any]
) -> Any:
    dtype = x.onnx_dtype
    updates = cast(op, updates, dtype)
    if reduction == "none":
        return scatter(x, updates, reduction)
    computed = _COMPUTED.get(dtype, dtype)
    wide, wide_updates = cast(op, x, computed), cast(op, updates, computed)
    reduced = scatter(wide, wide_updates, reduction)
    if dtype.is_float and reduction in ("max", "min"):
        marks = [cast(op, op.IsNaN(v), DType.INT32) for v in (wide, wide_updates)]
        lost = cast(op, scatter(marks[0], marks[1], "max"), DType.BOOL)
        reduced = op.Where(lost, op.constant(np.array(np.nan, computed.numpy)), reduced)
    return cast(op, reduced, dtype)


def along(op: Op, index: Value, x: Value, axis: int) -> Value:
    """An index of rank one, the same for every position of a value off one axis.

    Args:
        x: a value whose size along `axis` is that of `index`.

    Returns:
        An index of the shape of `x`, as ScatterElements takes it.
    """
    if x.rank == 1:
        return index
    column = op.Unsqueeze(index, [a for a in range(x.rank) if a != axis])
    return op.Expand(column, shape_vector(op, x))


def touched(op: Op, x: Value, index: Value, axis: int) -> Value:
    """Where a scatter would write.

    Args:
        index: an index of the rank of `x`.

    Returns:
        A BOOL value of the shape of `x`.
    """
    index = as_index(op, index)
    marks = full_like(op, index, True, DType.BOOL)
    return op.ScatterElements(full_like(op, x, False, DType.BOOL), index, marks, axis=axis)

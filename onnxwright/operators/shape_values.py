"""Values as shapes: what is known of small integer vectors and scalars when tensors have names.

`Shape` of a tensor `FLOAT["N", 3]` is `("N", 3)`; what is gathered, joined and multiplied from it
stays known, so that `Reshape` to it has a known shape.  Names are dimensions, at least 0; a
product that would not fit into the element type is not expected of a shape.  The rules are those
of the operators' records (`OperatorFacts.dims`, `OperatorFacts.compare`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onnxwright.operators import facts
from onnxwright.operators.dims_rules import pairs
from onnxwright.operators.op_call import MOST_DIMS, Array, OpCall, UnknownError, is_shape_like
from onnxwright.types.kinds import OnnxType, TensorType
from onnxwright.types.shapes import Dim, Shape


def values_of(call: OpCall, types: Sequence[OnnxType | None]) -> list[Shape | None] | None:
    """The outputs of a call as shapes.

    Args:
        call: the call, of the default domain.

    Returns:
        For each output its dimensions (one for a scalar) or None; None where nothing is known.

    Example:
        >>> from onnxwright.opset.registry import signature
        >>> from onnxwright.types.dtypes import DType
        >>> x = TensorType(DType.FLOAT, ("N", 3))
        >>> call = OpCall(signature("", "Shape", 15), {}, 1, [x], [None], [None])
        >>> values_of(call, [TensorType(DType.INT64, (2,))])
        [('N', 3)]
    """
    rule = facts(call.name).dims
    if rule is None or not all(map(is_shape_like, types)):
        return None
    try:
        shapes = rule(call)
    except UnknownError:
        return None
    if len(shapes) > MOST_DIMS:
        return None
    cut = _cut(shapes, types)
    if cut is None or (len(cut) == 1 and shapes and all(d is None for d in shapes)):
        return None
    return cut


def _cut(values: Shape, types: Sequence[OnnxType | None]) -> list[Shape | None] | None:
    """The dimensions, cut to the lengths of the outputs."""
    result: list[Shape | None] = []
    start = 0
    for kind in types:
        assert isinstance(kind, TensorType)
        length = kind.shape[0] if kind.shape else 1
        assert isinstance(length, int)
        result.append(tuple(map(_small, values[start : start + length])))
        start += length
    return result if start == len(values) else None


def _small(d: Dim) -> Dim:
    return None if isinstance(d, int) and not -(1 << 62) < d < (1 << 62) else d


def decided(call: OpCall, types: Sequence[OnnxType | None]) -> Array | None:
    """What a comparison of values as shapes gives, where it is the same for all names.

    Args:
        call: the call, of the default domain.

    Returns:
        An array of BOOL; None where the call is not a comparison or depends on the names.
    """
    function = facts(call.name).compare
    kind = types[0] if types else None
    if function is None or type(kind) is not TensorType or kind.shape is None:
        return None
    try:
        truths = [function(a, b) for a, b in pairs(call)]
    except UnknownError:
        return None
    if any(x is None for x in truths) or len(kind.shape) > 1:
        return None
    array = np.array(truths, dtype=np.bool_)
    return array.reshape(()) if not kind.shape else array

"""Which operators every machine computes to the same bits."""

from __future__ import annotations

from collections.abc import Sequence

from onnxwright.operators import facts
from onnxwright.opset.op import Op
from onnxwright.types.kinds import OnnxType, TensorType


def may_round(op: Op, types: Sequence[OnnxType | None]) -> bool:
    """Whether runtimes may differ in the last bit of an operator's result.

    Args:
        op: the operator, of the default domain.

    Returns:
        False for what moves elements, and for the operations of IEEE 754 in single and double
        precision; half precision is computed in a wider type by some runtimes.
    """
    kinds = [k.dtype for k in types if isinstance(k, TensorType) and k.dtype is not None]
    if facts(op.name).moves_data or not any(k.is_float for k in kinds):
        return False
    return not facts(op.name).correctly_rounded or any(k.is_float and k.bits < 32 for k in kinds)

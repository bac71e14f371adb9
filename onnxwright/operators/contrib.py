"""Operators that ONNX Runtime has beside the standard: those that something here asks about."""

from __future__ import annotations

from collections.abc import Sequence

from onnxwright.operators.record import NEVER, OperatorFacts
from onnxwright.types.kinds import OnnxType

FACTS = (OperatorFacts("MatMulNBits", domain="com.microsoft", heavy=True, folding=NEVER),)

# Operators of the standard domain that ONNX does not have in these versions and ONNX Runtime does
# (`onnxruntime/core/graph/contrib_ops`); its own tools write them.  Name -> the last opset version.
_ANY = 1 << 30
_OF_RUNTIME = {
    "LayerNormalization": 16, "SimplifiedLayerNormalization": _ANY, "ThresholdedRelu": 9,
    **dict.fromkeys(
        ("Affine", "Crop", "ImageScaler", "ParametricSoftplus", "Scale", "ScaledTanh"), 9
    ),
}  # fmt: skip


def is_of_runtime(op_type: str, version: int) -> bool:
    """Whether ONNX Runtime has an operator of the standard domain that ONNX itself has not.

    Returns:
        True where it runs, though no schema says what it is: it is copied as it is.

    Example:
        >>> is_of_runtime("LayerNormalization", 11), is_of_runtime("Gelu", 11)
        (True, False)
    """
    return version <= _OF_RUNTIME.get(op_type, 0)


# Operators whose first output has the type of their first input, by ONNX Runtime's documentation of
# its contrib operators; no schema that is installed says so.
_LIKE_FIRST = frozenset(
    ("com.microsoft", name)
    for name in ("BiasGelu", "FastGelu", "Gelu", "QuickGelu", "SkipLayerNormalization",
                 "SkipSimplifiedLayerNormalization")
) | {("", "LayerNormalization"), ("", "SimplifiedLayerNormalization")}  # fmt: skip


def types_of_runtime(
    op_type: str, domain: str, inputs: Sequence[OnnxType | None], count: int
) -> list[OnnxType | None] | None:
    """The types of the outputs of an operator that ONNX Runtime has and ONNX has not.

    Args:
        count: how many outputs the call has.

    Returns:
        The types; None where nothing is known of the operator.

    Example:
        >>> from onnxwright.types.dtypes import DType
        >>> from onnxwright.types.kinds import TensorType
        >>> kind = TensorType(DType.FLOAT, ("N", 4))
        >>> [str(t) for t in types_of_runtime("FastGelu", "com.microsoft", [kind], 1) or ()]
        ['FLOAT[N, 4]']
    """
    if (domain, op_type) not in _LIKE_FIRST or not inputs:
        return None
    return [inputs[0], *([None] * (count - 1))]

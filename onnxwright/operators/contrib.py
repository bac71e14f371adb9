"""Operators that ONNX Runtime has beside the standard: those that something here asks about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from onnxwright.operators.broadcasting import broadcast
from onnxwright.operators.op_call import ContradictionError
from onnxwright.operators.record import NEVER, OperatorFacts, Unasked
from onnxwright.types.kinds import OnnxType, TensorType
from onnxwright.types.shapes import Shape

# The domain of these operators.
RUNTIME = "com.microsoft"

FACTS = (
    OperatorFacts("Attention", RUNTIME, folding=NEVER, reads_unasked=Unasked(inputs=(2,))),
    OperatorFacts("MatMulNBits", domain=RUNTIME, heavy=True, folding=NEVER),
)

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
    (RUNTIME, name)
    for name in ("BiasGelu", "FastGelu", "Gelu", "QLinearLeakyRelu", "QLinearSigmoid",
                 "QLinearSoftmax", "QuickGelu", "SkipLayerNormalization",
                 "SkipSimplifiedLayerNormalization")
) | {("", "LayerNormalization"), ("", "SimplifiedLayerNormalization")}  # fmt: skip


def _broadcast(a: TensorType, b: TensorType, attributes: Mapping[str, Any]) -> Shape:
    del attributes
    return broadcast(a.shape or (), b.shape or ())


def _pooled(a: TensorType, b: TensorType, attributes: Mapping[str, Any]) -> Shape:
    """Source: QLinearGlobalAveragePool: the channels are the second axis, or the last."""
    del b
    n, *sizes = a.shape or ()
    ones = (1,) * (len(sizes) - 1)
    return (n, *ones, sizes[-1]) if attributes.get("channels_last", 0) else (n, sizes[0], *ones)


def _gemm(a: TensorType, b: TensorType, attributes: Mapping[str, Any]) -> Shape:
    rows, columns = a.shape or (), b.shape or ()
    return (rows[attributes.get("transA", 0)], columns[1 - attributes.get("transB", 0)])


# Operators on quantized tensors, each followed by its scale and zero point: the shape of the output
# by the first and the second tensor, the least number of axes, and the place of the zero point
# whose type is that of the output.
_QUANTIZED = {
    "QLinearAdd": (_broadcast, 0, 7), "QLinearMul": (_broadcast, 0, 7),
    "QLinearGlobalAveragePool": (_pooled, 3, 4), "QGemm": (_gemm, 2, 8),
}  # fmt: skip


def _quantized(
    name: str, inputs: Sequence[OnnxType | None], attributes: Mapping[str, Any]
) -> OnnxType | None:
    rule, axes, zero = _QUANTIZED[name]
    a, b = inputs[0], inputs[3 if len(inputs) > 5 else 0]
    point = inputs[zero] if len(inputs) > zero else None
    if not (isinstance(a, TensorType) and isinstance(b, TensorType)) or None in (a.shape, b.shape):
        return None
    if min(len(a.shape or ()), len(b.shape or ())) < axes or not isinstance(point, TensorType):
        return None
    try:
        return TensorType(point.dtype, rule(a, b, attributes))
    except ContradictionError:
        return None


def types_of_runtime(
    op_type: str,
    domain: str,
    inputs: Sequence[OnnxType | None],
    count: int,
    attributes: Mapping[str, Any] = MappingProxyType({}),
) -> list[OnnxType | None] | None:
    """The types of the outputs of an operator that ONNX Runtime has and ONNX has not.

    Args:
        count: how many outputs the call has.
        attributes: those of the call.

    Returns:
        The types; None where nothing is known of the operator.

    Example:
        >>> from onnxwright.types.dtypes import DType
        >>> from onnxwright.types.kinds import TensorType
        >>> kind = TensorType(DType.FLOAT, ("N", 4))
        >>> [str(t) for t in types_of_runtime("FastGelu", "com.microsoft", [kind], 1) or ()]
        ['FLOAT[N, 4]']
    """
    first = inputs[0] if inputs else None
    if domain == RUNTIME and op_type in _QUANTIZED:
        first = _quantized(op_type, inputs, attributes)
    elif (domain, op_type) not in _LIKE_FIRST or not inputs:
        return None
    return [first, *([None] * (count - 1))]

"""Changes of operators between versions that need no adapter, each with the reason.

A change that only adds element types needs no entry: `means_the_same` sees it in the schemas.
Every other change is an entry of `SAME` or has an adapter; a test demands it of every operator of
the installed onnx.
"""

from __future__ import annotations

from onnxwright.opset.registry import OpSignature

_NEGATIVE = "negative axes are allowed from here on"
_DEFAULT = "a new attribute whose default is the behaviour before"
_CEIL = "`ceil_mode` and `dilations` have the defaults that older versions had fixed"
_TEXT = "only the description changed"

# (domain, operator, version that changed it) -> why a call of the older version means the same.
SAME: dict[tuple[str, str, int], str] = {
    ("", name, version): reason
    for reason, version, names in (
        (_NEGATIVE, 11, "ArgMax ArgMin Compress Concat Flatten Gather Hardmax LogSoftmax OneHot"),
        (_NEGATIVE, 11, "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean"),
        (_NEGATIVE, 11, "ReduceMin ReduceProd ReduceSum ReduceSumSquare"),
        (_NEGATIVE, 11, "Scan Softmax Split Squeeze Unsqueeze"),
        ("`strides` and `dilations` of absent attributes are 1, as runtimes had them", 11,
         "AveragePool Conv ConvTranspose LpPool MaxPool MaxUnpool"),
        ("values beyond the end are clamped as before", 11, "Slice"),
        (_TEXT, 11, "If Loop NonMaxSuppression"),
        (_DEFAULT, 11, "DepthToSpace"),
        ("`sparse_value` is a new choice", 11, "Constant"),
        ("`C` may be absent", 11, "Gemm"),
        ("`largest` and `sorted` are true by default", 11, "TopK"),
        ("the exponent may have another type, the result has the base's", 12, "Pow"),
        ("broadcasting is new", 8, "Max Mean Min Sum"),
        ("the second output is new", 8, "MaxPool"),
        (_CEIL, 10, "AveragePool MaxPool"),
        ("`select_last_index` is 0 by default", 12, "ArgMax ArgMin"),
        ("new forms of the value", 12, "Constant"),
        ("`batch_dims` is 0 by default", 12, "GatherND"),
        ("a scale of one element is used as before", 13, "QuantizeLinear DequantizeLinear"),
        (_TEXT, 13, "NegativeLogLikelihoodLoss"),
        ("`layout` is 0 by default", 14, "RNN GRU LSTM"),
        ("scales and statistics may have types of their own", 15, "BatchNormalization"),
        ("`allowzero` is 0 by default", 14, "Reshape"),
        ("`start` and `end` are the whole shape by default", 15, "Shape"),
        ("`reduction` is none by default", 16, "ScatterElements ScatterND"),
        (_CEIL, 18, "LpPool"),
        ("`axes` may be absent", 18, "Pad"),
        ("`antialias`, `axes` and `keep_aspect_ratio_policy` have the defaults of before", 18,
         "Resize"),
        ("`reduction` has more choices", 18, "ScatterElements ScatterND"),
        ("optional values may be tensors too", 18, "OptionalHasElement OptionalGetElement"),
        (_CEIL, 19, "AveragePool"),
        ("`saturate` is 1 by default, and matters for float8 only", 19,
         "Cast CastLike QuantizeLinear"),
        ("`mode` wrap is a new choice", 19, "Pad"),
        ("new modes of coordinates and aspect ratio", 19, "Resize"),
        ("blocks are new", 21, "DequantizeLinear QuantizeLinear"),
        ("`output_dtype` and `precision` are as before by default", 23,
         "DequantizeLinear QuantizeLinear"),
        ("`round_mode` is for FLOAT8E8M0 only, which is new", 24, "Cast CastLike"),
        ("windows are off by default", 25, "Attention"),
        ("`stash_type` is for FLOAT16 and BFLOAT16, which are new", 27, "Range"),
        ("`mode` DCR is the order of before", 28, "SpaceToDepth"),
        (_TEXT, 28, "DepthToSpace Mod"),
    )
    for name in names.split()
}  # fmt: skip
SAME.update(
    {
        ("ai.onnx.ml", "LabelEncoder", 4): "tensors for keys and values are a new choice",
        ("ai.onnx.ml", "TreeEnsembleClassifier", 3): "tensors for DOUBLE are a new choice",
        ("ai.onnx.ml", "TreeEnsembleRegressor", 3): "tensors for DOUBLE are a new choice",
    }
)


def only_types_changed(old: OpSignature, new: OpSignature) -> bool:
    """Whether a newer schema differs from an older one only by allowing more types.

    Args:
        old: the older schema.
        new: the newer one.

    Example:
        >>> from onnxwright.opset.registry import signature
        >>> only_types_changed(signature("", "Relu", 13), signature("", "Relu", 14))
        True
        >>> only_types_changed(signature("", "Clip", 6), signature("", "Clip", 11))
        False
    """
    if new.deprecated:
        return False
    if len(old.inputs) != len(new.inputs) or len(old.outputs) != len(new.outputs):
        return False
    pairs = [*zip(old.inputs, new.inputs), *zip(old.outputs, new.outputs)]
    if any(a.option != b.option or not a.types <= b.types for a, b in pairs):
        return False
    if not any(a.types != b.types for a, b in pairs):
        return False
    return {n: repr(a) for n, a in old.attributes.items()} == {
        n: repr(a) for n, a in new.attributes.items()
    }


def means_the_same(old: OpSignature, new: OpSignature) -> bool:
    """Whether a call of the older schema is right for the newer one as it is.

    Args:
        old: the older schema.
        new: the newer one.
    """
    return (new.domain, new.name, new.since_version) in SAME or only_types_changed(old, new)


__all__ = ["SAME", "means_the_same", "only_types_changed"]

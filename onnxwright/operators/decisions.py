"""Changes of schemas that do not change what older calls mean, each with the reason.

A change that only adds element types needs no entry: `only_types_changed` sees it.  Every other
one is an entry here, a `Change` in the operator's record, or changes the signature so that older
calls do not fit it; a test demands it of every operator of the installed onnx.
"""

from __future__ import annotations

_NEGATIVE = "negative axes are allowed from here on"
_DEFAULT = "a new attribute whose default is the behaviour before"
_CEIL = "`ceil_mode` and `dilations` have the defaults that older versions had fixed"
_TEXT = "only the description changed"

# (domain, operator, version that changed it) -> why a call of the older version means the same.
UNCHANGED: dict[tuple[str, str, int], str] = {
    ("", name, version): reason
    for reason, version, names in (
        (_NEGATIVE, 11, "ArgMax ArgMin Compress Concat Flatten Gather Hardmax LogSoftmax"),
        ("indices had to be at least 0 before", 11, "OneHot"),
        (_NEGATIVE, 11, "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean"),
        (_NEGATIVE, 11, "ReduceMin ReduceProd ReduceSum ReduceSumSquare"),
        (_NEGATIVE, 11, "Scan Softmax Split Squeeze Unsqueeze"),
        ("`strides` and `dilations` of absent attributes are 1, as runtimes had them", 11,
         "AveragePool Conv ConvTranspose LpPool MaxPool MaxUnpool"),
        ("the text about SAME padding was corrected: sizes are as before", 12, "MaxPool"),
        ("the text about windows that start in the padding is what runtimes did", 22,
         "AveragePool MaxPool"),
        ("values beyond the end are clamped as before", 11, "Slice"),
        (_TEXT, 6, "Gemm"),
        ("`count_include_pad` is 0 by default", 7, "AveragePool"),
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
UNCHANGED.update(
    {
        ("ai.onnx.ml", "LabelEncoder", 4): (
            "tensors for keys and values are a new choice; a NaN key matches every NaN"
        ),
        ("ai.onnx.ml", "TreeEnsembleClassifier", 3): "tensors for DOUBLE are a new choice",
        ("ai.onnx.ml", "TreeEnsembleRegressor", 3): "tensors for DOUBLE are a new choice",
    }
)

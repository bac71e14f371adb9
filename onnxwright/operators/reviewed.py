"""The newest schema of each operator whose changes have been reviewed.

When onnx brings a newer schema, a test fails until it has a decision: where a call may mean
something else, add a `Change` to the operator's record; then move its name here.  Until then
`same_meaning` says no, and tools that move a model to that version refuse or keep the older one.
"""

from __future__ import annotations

# Domain -> version of the schema -> operators.
_BY_VERSION: dict[str, dict[int, str]] = {
    "": {
        1: "Not",
        7: "And Or Xor",
        9: "Shrink TfIdfVectorizer",
        10: "ConvInteger MatMulInteger QLinearConv StringNormalizer Upsample",
        11: (
            "ConcatFromSequence DynamicQuantizeLinear NonMaxSuppression Scatter SequenceAt "
            "SequenceConstruct SequenceEmpty SequenceErase SequenceInsert SequenceLength"
        ),
        13: (
            "Abs ArgMax ArgMin Ceil Clip Concat Erf Exp Expand Floor Gather GatherElements "
            "GatherND Gemm Greater Hardmax LRN Less Log LogSoftmax MatMul Max Mean "
            "MeanVarianceNormalization Min Neg NonZero Reciprocal ReduceSum Sigmoid Sign Slice "
            "Softmax SoftmaxCrossEntropyLoss Sqrt Sum Tanh Tile"
        ),
        14: "Add CumSum Div Mul Relu Sub Trilu",
        15: "BatchNormalization Pow",
        16: "GreaterOrEqual LeakyRelu LessOrEqual PRelu Where",
        17: (
            "BlackmanWindow HammingWindow HannWindow LayerNormalization MelWeightMatrix STFT "
            "SequenceMap"
        ),
        18: (
            "BitwiseAnd BitwiseNot BitwiseOr BitwiseXor CenterCropPad Col2Im ReduceL1 ReduceL2 "
            "ReduceMean ReduceProd ReduceSumSquare ScatterElements ScatterND Split"
        ),
        19: "Equal Resize",
        20: (
            "AffineGrid DFT Gelu ImageDecoder IsInf IsNaN ReduceMax ReduceMin RegexFullMatch "
            "StringConcat StringSplit"
        ),
        21: "GroupNormalization QLinearMatMul",
        22: (
            "Acos Acosh Asin Asinh Atan Atanh AveragePool Bernoulli Conv ConvTranspose Cos Cosh "
            "DeformConv Det Dropout Elu EyeLike GRU GlobalAveragePool GlobalLpPool GlobalMaxPool "
            "GridSample HardSigmoid HardSwish InstanceNormalization LSTM LpNormalization LpPool "
            "MaxPool MaxRoiPool MaxUnpool Mish Multinomial NegativeLogLikelihoodLoss RNN "
            "RandomNormal RandomNormalLike RandomUniform RandomUniformLike RoiAlign Round Selu "
            "Sin Sinh Softplus Softsign Tan ThresholdedRelu"
        ),
        23: "RMSNormalization RotaryEmbedding",
        24: "SplitToSequence Swish TensorScatter TopK",
        25: (
            "Attention CastLike Constant ConstantOfShape Flatten Identity If Loop Pad Reshape "
            "Scan Shape Size Squeeze Transpose Unsqueeze"
        ),
        26: "BitCast CumProd",
        27: "CausalConvWithState LinearAttention Range",
        28: (
            "BitShift Cast Celu Compress DepthToSpace DequantizeLinear Einsum Mod OneHot Optional "
            "OptionalGetElement OptionalHasElement QuantizeLinear ReduceLogSum ReduceLogSumExp "
            "ReverseSequence SpaceToDepth SwiGLU Unique"
        ),
    },
    "ai.onnx.ml": {
        1: (
            "ArrayFeatureExtractor Binarizer CastMap CategoryMapper DictVectorizer "
            "FeatureVectorizer Imputer LinearClassifier LinearRegressor Normalizer OneHotEncoder "
            "SVMClassifier SVMRegressor Scaler ZipMap"
        ),
        4: "LabelEncoder",
        5: "TreeEnsemble TreeEnsembleClassifier TreeEnsembleRegressor",
    },
    "ai.onnx.preview": {
        1: "FlexAttention",
    },
    "ai.onnx.preview.training": {
        1: "Adagrad Adam Gradient Momentum",
    },
}

# Domain -> operator -> version of the schema.
REVIEWED: dict[str, dict[str, int]] = {
    domain: {name: version for version, names in versions.items() for name in names.split()}
    for domain, versions in _BY_VERSION.items()
}

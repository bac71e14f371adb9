"""Operators of the domain ai.onnx.ml: classic machine learning."""

from __future__ import annotations

from onnxwright.operators.record import NEVER, Change, OperatorFacts

FACTS = (
    OperatorFacts("ArrayFeatureExtractor", domain="ai.onnx.ml", folding=NEVER),
    OperatorFacts("Binarizer", domain="ai.onnx.ml", folding=NEVER),
    OperatorFacts("CastMap", domain="ai.onnx.ml", folding=NEVER),
    OperatorFacts("CategoryMapper", domain="ai.onnx.ml", folding=NEVER),
    OperatorFacts("DictVectorizer", domain="ai.onnx.ml", folding=NEVER, needs_input_types=True),
    OperatorFacts("FeatureVectorizer", domain="ai.onnx.ml", folding=NEVER),
    OperatorFacts("Imputer", domain="ai.onnx.ml", folding=NEVER),
    OperatorFacts(
        "LabelEncoder",
        domain="ai.onnx.ml",
        folding=NEVER,
        needs_input_types=True,
        changes={2: Change("keys and values are attributes of their own")},
    ),
    OperatorFacts("LinearClassifier", domain="ai.onnx.ml", folding=NEVER),
    OperatorFacts("LinearRegressor", domain="ai.onnx.ml", folding=NEVER),
    OperatorFacts("Normalizer", domain="ai.onnx.ml", folding=NEVER),
    OperatorFacts("OneHotEncoder", domain="ai.onnx.ml", folding=NEVER),
    OperatorFacts("SVMClassifier", domain="ai.onnx.ml", folding=NEVER),
    OperatorFacts("SVMRegressor", domain="ai.onnx.ml", folding=NEVER),
    OperatorFacts("Scaler", domain="ai.onnx.ml", folding=NEVER),
    OperatorFacts("TreeEnsemble", domain="ai.onnx.ml", folding=NEVER, needs_input_types=True),
    OperatorFacts("TreeEnsembleClassifier", domain="ai.onnx.ml", folding=NEVER),
    OperatorFacts("TreeEnsembleRegressor", domain="ai.onnx.ml", folding=NEVER),
    OperatorFacts("ZipMap", domain="ai.onnx.ml", folding=NEVER),
)

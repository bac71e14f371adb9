from onnxwright import OrtEvaluator

evaluator = OrtEvaluator(fallback="sometimes")

from onnxwright import OrtEvaluator

evaluator = OrtEvaluator(fallback="reference")

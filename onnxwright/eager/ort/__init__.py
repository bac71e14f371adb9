"""ONNX Runtime: sessions for single operators and whole models, values in and out, kernels."""

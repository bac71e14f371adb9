"""Convolution as windows times a matrix, for types ONNX Runtime's Conv lacks."""

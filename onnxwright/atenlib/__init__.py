"""ATen operators as ONNX; nothing is here yet."""

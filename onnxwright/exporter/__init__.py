"""Carrying PyTorch programs to ONNX; nothing is here yet."""

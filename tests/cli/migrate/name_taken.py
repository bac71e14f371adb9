import torch

torch_onnx = torch.onnx


def export(m, x):
    return torch.onnx.export(m, x)

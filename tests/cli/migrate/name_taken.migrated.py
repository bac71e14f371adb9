import torch
import onnxwright.torch_onnx

torch_onnx = torch.onnx


def export(m, x):
    return onnxwright.torch_onnx.export(m, x)

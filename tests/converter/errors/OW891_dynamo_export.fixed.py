import torch

from onnxwright import torch_onnx

program = torch_onnx.export(torch.nn.ReLU(), (torch.ones(2),))

import torch

from onnxwright import torch_onnx

program = torch_onnx.dynamo_export(torch.nn.ReLU(), torch.ones(2))

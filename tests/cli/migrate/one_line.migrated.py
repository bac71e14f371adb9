import torch; from onnxwright import torch_onnx; torch_onnx.export(torch.nn.ReLU(), torch.randn(2), "m.onnx")

import torch; torch.onnx.export(torch.nn.ReLU(), torch.randn(2), "m.onnx")

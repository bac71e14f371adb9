import torch.onnx as tonnx

tonnx.export(model, x, "m.onnx")
print(tonnx.JitScalarType.FLOAT)

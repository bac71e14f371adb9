import torch.onnx as tonnx
from onnxwright import torch_onnx

torch_onnx.export(model, x, "m.onnx")
print(tonnx.JitScalarType.FLOAT)
# 4: `torch.onnx.JitScalarType.FLOAT` has no counterpart here: `onnxwright.DType` holds the element types

import torch
from torch.onnx import symbolic_helper
opset = max(9, 11)
torch.onnx.export(model.eval(), image, "c.onnx", opset_version=opset,
                  operator_export_type=torch._C._onnx.OperatorExportTypes.ONNX)

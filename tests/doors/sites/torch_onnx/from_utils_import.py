import torch
from torch.onnx.utils import export
export(model.eval(), image, "u.onnx", opset_version=11)

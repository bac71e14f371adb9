import torch
from torch import onnx
onnx.export(model.eval(), image, "fo.onnx")

import torch

import onnxwright as ow
from onnxwright import torch_onnx


def ramp(op, x):
    return ow.Opset("my.domain", 1).Ramp(x, after="input")


torch_onnx.export(torch.nn.ReLU(), torch.ones(2), custom_translation_table={"aten::relu": ramp})

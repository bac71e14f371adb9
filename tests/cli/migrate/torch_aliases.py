import torch.onnx as tonnx
from torch import (
    nn,  # layers
    onnx,  # the exporter
    Tensor,
)
from torch.onnx import export as torch_export, JitScalarType
import torch.onnx.symbolic_opset11 as sym_opset


def a(m: nn.Module, x: Tensor):
    tonnx.export(m, x, "a.onnx", training=tonnx.TrainingMode.EVAL)
    onnx.export(m, x, "b.onnx")
    torch_export(m, x, "c.onnx")
    if True: from torch import onnx as o2, jit
    return o2.export(m, x), JitScalarType.from_value(x), sym_opset.relu

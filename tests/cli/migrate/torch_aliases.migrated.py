import onnxwright.torch_onnx as tonnx
from onnxwright import torch_onnx as onnx
from torch import (
    nn,  # layers
    Tensor,
)
from torch.onnx import JitScalarType
from onnxwright.torch_onnx import export as torch_export
import torch.onnx.symbolic_opset11 as sym_opset


def a(m: nn.Module, x: Tensor):
    tonnx.export(m, x, "a.onnx", training=tonnx.TrainingMode.EVAL)
    onnx.export(m, x, "b.onnx")
    torch_export(m, x, "c.onnx")
    if True: from onnxwright import torch_onnx as o2; from torch import jit
    return o2.export(m, x), JitScalarType.from_value(x), sym_opset.relu
# 7: `torch.onnx.JitScalarType` has no counterpart here: `onnxwright.DType` holds the element types
# 8: `torch.onnx.symbolic_opset11` has no counterpart here: its functions build TorchScript; lowerings are functions over `op` here (`custom_translation_table=`), the helpers are in `symbolic_helper`, and `register_custom_op_symbolic` takes symbolic functions

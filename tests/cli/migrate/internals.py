import torch
from torch.onnx import symbolic_helper as sh, utils
from torch.onnx._internal import jit_utils
from torch.onnx.symbolic_opset9 import unused

torch.onnx.utils._model_to_graph(model, x)
torch.onnx.utils.export(model, x, "m.onnx")
if torch.onnx.is_in_onnx_export():
    pass
with mock.patch("torch.onnx.export"):
    utils.register_custom_op_symbolic("my::op", f, 9)

import torch
from onnxwright.torch_onnx import symbolic_helper as sh, utils
from torch.onnx._internal import jit_utils
from torch.onnx.symbolic_opset9 import unused
from onnxwright import torch_onnx

torch.onnx.utils._model_to_graph(model, x)
torch_onnx.utils.export(model, x, "m.onnx")
if torch.onnx.is_in_onnx_export():
    pass
with mock.patch("torch.onnx.export"):
    utils.register_custom_op_symbolic("my::op", f, 9)
# 3: `torch.onnx._internal` has no counterpart here
# 4: `torch.onnx.symbolic_opset9` has no counterpart here: its functions build TorchScript; lowerings are functions over `op` here (`custom_translation_table=`), the helpers are in `symbolic_helper`, and `register_custom_op_symbolic` takes symbolic functions
# 6: `torch.onnx.utils._model_to_graph` has no counterpart here
# 10: `torch.onnx.export` is named in a string, which is left as it is

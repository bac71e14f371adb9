import torch

from onnxwright import torch_onnx

torch_onnx.register_custom_op_symbolic("aten::relu6", lambda g, x: g.op("Relu", x), 11)
try:
    torch_onnx.export(torch.nn.ReLU(), torch.ones(2))
finally:
    torch_onnx.unregister_custom_op_symbolic("aten::relu6", 11)

# warns: OW892
import torch
from torch.onnx import register_custom_op_symbolic
def relu6(g, input):
    zero = g.op("Constant", value_t=torch.tensor(0.0))
    six = g.op("Constant", value_t=torch.tensor(6.0))
    return g.op("Clip", input, zero, six)
register_custom_op_symbolic("aten::relu6", relu6, 11)
torch.onnx.export(nn.Sequential(nn.Linear(3, 3), nn.ReLU6()), torch.randn(2, 3), "s.onnx", opset_version=11)

import onnx, torch
import torch.onnx.symbolic_helper as sym_help
def hardswish(g, self):
    return g.op("HardSwish", self) if sym_help._get_tensor_rank(self) else self
torch.onnx.register_custom_op_symbolic("::hardswish", hardswish, opset_version=14)
torch.onnx.export(nn.Sequential(nn.Hardswish()), torch.randn(2, 3), "hs.onnx", opset_version=14)
assert [n.op_type for n in onnx.load("hs.onnx").graph.node] == ["HardSwish"]
torch.onnx.unregister_custom_op_symbolic("::hardswish", 14)

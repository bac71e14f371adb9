# warns: OW892
import torch
torch.onnx.register_custom_op_symbolic("::inverse", lambda g, self: g.op("com.microsoft::Inverse", self), 1)
torch.onnx.export(model.eval(), image, "s.onnx", custom_opsets={"com.microsoft": 1})

import onnx, torch
class Scale(nn.Module):
    def forward(self, x, factor: float = 2.0, flag: bool = True):
        return x * factor if flag else x
torch.onnx.export(Scale(), (torch.ones(2), 3.0, True), "scale.onnx", input_names=["x"], opset_version=9)
torch.onnx.export(Scale(), (torch.ones(2), {"factor": 4.0}), "scale.onnx", input_names=["x"])
assert [i.name for i in onnx.load("scale.onnx").graph.input] == ["x"]

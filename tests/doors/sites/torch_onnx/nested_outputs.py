import onnx, torch
class Heads(nn.Module):
    def forward(self, x):
        return [x * i for i in range(3)], {"a": x.sum(), "b": (x, x + 1)}
names = ["p3", "p4", "p5", "s", "c", "d"]
torch.onnx.export(Heads(), torch.randn(2, 3), "det.onnx", input_names=["image"], output_names=names,
                  dynamic_axes={"image": [0], "p3": [0]})
assert [o.name for o in onnx.load("det.onnx").graph.output] == names

import onnx, torch
class Takes(nn.Module):
    def forward(self, batch):
        return batch["x"] + batch["y"]
torch.onnx.export(Takes(), ({"x": torch.ones(2, 3), "y": torch.ones(2, 3)}, {}), "dict.onnx",
                  input_names=["x", "y"], dynamic_axes={"x": {0: "n"}, "y": {0: "n"}})
dims = [i.type.tensor_type.shape.dim[0].dim_param for i in onnx.load("dict.onnx").graph.input]
assert dims == ["n", "n"], dims

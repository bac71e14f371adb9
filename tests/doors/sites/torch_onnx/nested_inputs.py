import onnx, torch
class Cache(nn.Module):
    def forward(self, x, past, extra):
        return [torch.cat([p, x], 1) for p in past], extra["a"] + extra["b"]
past = (torch.randn(2, 4, 3), torch.randn(2, 4, 3))
extra = {"a": torch.ones(2), "b": torch.ones(2)}
torch.onnx.export(Cache(), (torch.randn(2, 1, 3), past, extra, {}), "cache.onnx",
                  input_names=["x", "past_0", "past_1", "a", "b"],
                  output_names=["present_0", "present_1", "sum"],
                  dynamic_axes={"past_0": {1: "past"}, "past_1": {1: "past"}}, opset_version=13)
assert [i.name for i in onnx.load("cache.onnx").graph.input] == ["x", "past_0", "past_1", "a", "b"]

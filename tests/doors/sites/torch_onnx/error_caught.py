import torch
class Bad(nn.Module):
    def forward(self, x):
        return torch.ops.made.up(x)
try:
    torch.onnx.export(Bad(), (image,), "bad.onnx")
except (torch.onnx.OnnxExporterError, torch.onnx.errors.OnnxExporterError, AttributeError, RuntimeError) as error:
    print("could not export", str(error)[:40])

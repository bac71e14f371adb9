import torch
from typing import Any
class LightningModule(nn.Module):
    example_input_array = torch.randn(1, 3, 16, 16)
    @torch.no_grad()
    def to_onnx(self, file_path, input_sample=None, **kwargs: Any):
        mode = self.training
        if input_sample is None:
            input_sample = self.example_input_array
        input_sample = input_sample.to("cpu")
        file_path = str(file_path)
        kwargs.setdefault("dynamo", False)
        ret = torch.onnx.export(self, input_sample, file_path, **kwargs)
        self.train(mode)
        return ret
class Lit(LightningModule):
    def __init__(self):
        super().__init__()
        self.net = Conv()
    def forward(self, x):
        return self.net(x)
Lit().to_onnx("lit.onnx", export_params=True)

# warns: OW890
import os, torch
torch.onnx.export(nn.Linear(300, 300), torch.randn(1, 300), "big.onnx", use_external_data_format=True)
assert os.path.getsize("big.onnx") < 100_000

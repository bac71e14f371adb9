# raises: choose 7 to
import torch
torch.onnx.export(model.eval(), image, "old.onnx", opset_version=5)

# raises: code of TorchScript
import torch
torch.onnx.export(torch.jit.script(model.eval()), image, "sc.onnx", input_names=["x"], opset_version=13)

import torch.onnx
import torch.onnx.utils
torch.onnx.utils.export(model.eval(), image, "u.onnx")

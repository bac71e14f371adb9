import torch.onnx as tonnx
tonnx.export(model.eval(), (image,), "al.onnx")

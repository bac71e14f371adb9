# warns: OW832 OW832
import torch
torch.onnx.export(model.train(), image, "tm.onnx", training=torch.onnx.TrainingMode.TRAINING,
                  do_constant_folding=False, opset_version=17)
assert model.training
torch.onnx.export(model, image, "tm.onnx", training=torch.onnx.TrainingMode.PRESERVE)

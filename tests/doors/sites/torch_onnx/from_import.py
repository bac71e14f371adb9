import torch
from torch.onnx import export, TrainingMode
export(model, image, "fi.onnx", input_names=["x"], output_names=["y"], training=TrainingMode.EVAL)

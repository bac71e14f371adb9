import torch
with torch.onnx.select_model_mode_for_export(model, torch.onnx.TrainingMode.EVAL):
    torch.onnx.export(model, image, "m.onnx")

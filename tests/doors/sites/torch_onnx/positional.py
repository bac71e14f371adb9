import onnx, torch
torch.onnx.export(model, image, "pos.onnx", True, False, torch.onnx.TrainingMode.EVAL, ["in"], ["out"])
assert [i.name for i in onnx.load("pos.onnx").graph.input] == ["in"]

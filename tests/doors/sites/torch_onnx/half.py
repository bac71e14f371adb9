import onnx, torch
with torch.no_grad():
    torch.onnx.export(model.half().eval(), image.half(), "h.onnx", opset_version=15, input_names=["x"], output_names=["y"])
assert onnx.load("h.onnx").graph.input[0].type.tensor_type.elem_type == 10

import onnx, torch
train = False
torch.onnx.export(model, image, "y.onnx", verbose=False, opset_version=13,
                  training=torch.onnx.TrainingMode.TRAINING if train else torch.onnx.TrainingMode.EVAL,
                  do_constant_folding=not train,
                  input_names=["images"],
                  output_names=["output"],
                  dynamic_axes={"images": {0: "batch"}, "output": {0: "batch"}})
assert [n.name for n in onnx.load("y.onnx").graph.output] == ["output"]

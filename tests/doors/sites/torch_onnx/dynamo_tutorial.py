import torch
onnx_program = torch.onnx.export(model.eval(), (image,), dynamo=True)
onnx_program.optimize()
onnx_program.save("image_classifier.onnx")
import onnx
onnx.checker.check_model(onnx.load("image_classifier.onnx"))
assert onnx_program(image)[0].shape == (1, 5)
assert onnx_program.model_proto.graph.input[0].name
